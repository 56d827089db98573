#include "analyzer/facts/text.h"

namespace devsan::analyzer {

std::string fill(std::string_view pattern, std::initializer_list<std::string_view> parts) {
  std::string text;
  for (std::string_view part : parts) {
    const std::size_t hole = pattern.find("{}");
    text.append(pattern.substr(0, hole)).append(part);
    pattern.remove_prefix(hole == std::string_view::npos ? pattern.size() : hole + 2);
  }
  return text.append(pattern);
}

} // namespace devsan::analyzer
