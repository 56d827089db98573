// Macros that a missing header would have defined. Where one stands before a declaration, such as
// `class LIBRARY_API Model {` or `LIBRARY_INLINE torch::Tensor f(`, clang takes it for a name and
// drops what follows. It is defined as nothing, which is what most such macros are to a reader.
// Names that the file decides itself, by a directive or as its types, are none.
#pragma once

#include <clang/Lex/PPCallbacks.h>
#include <clang/Lex/Token.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseSet.h>

namespace clang {
class Preprocessor;
} // namespace clang

namespace devsan::analyzer {

// Looks at the user's files that are read from the first missing header on, and at those around it.
class UnknownMacros : public clang::PPCallbacks {
public:
  explicit UnknownMacros(clang::Preprocessor &preprocessor) : preprocessor_(preprocessor) {}

  void InclusionDirective(clang::SourceLocation hash, const clang::Token &, llvm::StringRef, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module *, bool,
                          clang::SrcMgr::CharacteristicKind) override;
  void FileChanged(clang::SourceLocation location, FileChangeReason reason,
                   clang::SrcMgr::CharacteristicKind kind, clang::FileID) override;

private:
  void look(clang::FileID file);
  void define(const clang::Token &name, bool has_arguments);

  clang::Preprocessor &preprocessor_;
  bool is_wanted_ = false;
  llvm::DenseSet<clang::FileID> seen_;
};

} // namespace devsan::analyzer
