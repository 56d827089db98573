// `devsan check --dump-facts`: what the model believes of one file, as text.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/system/processes.h"
#include "core/system/result.h"

#include <string>

namespace devsan::analyzer {

// In a child process, which may take `limit` of processor time; 0: any.
core::Result<std::string> factsOf(const CompileCommand &command, Seconds limit);

} // namespace devsan::analyzer
