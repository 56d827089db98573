// The checks over one parsed file: what clang-tidy's machinery needs around them, and what comes
// out.
#pragma once

#include "analyzer/calls/function_names.h"
#include "analyzer/flags/compile_commands.h"
#include "analyzer/run/file_result.h"
#include "analyzer/run/said.h"

#include <clang-tidy/ClangTidy.h>
#include <clang-tidy/ClangTidyDiagnosticConsumer.h>
#include <clang/Frontend/FrontendAction.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace devsan::analyzer {

class Analysis {
public:
  // `checks` is clang-tidy's list of globs. Without stand-ins for unknown names clang drops more
  // code, and does nothing that it does not do elsewhere.
  Analysis(const std::string &checks, const CompileCommand &command, bool stand_ins = true);

  // Consumers that see the tree besides the checks.
  using ExtraConsumers =
      std::function<std::vector<std::unique_ptr<clang::ASTConsumer>>(clang::CompilerInstance &)>;
  std::unique_ptr<clang::FrontendAction> action(ExtraConsumers more = {});

  clang::DiagnosticConsumer &consumer() { return consumer_; }

  // What clang was not given to read.
  std::vector<std::string> &refused() { return result_.refused; }

  // After the action has run.
  FileResult takeResult();

private:
  std::vector<std::string> own_folders_;
  const bool stand_ins_;
  clang::tidy::ClangTidyContext context_;
  clang::tidy::ClangTidyDiagnosticConsumer consumer_;
  std::unique_ptr<clang::DiagnosticsEngine> engine_;
  FunctionNames names_;
  Said said_;
  FileResult result_;
};

} // namespace devsan::analyzer
