// What one walk over the program's code of a translation unit tells: who calls whom, which
// functions are registered as operators, and whether the code deals with devices at all.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/StringSet.h>

#include <utility>
#include <vector>

namespace devsan::analyzer {

// Functions are canonical declarations.
struct FileScan {
  struct Caller {
    const clang::FunctionDecl *function;
    const clang::Stmt *call;
  };
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<Caller>> callers; // by callee
  std::vector<const clang::FunctionDecl *> functions; // definitions, lambdas apart
  // May be called by others than these callers: mentioned elsewhere than in a call, or called where
  // no function of the program is around.
  llvm::DenseSet<const clang::FunctionDecl *> open;
  // Members with tensors that are set in ways that no assignment tells; members of these names too.
  llvm::DenseSet<const clang::FieldDecl *> set_otherwise;
  llvm::StringSet<> names_set_otherwise;
  // Objects whose members are set one after the other, and the functions that make them; null
  // outside of functions.
  std::vector<std::pair<const clang::FunctionDecl *, const clang::InitListExpr *>> aggregates;
  // Registered with TORCH_LIBRARY or pybind11, or the forward side of an autograd::Function.
  llvm::DenseSet<const clang::FunctionDecl *> operators;
  llvm::DenseSet<const clang::FunctionDecl *> host_operators; // for the CPU's dispatch key
  bool names_device = false;   // a device other than the host, or a variable that holds one
  bool may_leave_host = false; // names such a device, or takes one from where this file cannot see
  bool has_main = false;
  bool trains = false;            // computes gradients
  bool reads_host_memory = false; // accessors, at::parallel_for, checks for the CPU
};

FileScan scanFile(clang::ASTContext &context);

} // namespace devsan::analyzer
