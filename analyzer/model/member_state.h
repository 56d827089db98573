// The facts of a class. Facts only; the rule on unregistered state judges them.
#pragma once

#include "analyzer/facts/class_facts.h"
#include "analyzer/model/model.h"

#include <llvm/ADT/DenseMap.h>

#include <optional>
#include <vector>

namespace devsan::analyzer {

class MemberStates {
public:
  explicit MemberStates(DeviceModel &model) : model_(model) {}

  ClassFacts factsOf(const clang::CXXRecordDecl *record);
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
