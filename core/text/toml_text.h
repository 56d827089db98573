// TOML, as text.
#pragma once

#include "core/system/result.h"

#include <string>
#include <string_view>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace devsan::core {

// An error begins with "source:line: ".
Result<toml::table> parseToml(std::string_view text, const std::string &source);

} // namespace devsan::core
