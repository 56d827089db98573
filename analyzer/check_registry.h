// The checks, one for each rule under checks/. The build globs the folders and writes the table of
// rules, so that a new folder is all that a new rule takes. module.cpp reads the table for the
// clang-tidy plugin and for devsan-check.
#pragma once

#include <clang-tidy/ClangTidyCheck.h>

#include <memory>
#include <span>

namespace devsan::analyzer {

using CheckFactory = std::unique_ptr<clang::tidy::ClangTidyCheck> (*)(
    llvm::StringRef name, clang::tidy::ClangTidyContext *context);

struct CheckEntry {
  const char *rule;
  CheckFactory make;
};

// Sorted by rule.
std::span<const CheckEntry> allChecks();

} // namespace devsan::analyzer
