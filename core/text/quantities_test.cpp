#include "core/text/quantities.h"

#include <gtest/gtest.h>

namespace devsan::core {
namespace {

TEST(Quantities, InWords) {
  EXPECT_EQ(bytesText(4), "4 B");
  EXPECT_EQ(bytesText(1500000), "1.5 MB");
  EXPECT_EQ(bytesText(2'000'000'000'000'000), "2000.0 TB");
  EXPECT_EQ(durationText(640), "640 ns");
  EXPECT_EQ(durationText(1200000), "1.2 ms");
  EXPECT_EQ(timesText(1), "once");
  EXPECT_EQ(timesText(100), "100 times");
}

} // namespace
} // namespace devsan::core
