// The words of code, of C++ or of a build, without a parse.
#pragma once

#include <string>
#include <vector>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>

namespace devsan::analyzer {

bool isIdentifier(llvm::StringRef word); // of a word that is not empty

// Identifiers, literals of text, `::`, and other characters one by one, without comments.
std::vector<llvm::StringRef> wordsOf(llvm::StringRef text);

// The longest runs of characters that belong to a name, of whatever kind.
std::vector<llvm::StringRef> runsOf(llvm::StringRef text, llvm::function_ref<bool(char)> belongs);

bool containsOne(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> parts);

// What a library of Python or of operators begins with.
bool namesLibrary(llvm::StringRef text);
// What Python imports.
bool bindsToPython(llvm::StringRef text);

// Of a build or a script, without what stands behind `#`, where that begins a comment.
std::string withoutComments(llvm::StringRef text);

} // namespace devsan::analyzer
