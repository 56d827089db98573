// What the model believes of each function and class of a file, as text for who debugs a rule or a
// finding that is wrong. The text is for people and may change.
#pragma once

#include <clang/AST/ASTContext.h>
#include <llvm/Support/raw_ostream.h>

namespace devsan::analyzer {

// Of what is written in the main file, in the order of its lines. Ends after some 20,000 lines.
void dumpFacts(clang::ASTContext &context, llvm::raw_ostream &out);

} // namespace devsan::analyzer
