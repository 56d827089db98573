#include "core/text/terminal_text.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <pty.h>
#include <unistd.h>

namespace devsan::core {
namespace {

using testing::HasSubstr;

TEST(TerminalText, ShowsWhatWouldControlTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\x7f\r\n"), "a\\x1b[2Jb\\x7f\\x0d\\x0a");
  EXPECT_EQ(printable("\u009b31m \u0085"), "\\x9b31m \\x85");
  EXPECT_EQ(printable("a\u202egnp.x\u2066\u200f"), "a\\u202egnp.x\\u2066\\u200f");
  EXPECT_EQ(printable("\u2028\u2029"), "\\u2028\\u2029");
  EXPECT_EQ(printable("\x9b\xff\xc3"), "\\x9b\\xff\\xc3"); // no UTF-8
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
}

TEST(TerminalText, LeavesTextAsItIs) {
  const std::string text = "grün 日本 e\u0301 👩\u200d🔬 µs → \\x1b";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\tx"), " x");
  EXPECT_EQ(printableLines("a\nb\x1b\n\n"), "a\nb\\x1b\n\n");
  EXPECT_EQ(printableLines(""), "");
}

TEST(TerminalText, CountsColumns) {
  EXPECT_EQ(columnsOf("grün"), 4u);
  EXPECT_EQ(columnsOf("日本"), 4u);
  EXPECT_EQ(columnsOf("e\u0301"), 1u);
  EXPECT_EQ(columnsOf("\x1b"), 4u);
}

TEST(TerminalText, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("one two three\nfour\n", 9, 4), "one two\nthree\nfour\n");
  EXPECT_EQ(wrapped("  -x  one two", 10, 6), "  -x  one\n      two");
  EXPECT_EQ(wrapped("grün grün grün", 9, 0), "grün grün\ngrün");
  EXPECT_EQ(wrapped("a/path/that/is/long and on", 9, 0), "a/path/that/is/long\nand on");
  EXPECT_EQ(wrapped("unbreakable", 5, 2), "unbreakable");
  EXPECT_EQ(wrapped("\n\n", 5, 2), "\n\n");
}

TEST(TerminalText, ListsTheModesOfColor) {
  EXPECT_EQ(parseColorMode("never"), ColorMode::kNever);
  EXPECT_THAT(parseColorMode("yes").error().message,
              HasSubstr("--color=yes is unknown; valid: auto, always, never"));
}

class TerminalOf : public testing::Test {
protected:
  TerminalOf() {
    forget();
    setenv("TERM", "xterm", 1);
    winsize size{};
    size.ws_row = 24;
    size.ws_col = 73;
    EXPECT_EQ(openpty(&master_, &terminal_, nullptr, nullptr, &size), 0);
    EXPECT_EQ(pipe(pipe_), 0);
  }
  ~TerminalOf() override {
    forget(); // other tests are in this process
    for (int descriptor : {master_, terminal_, pipe_[0], pipe_[1]})
      close(descriptor);
  }
  static void forget() {
    for (const char *name : {"NO_COLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"})
      unsetenv(name);
  }
  bool colored(int descriptor, ColorMode mode = ColorMode::kAuto) {
    return core::terminalOf(descriptor, mode).color;
  }
  int master_ = -1, terminal_ = -1, pipe_[2] = {};
};

TEST_F(TerminalOf, HasColoursUnlessTheUserWantsNone) {
  EXPECT_TRUE(colored(terminal_));
  EXPECT_FALSE(colored(terminal_, ColorMode::kNever));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(colored(terminal_));
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "", 1); // says nothing
  EXPECT_TRUE(colored(terminal_));
  setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(colored(terminal_));
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_FALSE(colored(terminal_));
  EXPECT_TRUE(colored(terminal_, ColorMode::kAlways));
}

TEST_F(TerminalOf, PipesHaveNoneUnlessForced) {
  EXPECT_FALSE(colored(pipe_[1]));
  EXPECT_TRUE(colored(pipe_[1], ColorMode::kAlways));
  setenv("CLICOLOR_FORCE", "0", 1);
  EXPECT_FALSE(colored(pipe_[1]));
  setenv("CLICOLOR_FORCE", "1", 1);
  EXPECT_TRUE(colored(pipe_[1]));
}

TEST_F(TerminalOf, HasItsColumnsOrThoseThatTheUserSays) {
  EXPECT_EQ(core::terminalOf(terminal_, ColorMode::kNever).columns, 73u);
  setenv("COLUMNS", "50", 1);
  EXPECT_EQ(core::terminalOf(terminal_, ColorMode::kNever).columns, 50u);
  EXPECT_EQ(core::terminalOf(pipe_[1], ColorMode::kAlways).columns, 0u);
  setenv("COLUMNS", "3", 1);
  EXPECT_EQ(core::terminalOf(terminal_, ColorMode::kNever).columns, 20u);
  setenv("COLUMNS", "wide", 1);
  EXPECT_EQ(core::terminalOf(terminal_, ColorMode::kNever).columns, 73u);
}

} // namespace
} // namespace devsan::core
