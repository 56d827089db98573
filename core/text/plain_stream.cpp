#include "core/text/plain_stream.h"

#include "core/text/terminal_text.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace devsan::core {
namespace {

using namespace std::string_view_literals;

// Bytes that what is escaped can begin with: delete, lead bytes of UTF-8, signs of commands.
constexpr std::string_view kFirst = "\x7f\xc2\xd8\xe2#:"sv;
constexpr std::array kCommands = {"##["sv, "##vso["sv, "##teamcity["sv};

enum class Match { kNo, kMaybe, kYes };

Match matchCharacter(std::string_view text, char32_t &character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) == 0x7f ? 1 : byte(0) == 0xe2 ? 3 : 2;
  if (text.size() < length)
    return Match::kMaybe;
  character = length == 1   ? byte(0)
              : length == 2 ? (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu)
                            : (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
  return controlsDisplay(character) ? Match::kYes : Match::kNo;
}

Match matchCommand(std::string_view text) {
  if (std::ranges::find(kCommands, text) != kCommands.end())
    return Match::kYes;
  return std::ranges::any_of(kCommands, [&](auto command) { return command.starts_with(text); })
             ? Match::kMaybe
             : Match::kNo;
}

} // namespace

PlainBuffer::int_type PlainBuffer::overflow(int_type c) {
  if (c != traits_type::eof())
    put(traits_type::to_char_type(c));
  return out_ ? traits_type::not_eof(c) : traits_type::eof();
}

std::streamsize PlainBuffer::xsputn(const char *text, std::streamsize size) {
  std::string_view left(text, static_cast<std::size_t>(size));
  while (!left.empty()) {
    if (held_.empty()) {
      const std::size_t plain = std::min(left.find_first_of(kFirst), left.size());
      pass(left.substr(0, plain));
      left.remove_prefix(plain);
    }
    if (!left.empty()) {
      put(left.front());
      left.remove_prefix(1);
    }
  }
  return out_ ? size : 0;
}

void PlainBuffer::put(char c) {
  held_ += c;
  while (!held_.empty()) {
    char32_t first = static_cast<unsigned char>(held_.front());
    Match match = Match::kNo;
    if (held_.front() == '#')
      match = matchCommand(held_);
    else if (held_.front() == ':')
      match = !begins_line_      ? Match::kNo
              : held_.size() < 2 ? Match::kMaybe
              : held_[1] == ':'  ? Match::kYes
                                 : Match::kNo;
    else if (kFirst.find(held_.front()) != kFirst.npos)
      match = matchCharacter(held_, first);
    if (match == Match::kMaybe)
      return;
    if (match == Match::kNo) {
      pass(held_.substr(0, 1));
      held_.erase(0, 1);
      continue;
    }
    out_ << (notation_ == Notation::kJson ? fmt::format("\\u{:04x}", static_cast<unsigned>(first))
                                          : fmt::format("&#x{:x};", static_cast<unsigned>(first)));
    begins_line_ = false;
    held_.erase(0, first < 0x80 ? 1 : first < 0x800 ? 2 : 3);
  }
}

void PlainBuffer::pass(std::string_view text) {
  if (text.empty())
    return;
  out_ << text;
  const std::size_t end = text.rfind('\n');
  const std::string_view line = end == text.npos ? text : text.substr(end + 1);
  begins_line_ = (end != text.npos || begins_line_) && line.find_first_not_of(' ') == line.npos;
}

} // namespace devsan::core
