// A finding as a check makes it: data. clang-tidy's text, notes and fix-its are one consumer of it;
// devsan check is another, which collects what the checks of a file say. One thread at a time.
#pragma once

#include "analyzer/facts/finding.h"

#include <clang-tidy/ClangTidyCheck.h>
#include <clang/Basic/Diagnostic.h>
#include <llvm/ADT/SmallVector.h>

#include <string>
#include <vector>

namespace devsan::analyzer {

struct Diagnosis {
  struct Note {
    clang::SourceLocation place;
    std::string message;
    clang::SourceRange range = {};
  };

  clang::SourceLocation place; // in a file
  std::string message;
  clang::SourceRange range = {}; // of the code that it is about
  // As at run time: "aten::item", "ns::kernel"; "cpu", "cuda:1", "cuda" where the index is that of
  // the current device. Empty where the facts do not tell.
  std::string op = {};
  std::string from = {};   // the device that the data is on
  std::string to = {};     // the one that it comes to, or that the others are on
  std::string remedy = {}; // where the rule's own does not fit
  std::vector<Note> related = {};
  llvm::SmallVector<clang::FixItHint, 4> fix = {};
  std::string caution = {}; // what the fix changes beside the code: it is made only when asked for
  Needs needs = Needs::kNothing;
  bool is_for_libraries = false; // see RuleFinding
  // The finding holds only where others do: USR of a function of another file that has to launch,
  // USRs of functions of which a function with tensors has to call one.
  std::string launcher = {};
  std::vector<std::string> servants = {};
  // USRs of functions of which one has to run on every step of the program.
  std::vector<std::string> steps = {};
  // Or only where what this holds is not on the host.
  std::optional<DataHolder> holder = {};
};

// Collects what the checks of this thread say for as long as it lives.
class Diagnoses {
public:
  struct Entry {
    std::string rule;
    Diagnosis diagnosis;
  };

  Diagnoses();
  ~Diagnoses();
  Diagnoses(const Diagnoses &) = delete;
  Diagnoses &operator=(const Diagnoses &) = delete;

  // Null where nobody collects: in the clang-tidy plugin.
  static Diagnoses *current();

  void add(llvm::StringRef rule, Diagnosis diagnosis);
  std::vector<Entry> take();

private:
  std::vector<Entry> entries_;
};

// The base of all checks.
class RuleCheck : public clang::tidy::ClangTidyCheck {
public:
  using ClangTidyCheck::ClangTidyCheck;

  bool isLanguageVersionSupported(const clang::LangOptions &options) const override {
    return options.CPlusPlus;
  }

protected:
  void diagnose(Diagnosis diagnosis);

private:
  using ClangTidyCheck::diag; // what is said otherwise is text, which devsan check does not read
};

} // namespace devsan::analyzer
