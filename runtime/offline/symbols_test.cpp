#include "runtime/offline/symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

[[gnu::noinline]] std::uint64_t whereAmI() {
  return reinterpret_cast<std::uint64_t>(__builtin_return_address(0)) - 1;
}

CodeAddress addressOf(std::uint64_t pc) {
  Dl_info info;
  link_map *map = nullptr;
  dladdr1(reinterpret_cast<void *>(pc), &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP);
  return {"/proc/" + std::to_string(getpid()) + "/exe", pc - map->l_addr};
}

TEST(Symbolize, KnowsFunctionFileAndLine) {
  const unsigned line = __LINE__ + 1;
  const CodeAddress address = addressOf(whereAmI());
  auto table = symbolize(DEVSAN_SYMBOLIZER, {address});
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_EQ(table->count(address), 1u);
  const SymbolFrame &frame = table->at(address).front();
  EXPECT_TRUE(frame.file.ends_with("symbols_test.cpp")) << frame.file;
  EXPECT_EQ(frame.line, line);
  EXPECT_NE(frame.function.find("Symbolize_KnowsFunctionFileAndLine_Test"), std::string::npos);
}

TEST(Symbolize, LeavesOutWhatItDoesNotKnow) {
  const CodeAddress known = addressOf(whereAmI());
  auto table = symbolize(DEVSAN_SYMBOLIZER,
                         {{"/no/such/module.so", 16}, known, {"a\nb", 1}, {"a\tb", 1}, {"", 0}});
  ASSERT_TRUE(table);
  EXPECT_EQ(table->size(), 1u);
  EXPECT_EQ(table->count(known), 1u);
}

TEST(Symbolize, StartsNothingForNothing) {
  EXPECT_TRUE(symbolize("/no/such/program", {}).value().empty());
}

TEST(Symbolize, SaysThatTheSymbolizerIsMissing) {
  auto table = symbolize("/no/such/program", {{"/bin/sh", 1}});
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Symbolize, SurvivesASymbolizerThatTalksNonsense) {
  EXPECT_TRUE(symbolize("/bin/cat", {{"/bin/sh", 1}}).value().empty());
  EXPECT_TRUE(symbolize("/bin/false", {{"/bin/sh", 1}}).value().empty());
}

} // namespace
} // namespace devsan::runtime
