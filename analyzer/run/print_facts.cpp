#include "analyzer/run/print_facts.h"

#include "analyzer/answers/facts_dump.h"
#include "analyzer/files/report_paths.h"
#include "analyzer/parse/clang_run.h"
#include "analyzer/run/analysis.h"

#include <llvm/ADT/StringExtras.h>

namespace devsan::analyzer {
namespace {

class FactsPrinter : public clang::ASTConsumer {
public:
  explicit FactsPrinter(std::string &text) : text_(text) {}

  void HandleTranslationUnit(clang::ASTContext &context) override {
    llvm::raw_string_ostream out(text_);
    dumpFacts(context, out);
  }

private:
  std::string &text_;
};

// With what did not parse, which may explain what the model does not know.
std::string analysed(const CompileCommand &command) {
  std::string facts;
  Analysis analysis("-*", command);
  const auto printer = [&](clang::CompilerInstance &) {
    std::vector<std::unique_ptr<clang::ASTConsumer>> consumers;
    consumers.push_back(std::make_unique<FactsPrinter>(facts));
    return consumers;
  };
  std::vector<std::string> arguments = clangArguments(command);
  arguments.push_back(command.file);
  runClang(command.folder, std::move(arguments), {}, analysis.action(printer), analysis.consumer(),
           analysis.refused());
  const FileResult result = analysis.takeResult();
  std::string head = shortPath(command.file) + ": ";
  if (result.errors)
    head += "parsed in part, the first error: " + result.first_error + "; ";
  if (!result.missing_headers.empty())
    head += "not found: " + llvm::join(result.missing_headers, ", ") + "; ";
  return head + facts;
}

} // namespace

core::Result<std::string> factsOf(const CompileCommand &command, Seconds limit) {
  Processes children;
  if (const std::optional<int> out = children.fork(0, limit))
    Processes::finish(*out, analysed(command));
  Outcome ended;
  std::vector<pollfd> none;
  while (children.running())
    children.wait(none, std::nullopt,
                  [&](std::size_t, Outcome outcome) { ended = std::move(outcome); });
  if (ended.text)
    return std::move(*ended.text);
  return core::failure(shortPath(command.file) + ": the analysis " +
                       (ended.limit == Limit::kTime ? "took longer than --timeout allows"
                        : ended.signal ? "was ended by signal " + std::to_string(ended.signal)
                                       : "failed"));
}

} // namespace devsan::analyzer
