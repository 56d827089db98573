#include "analyzer/model/diagnosis.h"

namespace devsan::analyzer {

using namespace clang;

namespace {
thread_local Diagnoses *collecting = nullptr;
} // namespace

Diagnoses::Diagnoses() {
  collecting = this;
}

Diagnoses::~Diagnoses() {
  collecting = nullptr;
}

Diagnoses *Diagnoses::current() {
  return collecting;
}

void Diagnoses::add(llvm::StringRef rule, Diagnosis diagnosis) {
  entries_.push_back({rule.str(), std::move(diagnosis)});
}

std::vector<Diagnoses::Entry> Diagnoses::take() {
  return std::move(entries_);
}

void RuleCheck::diagnose(Diagnosis diagnosis) {
  {
    DiagnosticBuilder finding = diag(diagnosis.place, "%0") << diagnosis.message;
    if (diagnosis.range.isValid())
      finding << diagnosis.range;
    if (diagnosis.caution.empty())
      for (const FixItHint &edit : diagnosis.fix)
        finding << edit;
  }
  // clang-tidy makes the edits of a note with --fix-notes only.
  if (!diagnosis.caution.empty()) {
    DiagnosticBuilder choice = diag(diagnosis.place, "%0", DiagnosticIDs::Note)
                               << diagnosis.caution;
    for (const FixItHint &edit : diagnosis.fix)
      choice << edit;
  }
  if (!diagnosis.remedy.empty())
    diag(diagnosis.place, "remedy: %0", DiagnosticIDs::Note) << diagnosis.remedy;
  for (const Diagnosis::Note &note : diagnosis.related) {
    DiagnosticBuilder related = diag(note.place, "%0", DiagnosticIDs::Note) << note.message;
    if (note.range.isValid())
      related << note.range;
  }
  if (Diagnoses *diagnoses = Diagnoses::current())
    diagnoses->add(static_cast<const ast_matchers::MatchFinder::MatchCallback &>(*this).getID(),
                   std::move(diagnosis));
}

} // namespace devsan::analyzer
