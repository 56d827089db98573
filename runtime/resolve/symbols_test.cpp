#include "runtime/resolve/symbols.h"
#include "test/support/temporary_folder.h"

#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
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
  SymbolTable table;
  auto named = symbolize(DEVSAN_SYMBOLIZER, {address}, table);
  ASSERT_TRUE(named) << named.error().message;
  ASSERT_EQ(table.count(address), 1u);
  const SymbolFrame &frame = table.at(address).front();
  EXPECT_TRUE(frame.file.ends_with("symbols_test.cpp")) << frame.file;
  EXPECT_EQ(frame.line, line);
  EXPECT_NE(frame.function.find("Symbolize_KnowsFunctionFileAndLine_Test"), std::string::npos);
}

TEST(Symbolize, LeavesOutWhatItDoesNotKnow) {
  const CodeAddress known = addressOf(whereAmI());
  SymbolTable table;
  ASSERT_TRUE(symbolize(DEVSAN_SYMBOLIZER,
                        {{"/no/such/module.so", 16}, known, {"a\nb", 1}, {"a\tb", 1}, {"", 0}},
                        table));
  EXPECT_EQ(table.size(), 1u);
  EXPECT_EQ(table.count(known), 1u);
}

TEST(Symbolize, OpensNothingButFiles) {
  const test::TemporaryFolder folder;
  const std::string pipe = folder.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const CodeAddress known = addressOf(whereAmI());
  SymbolTable table;
  ASSERT_TRUE(symbolize(
      DEVSAN_SYMBOLIZER,
      {{pipe, 16}, {"/dev/zero", 16}, {"/dev/stdin", 1}, {"-", 1}, {"/", 1}, known}, table));
  EXPECT_EQ(table.size(), 1u);
}

TEST(Symbolize, StartsNothingForNothing) {
  SymbolTable table;
  EXPECT_TRUE(symbolize("/no/such/program", {}, table));
}

TEST(Symbolize, SaysThatTheSymbolizerIsMissing) {
  SymbolTable table;
  auto named = symbolize("/no/such/program", {{"/bin/sh", 1}}, table);
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().message.find("/no/such/program"), std::string::npos);
}

TEST(Symbolize, SurvivesASymbolizerThatTalksNonsense) {
  SymbolTable table;
  EXPECT_TRUE(symbolize("/bin/cat", {{"/bin/sh", 1}}, table));
  EXPECT_TRUE(table.empty());
}

TEST(Symbolize, KeepsWhatWasToldBeforeItDied) {
  const test::TemporaryFolder folder;
  const std::string program = folder.path() / "symbolizer";
  std::ofstream(program)
      << "#!/bin/sh\necho '{\"frames\":[{\"function\":\"f\"}]}'\nkill -KILL $$\n";
  chmod(program.c_str(), 0700);
  SymbolTable table;
  const auto named = symbolize(program, {{"/bin/a", 1}, {"/bin/b", 1}, {"/bin/c", 1}}, table);
  ASSERT_FALSE(named);
  EXPECT_EQ(named.error().message,
            program + " was ended by signal 9: 2 of 3 addresses have no names");
  EXPECT_EQ(table.size(), 1u);
}

} // namespace
} // namespace devsan::runtime
