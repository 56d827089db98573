// A header means what a source that includes it makes of it: what is included before it, macros,
// the language. So a header that is to be looked at is read through such a source, where there is
// one.
#pragma once

#include "analyzer/run/schedule.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

// Takes the headers out of `commands` that a source among them includes, or one of those that
// `sources_around` names: its command, for these headers only, comes in. Gives the commands of the
// headers that went.
std::vector<CompileCommand> lookThroughSources(
    std::vector<CompileCommand> &commands,
    llvm::function_ref<std::vector<std::string>(const std::string &header)> sources_around,
    llvm::function_ref<core::Result<CompileCommand>(const std::string &source)> command_of);

// Those that no source has read after all: under a condition that does not hold.
std::vector<CompileCommand> headersNotRead(std::vector<CompileCommand> headers,
                                           const std::vector<FileOutcome> &outcomes);

// What was found elsewhere, in a file that is read for the sake of some headers.
void keepHeadersOnly(const std::vector<CompileCommand> &commands,
                     std::vector<FileOutcome> &outcomes);

} // namespace devsan::analyzer
