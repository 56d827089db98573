// Globs on files, as .devsan.toml has them: `*` matches slashes too, and a folder, with a slash at
// its end or without, stands for all that lies in it.
#pragma once

#include <string>
#include <string_view>

namespace devsan::core {

bool coversFile(std::string_view glob, const std::string &file);

} // namespace devsan::core
