#include "analyzer/facts/text.h"
#include "analyzer/facts/value.h"

#include <gtest/gtest.h>

namespace devsan::analyzer {
namespace {

TEST(Place, IsReadFromText) {
  EXPECT_EQ(Place::parse("cpu"), Place::host());
  EXPECT_EQ(Place::parse("cuda"), Place::named("CUDA", -1));
  EXPECT_EQ(Place::parse("cuda:1"), Place::named("CUDA", 1));
  EXPECT_EQ(Place::parse("meta"), Place::unknown());
  for (const char *text : {"", "gpu", "cuda:", "cuda:x", "cuda:1x", "CUDA"})
    EXPECT_EQ(Place::parse(text), std::nullopt) << text;
}

TEST(Place, IsNamedAsAtRunTime) {
  EXPECT_EQ(Place::defaultHost().device(), "cpu");
  EXPECT_EQ(Place::named("CUDA", 1).device(), "cuda:1");
  EXPECT_EQ(Place::named("PrivateUse1", -1).device(), "privateuseone");
  EXPECT_EQ(Place::unknown().device(), "");
}

TEST(Value, RemembersItsWayToTheHost) {
  struct Call {
  } call, back;
  Value data{.place = Place::named("CUDA", 0), .off_host = true};
  const Value host = moved(data, Place::host(), &call);
  EXPECT_EQ(host.origin(Origin::Kind::kHostCopy), Code(&call));
  EXPECT_FALSE(host.off_host);
  EXPECT_EQ(moved(host, Place::host(), &back).origin(Origin::Kind::kHostCopy), Code(&call));
  EXPECT_FALSE(moved(host, data.place, &back).has(Origin::Kind::kHostCopy));
}

TEST(Fill, PutsPartsIntoHoles) {
  EXPECT_EQ(fill("'{}' is on {}", {"x", "cuda:0"}), "'x' is on cuda:0");
  EXPECT_EQ(fill("{}{}", {"{}", ""}), "{}");
}

TEST(Value, OriginsKeepTheOrderInWhichTheyCame) {
  struct Node {
  } nodes[2];
  Value forth, back;
  forth.add(Origin::Kind::kHostCopy, &nodes[0]).add(Origin::Kind::kHostCopy, &nodes[1]);
  back.add(Origin::Kind::kHostCopy, &nodes[1]).add(Origin::Kind::kHostCopy, &nodes[0]);
  EXPECT_EQ(forth.origin(Origin::Kind::kHostCopy), Code(&nodes[0]));
  EXPECT_EQ(back.origin(Origin::Kind::kHostCopy), Code(&nodes[1])); // whatever their addresses
  EXPECT_TRUE(forth == back);
  EXPECT_EQ(forth.addAll(back).origins.size(), 2u);
}

} // namespace
} // namespace devsan::analyzer
