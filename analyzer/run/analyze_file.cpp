#include "analyzer/run/analyze_file.h"

#include "analyzer/parse/clang_run.h"
#include "analyzer/run/analysis.h"

namespace devsan::analyzer {

FileResult analyzeFile(const CompileCommand &command, const std::string &checks,
                       const std::vector<MemoryFile> &instead, bool stand_ins) {
  Analysis analysis(checks, command, stand_ins);
  std::vector<std::string> arguments = clangArguments(command);
  arguments.push_back(command.file);
  runClang(command.folder, std::move(arguments), instead, analysis.action(), analysis.consumer(),
           analysis.refused());
  return analysis.takeResult();
}

} // namespace devsan::analyzer
