// Modules that a class keeps in containers of the standard library's, which register nothing: where
// they are made, and what may register them all the same. Facts only; the check on unregistered
// state judges them.
#pragma once

#include <clang/AST/DeclCXX.h>
#include <clang/AST/Expr.h>

#include <vector>

namespace devsan::analyzer {

// A container of a library's with modules as elements.
bool holdsModules(clang::QualType type);
// A method by this name makes a part of a module known to it.
bool isRegistration(llvm::StringRef name);
// register_module, or what takes its place.
bool isModuleRegistration(llvm::StringRef name);
// The value is a module that is made here, or has one among its elements.
bool makesModule(const clang::Expr *value);
// Cloneable's modules make their state in reset(), which the constructor calls.
bool isResetOfConstructor(const clang::CXXMethodDecl *method);
// Where a constructor first puts a module that it makes into the member; null where it puts none.
// What it is handed has an owner, who may register it.
const clang::Expr *firstModuleMade(const std::vector<const clang::CXXMethodDecl *> &methods,
                                   const clang::FieldDecl *field);
// The method registers or moves the elements of the member, or gives them to code that may do so.
bool handsOnModules(const clang::CXXMethodDecl *method, const clang::FieldDecl *field);

} // namespace devsan::analyzer
