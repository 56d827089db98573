// Text for people, on a terminal: what a program under test says must not reach it as commands, and
// lines end where it ends.
#pragma once

#include "core/system/result.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::core {

// A character as it is shown, with what combines with it.
struct Cell {
  std::string text;
  std::size_t columns;
};

// Whether a character controls a terminal, ends a line or turns the direction of writing.
bool controlsDisplay(char32_t character);

// A tab is one space, so that the columns of a source stay; what is no character, controls the
// terminal or turns the direction of writing stands as \x1b or \u202e. So does the first sign of
// what a CI system takes for a command to itself wherever it stands in a log, as in `##vso[`.
std::vector<Cell> cellsOf(std::string_view text);
std::string printable(std::string_view text);

// At most so many bytes of UTF-8, and then the mark, which says that there are more.
std::string cut(const std::string &text, std::size_t most, const std::string &mark = " …");
// The same of each line of a text, none of which begins with `::`, as commands to GitHub do.
std::string printableLines(std::string_view text);

// How a line has to begin that would begin with `text`.
std::string_view lineHead(std::string_view text);
// That it takes, shown so.
std::size_t columnsOf(std::string_view text);
// Lines broken between words, where there is a place to, to take no more than `columns`. What a
// broken line goes on with is indented by `indent` if the line is indented itself.
std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

enum class ColorMode { kAuto, kAlways, kNever };

// The value of --color.
Result<ColorMode> parseColorMode(std::string_view text);

struct Terminal {
  bool color = false;
  std::size_t columns = 0; // 0: as many as there are
};

// What the text of a file descriptor is for. kAuto: colours on a terminal that has them, neither
// where NO_COLOR is set, nor elsewhere unless CLICOLOR_FORCE is. Columns are those of a terminal
// alone: lines in files and pipes stay whole.
Terminal terminalOf(int descriptor, ColorMode mode);

} // namespace devsan::core
