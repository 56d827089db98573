// The checks, one folder each under checks/. The build globs the folders and writes the table of
// factories, so that a new folder is all that a new check takes. module.cpp reads the table for the
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

// Ends a check.cpp. `folder` is the name of the check's folder with `_` for `-`; a wrong one does
// not link.
#define DEVSAN_REGISTER_CHECK(Class, folder)                                                       \
  namespace devsan::analyzer::factories {                                                          \
  std::unique_ptr<::clang::tidy::ClangTidyCheck> folder(::llvm::StringRef name,                    \
                                                        ::clang::tidy::ClangTidyContext *context); \
  std::unique_ptr<::clang::tidy::ClangTidyCheck>                                                   \
  folder(::llvm::StringRef name, ::clang::tidy::ClangTidyContext *context) {                       \
    return std::make_unique<Class>(name, context);                                                 \
  }                                                                                                \
  }
