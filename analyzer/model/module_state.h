// What a module has, asked of the type's own definition, as far as it is there to see.
#pragma once

#include "analyzer/facts/class_facts.h"

#include <clang/AST/DeclCXX.h>

namespace devsan::analyzer {

ModuleState moduleState(const clang::CXXRecordDecl *module);
// Of the modules that a value of this type is or has.
ModuleState moduleStateOf(clang::QualType type);
// Of what an expression makes: a container has what is put into it.
ModuleState moduleStateOf(const clang::Expr *made);

// What a call of a module runs: that of its holder calls forward(). Null where it is not one alone.
const clang::FunctionDecl *forwardOf(const clang::CXXRecordDecl *module,
                                     const clang::FunctionDecl *called);

} // namespace devsan::analyzer
