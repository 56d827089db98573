#include "core/text/terminal_text.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <numeric>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

namespace devsan::core {
namespace {

constexpr std::size_t kMinColumns = 20; // less is no terminal to write for

// Commands of Azure Pipelines, TeamCity, and of GitHub's old form.
bool isCommand(std::string_view text) {
  return text.starts_with("##[") || text.starts_with("##vso[") || text.starts_with("##teamcity[");
}

Cell plain(std::string text) {
  const std::size_t columns = text.size();
  return {std::move(text), columns};
}

bool isSet(const char *variable) {
  const char *value = std::getenv(variable);
  return value && *value;
}

bool isForced() {
  return isSet("CLICOLOR_FORCE") && std::strcmp(std::getenv("CLICOLOR_FORCE"), "0") != 0;
}

bool isDumb() {
  return isSet("TERM") && std::strcmp(std::getenv("TERM"), "dumb") == 0;
}

std::size_t columnsOf(int descriptor) {
  std::size_t columns = 0;
  if (const char *text = std::getenv("COLUMNS"))
    std::from_chars(text, text + std::strlen(text), columns);
  if (winsize size{}; columns == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0)
    columns = size.ws_col;
  return columns && columns < kMinColumns ? kMinColumns : columns;
}

// Marks that turn the direction of what follows, so that a line would not read as it is.
bool isDirection(char32_t c) {
  return c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

} // namespace

bool controlsDisplay(char32_t character) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
  case UTF8PROC_CATEGORY_CC: // also U+0080 to U+009F, which old terminals take for escapes
  case UTF8PROC_CATEGORY_CS:
  case UTF8PROC_CATEGORY_ZL:
  case UTF8PROC_CATEGORY_ZP:
    return true;
  default:
    return isDirection(character);
  }
}

std::vector<Cell> cellsOf(std::string_view text) {
  std::vector<Cell> cells;
  const auto *at = reinterpret_cast<const utf8proc_uint8_t *>(text.data());
  for (auto left = static_cast<utf8proc_ssize_t>(text.size()); left > 0;) {
    utf8proc_int32_t c = -1;
    const utf8proc_ssize_t length = utf8proc_iterate(at, left, &c);
    if (length <= 0) {
      cells.push_back(plain(fmt::format("\\x{:02x}", *at)));
      ++at, --left;
      continue;
    }
    const std::string_view bytes(reinterpret_cast<const char *>(at),
                                 static_cast<std::size_t>(length));
    const auto columns = static_cast<std::size_t>(std::max(utf8proc_charwidth(c), 0));
    if (c == '#' && isCommand({bytes.data(), static_cast<std::size_t>(left)}))
      cells.push_back(plain("\\x23"));
    else if (c == '\t')
      cells.push_back({" ", 1});
    else if (controlsDisplay(static_cast<char32_t>(c)))
      cells.push_back(plain(c < 0x100 ? fmt::format("\\x{:02x}", c) : fmt::format("\\u{:04x}", c)));
    else if (columns == 0 && !cells.empty())
      cells.back().text += bytes;
    else
      cells.push_back({std::string(bytes), columns});
    at += length, left -= length;
  }
  return cells;
}

std::string printable(std::string_view text) {
  std::string out;
  for (const Cell &cell : cellsOf(text))
    out += cell.text;
  return out;
}

std::string cut(const std::string &text, std::size_t most, const std::string &mark) {
  if (text.size() <= most)
    return text;
  std::size_t end = most;
  while (end && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end;
  return text.substr(0, end) + mark;
}

std::string printableLines(std::string_view text) {
  std::string out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = printable(text.substr(begin, end - begin));
    out.append(begin ? "\n" : "").append(lineHead(line)).append(line);
    begin = end + 1;
  }
  return out;
}

std::string_view lineHead(std::string_view text) {
  // GitHub looks behind spaces.
  return text.substr(std::min(text.find_first_not_of(' '), text.size())).starts_with("::") ? "./"
                                                                                           : "";
}

std::size_t columnsOf(std::string_view text) {
  const std::vector<Cell> cells = cellsOf(text);
  return std::accumulate(cells.begin(), cells.end(), std::size_t{0},
                         [](std::size_t sum, const Cell &cell) { return sum + cell.columns; });
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    const std::size_t lead = line.starts_with(' ') ? indent : 0;
    std::size_t before = 0; // columns that the part has already
    while (columnsOf(line) + before > columns) {
      const std::size_t from = std::min(line.find_first_not_of(' '), line.size());
      std::size_t at = line.npos;
      for (std::size_t space = line.find(' ', from); space != line.npos;
           space = line.find(' ', space + 1))
        if (at == line.npos || before + columnsOf(line.substr(0, space)) <= columns)
          at = space;
      if (at == line.npos)
        break;
      out.append(line.substr(0, at)).append("\n").append(lead, ' ');
      line.remove_prefix(std::min(line.find_first_not_of(' ', at), line.size()));
      before = lead;
    }
    out.append(line).append(end < text.size() ? "\n" : "");
    begin = end + 1;
  }
  return out;
}

Result<ColorMode> parseColorMode(std::string_view text) {
  if (text == "auto")
    return ColorMode::kAuto;
  if (text == "always")
    return ColorMode::kAlways;
  if (text == "never")
    return ColorMode::kNever;
  return failure("--color=" + std::string(text) + " is unknown; valid: auto, always, never");
}

Terminal terminalOf(int descriptor, ColorMode mode) {
  const bool is_terminal = isatty(descriptor);
  Terminal terminal;
  switch (mode) {
  case ColorMode::kAuto:
    terminal.color = !isSet("NO_COLOR") && (isForced() || (is_terminal && !isDumb()));
    break;
  case ColorMode::kAlways:
    terminal.color = true;
    break;
  case ColorMode::kNever:
    break;
  }
  if (is_terminal)
    terminal.columns = columnsOf(descriptor);
  return terminal;
}

} // namespace devsan::core
