// Findings that do not hold in the program around them.
#pragma once

#include "analyzer/flags/compile_commands.h"
#include "analyzer/programs/project_programs.h"
#include "analyzer/run/analyze_files.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

struct LeftOut {
  unsigned by_use = 0;   // they take devices or streams for granted that no program uses
  unsigned wanted = 0;   // a program does so with its own data
  unsigned uncalled = 0; // they are in code that no program comes to
};

LeftOut leaveOutByPrograms(ProjectPrograms &projects, const std::vector<CompileCommand> &commands,
                           std::vector<FileOutcome> &outcomes);
std::vector<std::string> notesOf(const LeftOut &left_out);

} // namespace devsan::analyzer
