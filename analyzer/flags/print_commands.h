// `devsan check --print-commands`: how each file is read, as a compile_commands.json. With it other
// tools (clang-tidy with DevSan's plugin, clangd) read a project that has none, such as an
// extension that setup.py builds, exactly as devsan check does.
#pragma once

#include "analyzer/flags/compile_commands.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

std::string commandsText(const std::vector<CompileCommand> &commands);

} // namespace devsan::analyzer
