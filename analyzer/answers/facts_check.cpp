#include "analyzer/answers/facts_check.h"

#include "analyzer/answers/edits.h"
#include "analyzer/ast/torch_api.h"

#include <clang/ASTMatchers/ASTMatchFinder.h>

namespace devsan::analyzer {

using namespace clang;
using namespace clang::ast_matchers;

void FactsCheck::registerMatchers(MatchFinder *finder) {
  if (rule_.of_file)
    finder->addMatcher(functionDecl(isDefinition(), unless(isExpansionInSystemHeader())), this);
  else if (rule_.of_function)
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
  const bool is_first = !program_;
  if (is_first)
    program_ = SourceProgram::of(*result.Context);
  Findings findings;
  if (rule_.of_file) {
    if (is_first)
      findings = rule_.of_file(*program_);
  } else if (const auto *function = result.Nodes.getNodeAs<FunctionDecl>("function")) {
    if (const FunctionFacts *facts = program_->model().facts(function))
      findings = rule_.of_function(*facts, *program_);
  } else if (const auto *record = result.Nodes.getNodeAs<CXXRecordDecl>("class");
             !isLibraryDecl(record) && !record->isLambda() && DeviceModel::isStateful(record)) {
    findings = rule_.of_class(program_->members().factsOf(record), *program_);
  }
  for (RuleFinding &finding : findings)
    if (reported_.insert(keyOf(finding)).second)
      report(std::move(finding));
}

void FactsCheck::onEndOfTranslationUnit() {
  program_.reset();
  reported_.clear();
}

// A rule on a whole file is about launches and other code that begins where it begins; of the
// chains of calls that other rules are about, the method's name is the place.
SourceLocation FactsCheck::locationOf(const RuleFinding &finding) {
  if (finding.at_position != 0)
    return SourceLocation::getFromRawEncoding(finding.at_position);
  if (finding.at_variable)
    return sources().getFileLoc(declOf(finding.at_variable)->getLocation());
  return locationOf(finding.at);
}

SourceLocation FactsCheck::locationOf(Code code) {
  return rule_.of_file ? sources().getFileLoc(exprOf(code)->getBeginLoc())
                       : program_->locationOf(code);
}

SourceLocation FactsCheck::keyOf(const RuleFinding &finding) {
  if (rule_.of_file)
    return locationOf(finding);
  // What the body of a macro of the project does is one finding, wherever that is used.
  const SourceLocation name = SourceProgram::nameLocation(exprOf(finding.at));
  const SourceLocation written = sources().getSpellingLoc(name);
  const bool by_macro =
      sources().isMacroBodyExpansion(name) && !sources().isInSystemHeader(written);
  return by_macro ? written : sources().getFileLoc(name);
}

void FactsCheck::report(RuleFinding finding) {
  const auto range = [&](Code code) {
    return rule_.of_file ? SourceRange() : exprOf(code)->getSourceRange();
  };
  Diagnosis diagnosis{.place = locationOf(finding),
                      .message = std::move(finding.message),
                      .range = range(finding.at),
                      .op = std::move(finding.op),
                      .from = std::move(finding.from),
                      .to = std::move(finding.to),
                      .remedy = std::move(finding.remedy),
                      .fix = hintsOf(finding.fix),
                      .caution = std::move(finding.caution),
                      .needs = finding.needs,
                      .is_for_libraries = finding.is_for_libraries,
                      .launcher = std::move(finding.launcher),
                      .servants = std::move(finding.servants),
                      .steps = std::move(finding.steps),
                      .holder = std::move(finding.holder)};
  for (RuleFinding::Note &note : finding.related)
    if (note.code)
      diagnosis.related.push_back(
          {locationOf(note.code), std::move(note.message), range(note.code)});
    else
      diagnosis.related.push_back({declOf(note.variable)->getLocation(), std::move(note.message)});
  diagnose(std::move(diagnosis));
}

} // namespace devsan::analyzer
