// Data that a function finds on the host because of others in its file: what all of its callers
// give it, and members that nothing but the class's own code sets.
#pragma once

#include "analyzer/model/file_scan.h"
#include "analyzer/model/flow.h"

#include <functional>

namespace devsan::analyzer {

class HostData {
public:
  // `own_facts` are those of a function alone, without what is found here.
  using OwnFacts = std::function<const FunctionFacts *(const clang::FunctionDecl *)>;
  HostData(const FileScan &scan, OwnFacts own_facts)
      : scan_(scan), own_facts_(std::move(own_facts)) {}

  // Parameters of the function, and members of its class.
  std::vector<Path> of(const clang::FunctionDecl *function);

private:
  bool callersGiveHost(const clang::ParmVarDecl *parameter, unsigned depth);
  const std::set<Path> &keptBy(const clang::CXXRecordDecl *owner);

  const FileScan &scan_;
  OwnFacts own_facts_;
  llvm::DenseMap<const clang::CXXRecordDecl *, std::set<Path>> kept_;
};

} // namespace devsan::analyzer
