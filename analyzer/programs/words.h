// The words of code, of C++ or of a build, without a parse.
#pragma once

#include <vector>

#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

bool isIdentifier(llvm::StringRef word); // of a word that is not empty

// Identifiers, literals of text, `::`, and other characters one by one, without comments.
std::vector<llvm::StringRef> wordsOf(llvm::StringRef text);

} // namespace devsan::analyzer
