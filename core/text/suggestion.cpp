#include "core/text/suggestion.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>
#include <vector>

namespace devsan::core {
namespace {

constexpr std::size_t kLettersOfAnError = 3; // one typing error in so many is one
constexpr std::size_t kLongest = 64;         // of the names that are compared

// Letters inserted, left out, replaced, or two neighbours swapped: the optimal string alignment.
std::size_t typingErrors(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

} // namespace

std::string didYouMean(std::string_view name, std::span<const std::string> candidates) {
  if (name.size() < 2 || name.size() > kLongest)
    return {};
  std::size_t least = std::max<std::size_t>(1, name.size() / kLettersOfAnError) + 1;
  const std::string *meant = nullptr;
  for (const std::string &candidate : candidates) {
    const std::size_t errors = typingErrors(name, candidate);
    if (errors < least) {
      least = errors;
      meant = &candidate;
    }
  }
  return meant ? fmt::format(" (did you mean '{}'?)", *meant) : "";
}

} // namespace devsan::core
