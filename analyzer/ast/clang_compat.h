// What differs between the releases of clang that the checks are compiled for: 22, for devsan-check
// and libDevSanTidy.so, and those of DEVSAN_OTHER_CLANG_TIDY (analyzer/CMakeLists.txt), for their
// plugins. What can be told by a header in front of clang's own is in analyzer/older_llvm/; no
// other file of the checks asks for a version.
#pragma once

#include <clang-tidy/ClangTidyModule.h>
#include <clang/AST/Decl.h>
#include <clang/Basic/Version.h>

#if CLANG_VERSION_MAJOR < 22
#include <clang-tidy/ClangTidyModuleRegistry.h>
#endif

#if __has_include(<clang/Index/USRGeneration.h>)
#include <clang/Index/USRGeneration.h>
#else
#include <clang/UnifiedSymbolResolution/USRGeneration.h>
#endif

namespace devsan::analyzer {

// The release that this was compiled for.
constexpr int kClangMajor = CLANG_VERSION_MAJOR;

// A declaration of an enumeration that knows its enumerators.
inline const clang::EnumDecl *definitionOf(const clang::EnumDecl *declaration) {
  const clang::EnumDecl *definition = declaration->getDefinition();
  return definition ? definition : declaration;
}

// The type that a name is looked up in; null for a namespace.
#if CLANG_VERSION_MAJOR < 22
using Qualifier = const clang::NestedNameSpecifier *;
inline const clang::Type *typeOf(Qualifier qualifier) {
  return qualifier ? qualifier->getAsType() : nullptr;
}
#else
using Qualifier = clang::NestedNameSpecifier;
inline const clang::Type *typeOf(Qualifier qualifier) {
  return qualifier.getKind() == Qualifier::Kind::Type ? qualifier.getAsType() : nullptr;
}
#endif

inline bool isPureVirtual(const clang::FunctionDecl *function) {
#if CLANG_VERSION_MAJOR < 18
  return function->isPure();
#else
  return function->isPureVirtual();
#endif
}

} // namespace devsan::analyzer
