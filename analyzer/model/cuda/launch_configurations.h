// The structures that launches take their stream from: `cudaLaunchKernelEx(&config, …)`.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"

namespace devsan::analyzer {

class LaunchConfigurations {
public:
  // `config.stream = s;`
  void noteAssignment(const clang::BinaryOperator *op);
  // A launch that will be the one with that index.
  void noteLaunch(const clang::CallExpr *call, std::size_t index);
  // Gives launches their streams, where the function itself fills the structure.
  void resolve(std::vector<Launch> &launches) const;

private:
  std::vector<std::pair<std::size_t, const clang::VarDecl *>> configurations_;
  llvm::DenseMap<const clang::ValueDecl *, const clang::Expr *> streams_;
};

} // namespace devsan::analyzer
