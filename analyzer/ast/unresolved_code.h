// What can be read of code that the compiler could not resolve, because a header is missing: its
// text. Only for questions whose answer the text gives for certain, or that keep a check silent.
#pragma once

#include <clang/AST/ASTContext.h>

#include <optional>

namespace devsan::analyzer {

// As it is written, where that is in one piece; a macro's argument where the macro is used.
llvm::StringRef textOf(const clang::ASTContext &context, clang::SourceRange range);

// The same on one line and not longer than a message bears, with macros as they are used.
std::string shortText(const clang::ASTContext &context, clang::SourceRange range);

enum class LaunchText { kDefaultStream, kSomeStream };
// Reads `kernel<<<grid, block, shared, stream>>>(…)`; nothing where the text is something else.
std::optional<LaunchText> unresolvedLaunch(llvm::StringRef text);

// A call of a function that by its name belongs to one of CUDA's libraries or LibTorch.
bool namesLibraryFunction(llvm::StringRef call);
// Something in it is called a guard, or sets a device.
bool namesGuard(llvm::StringRef text);

} // namespace devsan::analyzer
