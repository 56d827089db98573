// What only the files of a run together know of findings in one of them.
#pragma once

#include "analyzer/tool/schedule.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <vector>

namespace devsan::analyzer {

// Drops the findings in functions all of whose callers set the device, and those that rest on a
// function of another file that launches no kernel; where it launches one, the finding says where.
//
// `others` are the files that --diff and --shard leave out: those that may hold callers or
// launchers are analysed too, for their calls alone, since what is true of a function must not
// depend on the part of a project looked at.
void settleAcrossFiles(
    std::vector<FileOutcome> &outcomes, std::vector<CompileCommand> others,
    llvm::function_ref<std::vector<FileOutcome>(const std::vector<CompileCommand> &)> analyze);

} // namespace devsan::analyzer
