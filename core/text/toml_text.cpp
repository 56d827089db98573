#include "core/text/toml_text.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace devsan::core {
namespace {

// The library bounds how deep values nest, but not `a.b.c…`, whose tables it destroys recursively.
constexpr unsigned kMaxDots = 8;

// Behind the string that begins at `i`, or where its line ends.
std::size_t skipTomlString(std::string_view text, std::size_t i) {
  const char quote = text[i];
  const std::string three(3, quote);
  const bool is_long = text.substr(i, 3) == three;
  for (i += is_long ? 3 : 1; i < text.size(); ++i) {
    if (text[i] == '\\' && quote == '"')
      ++i;
    else if (is_long ? text.substr(i, 3) == three : text[i] == quote)
      return i + (is_long ? 3 : 1);
    else if (text[i] == '\n' && !is_long)
      break;
  }
  return std::min(i, text.size());
}

std::optional<unsigned> lineOfDeepKey(std::string_view text) {
  unsigned line = 1, dots = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      const std::size_t end = skipTomlString(text, i);
      line += static_cast<unsigned>(std::count(text.begin() + i, text.begin() + end, '\n'));
      i = end;
      continue;
    }
    if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '.' && ++dots > kMaxDots)
      return line;
    if (std::string_view("\n=,[]{}").find(c) != std::string_view::npos)
      dots = 0;
    line += c == '\n';
    ++i;
  }
  return std::nullopt;
}

} // namespace

Result<toml::table> parseToml(std::string_view text, const std::string &source) {
  if (const std::optional<unsigned> line = lineOfDeepKey(text))
    return failure(fmt::format("{}:{}: a key has more than {} dots", source, *line, kMaxDots));
  toml::parse_result parsed = toml::parse(text);
  if (!parsed)
    return failure(fmt::format("{}:{}: {}", source, parsed.error().source().begin.line,
                               parsed.error().description()));
  return std::move(parsed).table();
}

} // namespace devsan::core
