// What the checks say of a file, as findings: places become lines and columns, edits become bytes.
#pragma once

#include "analyzer/calls/function_names.h"
#include "analyzer/model/diagnosis.h"
#include "analyzer/run/file_result.h"
#include "core/system/result.h"

#include <clang-tidy/ClangTidyDiagnosticConsumer.h>
#include <llvm/ADT/StringMap.h>

#include <map>
#include <string>
#include <vector>

namespace devsan::analyzer {

// Turns byte offsets into places.
class Places {
public:
  explicit Places(const FunctionNames &names) : names_(names) {}

  core::Location at(llvm::StringRef file, unsigned offset);
  // Of the function around it.
  FindingContext contextAt(llvm::StringRef file, unsigned offset);

private:
  std::optional<llvm::StringRef> textBefore(llvm::StringRef file, unsigned offset);

  const FunctionNames &names_;
  llvm::StringMap<core::Result<std::string>> texts_;
};

class Said {
public:
  struct Finding {
    core::Finding finding;
    FindingContext context;
  };

  // While the tree is there.
  void add(const std::vector<Diagnoses::Entry> &entries, clang::SourceManager &sources,
           Places &places);
  // That of a text that clang-tidy let pass: NOLINT, and what several instantiations say alike, are
  // its business. Null for what no check of ours said.
  const Finding *find(const clang::tidy::ClangTidyError &error) const;

private:
  std::map<std::string, Finding> by_text_; // by rule, place and message
};

} // namespace devsan::analyzer
