// Runs a rule as a check of clang-tidy: hands it the facts of each function or class of the
// program, and makes a Diagnosis of each finding. One for each place, however many instantiations
// of a template show it.
#pragma once

#include "analyzer/answers/source_program.h"
#include "analyzer/facts/rule.h"
#include "analyzer/model/diagnosis.h"

#include <set>

namespace devsan::analyzer {

class FactsCheck : public RuleCheck {
public:
  FactsCheck(llvm::StringRef name, clang::tidy::ClangTidyContext *context, const Rule &rule)
      : RuleCheck(name, context), rule_(rule) {}

  void registerMatchers(clang::ast_matchers::MatchFinder *finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override;
  void onEndOfTranslationUnit() override;

private:
  void report(RuleFinding finding);
  clang::SourceLocation locationOf(const RuleFinding &finding);
  clang::SourceLocation locationOf(Code code);
  // Of two findings with one key the first counts.
  clang::SourceLocation keyOf(const RuleFinding &finding);
  const clang::SourceManager &sources() { return program_->context().getSourceManager(); }

  const Rule &rule_;
  std::shared_ptr<SourceProgram> program_;
  std::set<clang::SourceLocation> reported_;
};

template <const Rule &rule>
std::unique_ptr<clang::tidy::ClangTidyCheck>
makeFactsCheck(llvm::StringRef name, clang::tidy::ClangTidyContext *context) {
  return std::make_unique<FactsCheck>(name, context, rule);
}

} // namespace devsan::analyzer
