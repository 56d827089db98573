// What only the files of a run together know of findings in one of them.
#pragma once

#include "analyzer/run/schedule.h"

#include <llvm/ADT/STLFunctionalExtras.h>

#include <vector>

namespace devsan::analyzer {

// Where more files are looked for: in the project of one, or in the repository beside it.
enum class Around { kProject, kRepository };

// Drops the findings in functions all of whose callers set the device, those that rest on a
// function of another file that launches no kernel (where it launches one, the finding says where),
// those in functions without tensors that no function with tensors calls, and, unless the files are
// looked at `alone`, those about data that is the host's whoever gives it.
//
// What is true of a function must not depend on the part of a project looked at: `others_around` is
// asked once for more files of the projects of these, and once for what lies beside them if they
// call what they do not define. Those that may hold callers or launchers are analysed too, for that
// alone. Where `has_own_data` tells that a file's program gets no data from others, what brings
// data to a device is looked for as well: findings stand there only by that.
void resolveCrossFileFindings(
    const std::vector<CompileCommand> &commands, std::vector<FileOutcome> &outcomes, bool alone,
    llvm::function_ref<bool(const std::string &)> has_own_data,
    llvm::function_ref<std::vector<std::string>(const std::vector<std::string> &, Around)>
        others_around,
    llvm::function_ref<std::vector<FileOutcome>(const std::vector<std::string> &)> analyze);

} // namespace devsan::analyzer
