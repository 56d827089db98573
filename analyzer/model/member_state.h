// What becomes of the state that a class keeps in its members, tensors and modules: where it is
// made, whether it is registered, whether it follows to another device. A member is judged by what
// all methods do to it, so the class has to be complete. Facts only; the check on unregistered
// state judges them.
#pragma once

#include "analyzer/model/model.h"

#include <llvm/ADT/DenseMap.h>

#include <optional>
#include <vector>

namespace devsan::analyzer {

// What the methods of a class do to one member.
struct MemberState {
  const clang::FieldDecl *field = nullptr;
  bool submodule = false; // a module; else a tensor or several
  bool several = false;   // modules in a container
  const clang::Expr *initialised =
      nullptr;   // the factory that made it, or the value, in the constructor
  Place initial; // where it was then
  const clang::Expr *combined = nullptr;  // where it first meets another tensor
  std::vector<const clang::Expr *> sites; // every value that the constructors gave it, as written
  bool read_on_host = false;              // by an accessor, or an operator with host tensors
  bool meets_others = false;              // that are not known to be on the host
  bool registered = false;
  bool rebound = false; // set to another tensor by a method
  bool follows = false; // moved, or made anew on the device of what comes in
};

class MemberStates {
public:
  explicit MemberStates(DeviceModel &model) : model_(model) {}

  // Of the members that hold tensors or, in a module, modules. Empty where code that this file does
  // not have may register them.
  std::vector<MemberState> of(const clang::CXXRecordDecl *record);
  // The methods with a body. One whose parameter has a type from a missing header is defined apart
  // from its declaration, which the compiler cannot match with it.
  std::vector<const clang::CXXMethodDecl *> definitionsOf(const clang::CXXRecordDecl *record);

private:
  void collectUnresolved(const std::vector<const clang::CXXMethodDecl *> &methods,
                         MemberState &member);
  void collectConstruction(const FunctionFacts &facts, std::vector<MemberState> &members);
  void collectUse(const FunctionFacts &facts, const clang::CXXMethodDecl *method,
                  MemberState &member);

  DeviceModel &model_;
  std::optional<llvm::DenseMap<const clang::CXXRecordDecl *,
                               llvm::SmallVector<const clang::CXXMethodDecl *, 2>>>
      unmatched_;
};

} // namespace devsan::analyzer
