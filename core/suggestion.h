// For messages about a name that is not known: which of the valid ones was meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace devsan::core {

// " (did you mean 'device-host-sync'?)": the candidate that is few typing errors away, or goes on
// to the left of the name, as a rule does that is named without its prefix. Empty where none does.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace devsan::core
