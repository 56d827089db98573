// What a module has that its owner's to(), train() and checkpoints have to reach: asked of the
// type's own definition, as far as it is there to see.
#pragma once

#include <clang/AST/DeclCXX.h>

namespace devsan::analyzer {

struct ModuleState {
  bool tensors = false;         // parameters or buffers, its own or of its parts
  bool depends_on_mode = false; // computes something else after eval()

  bool isEmpty() const { return !tensors && !depends_on_mode; }
  ModuleState &add(const ModuleState &other);
};

ModuleState moduleState(const clang::CXXRecordDecl *module);
// Of the modules that a value of this type is or has.
ModuleState moduleStateOf(clang::QualType type);
// Of what an expression makes: a container has what is put into it.
ModuleState moduleStateOf(const clang::Expr *made);

} // namespace devsan::analyzer
