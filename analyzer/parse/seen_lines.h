// How much of a file is left of it in clang's tree: what cannot be parsed is dropped, and what is
// behind a condition that does not hold is never read.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceLocation.h>
#include <llvm/ADT/ArrayRef.h>

namespace devsan::analyzer {

// Lines with a name on them, directives and comments aside.
struct SeenLines {
  unsigned all = 0;
  unsigned seen = 0; // with a statement or declaration that begins or ends there
};

SeenLines seenLines(clang::ASTContext &context, llvm::ArrayRef<clang::Decl *> decls,
                    clang::FileID file);

} // namespace devsan::analyzer
