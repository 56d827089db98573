#include "analyzer/answers/facts_check.h"

#include "analyzer/answers/edits.h"
#include "analyzer/ast/torch_api.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>

namespace devsan::analyzer {

using namespace clang;
using namespace clang::ast_matchers;

void FactsCheck::registerMatchers(MatchFinder *finder) {
  if (rule_.of_function)
    finder->addMatcher(
        functionDecl(isDefinition(), unless(isImplicit()), unless(isExpansionInSystemHeader()))
            .bind("function"),
        this);
  else
    finder->addMatcher(
        cxxRecordDecl(isDefinition(), unless(isImplicit()), unless(isExpansionInSystemHeader()))
            .bind("class"),
        this);
}

void FactsCheck::check(const MatchFinder::MatchResult &result) {
  if (!program_)
    program_ = SourceProgram::of(*result.Context);
  Findings findings;
  if (const auto *function = result.Nodes.getNodeAs<FunctionDecl>("function")) {
    if (const FunctionFacts *facts = program_->model().facts(function))
      findings = rule_.of_function(*facts, *program_);
  } else if (const auto *record = result.Nodes.getNodeAs<CXXRecordDecl>("class");
             !isLibraryDecl(record) && !record->isLambda() && DeviceModel::isStateful(record)) {
    findings = rule_.of_class(program_->members().factsOf(record), *program_);
  }
  for (RuleFinding &finding : findings)
    if (isFirstAt(finding.at))
      report(std::move(finding));
}

void FactsCheck::onEndOfTranslationUnit() {
  program_.reset();
  reported_.clear();
}

bool FactsCheck::isFirstAt(Code code) {
  // What the body of a macro of the project does is one finding, wherever that is used.
  const SourceManager &sources = program_->context().getSourceManager();
  const SourceLocation name = SourceProgram::nameLocation(exprOf(code));
  const SourceLocation written = sources.getSpellingLoc(name);
  const bool by_macro = sources.isMacroBodyExpansion(name) && !sources.isInSystemHeader(written);
  return reported_.insert(by_macro ? written : sources.getFileLoc(name)).second;
}

void FactsCheck::report(RuleFinding finding) {
  Diagnosis diagnosis{.place = program_->locationOf(finding.at),
                      .message = std::move(finding.message),
                      .range = exprOf(finding.at)->getSourceRange(),
                      .op = std::move(finding.op),
                      .from = std::move(finding.from),
                      .to = std::move(finding.to),
                      .remedy = std::move(finding.remedy),
                      .fix = hintsOf(finding.fix),
                      .caution = std::move(finding.caution),
                      .holder = std::move(finding.holder)};
  for (RuleFinding::Note &note : finding.related)
    if (note.code)
      diagnosis.related.push_back({program_->locationOf(note.code), std::move(note.message),
                                   exprOf(note.code)->getSourceRange()});
    else
      diagnosis.related.push_back({declOf(note.variable)->getLocation(), std::move(note.message)});
  diagnose(std::move(diagnosis));
}

} // namespace devsan::analyzer
