// For messages about a name that is not known: which of the valid ones was meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace devsan::core {

// " (did you mean 'check'?)": the candidate that is the fewest typing errors away. Empty where all
// are too far.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace devsan::core
