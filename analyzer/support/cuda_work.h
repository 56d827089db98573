// The CUDA work of one function, in the order of its source: what it launches, on which stream,
// which device is current there, and whom it calls. Checks on launches, streams and the current
// device read this; nothing here knows a rule.
//
// Templates are read as they are written: what a launch looks like rarely depends on a parameter,
// and an instantiation would only repeat it. Bodies of lambdas count as part of their function,
// because dispatch macros put launches there.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <string>
#include <vector>

namespace devsan::analyzer {

// The blocks around an expression, outermost first, each with its statement that leads there. Only
// those that are written out, not those that a macro makes: text can be inserted before them.
struct BlockStep {
  const clang::CompoundStmt *block;
  const clang::Stmt *statement;
};
using BlockPath = llvm::SmallVector<BlockStep, 6>;

struct Launch {
  enum class Kind { kKernel, kCopy, kStreamArgument };
  Kind kind;
  const clang::CallExpr *expr;
  const clang::Expr *stream = nullptr; // null where none is given
  bool stream_known = true;            // false where it hides in a structure
  bool guarded = false;                // the current device has been set here
  bool own_guard = false;              // by a guard of this function
  BlockPath path;
};

struct WorkCall {
  const clang::CallExpr *expr;
  const clang::FunctionDecl *callee;
  bool guarded = false;
  BlockPath path;
};

struct SetDevice {
  const clang::CallExpr *expr;
  const clang::Expr *device;    // null where the call hides it
  const clang::Stmt *body;      // of the function or lambda that it runs in
  const clang::Stmt *statement; // of `body` itself, where the call is one of its statements
  bool in_new_thread = false;
};

struct CurrentStream {
  const clang::CallExpr *expr;
  const clang::VarDecl *variable = nullptr; // that it initialises
  bool guarded = false;
  BlockPath path;
};

struct CudaWork {
  const clang::FunctionDecl *function = nullptr;
  bool touches_tensors = false;
  std::vector<Launch> launches;
  std::vector<WorkCall> calls;
  std::vector<SetDevice> sets;
  std::vector<CurrentStream> current_streams;
  llvm::DenseMap<const clang::VarDecl *, const clang::Expr *>
      initialisers;                              // of variables never written again
  std::vector<const clang::ValueDecl *> tensors; // parameters first
};

// The work of all functions of a translation unit.
class CudaProgram {
public:
  explicit CudaProgram(clang::ASTContext &context);

  // Shared by the checks on `context`, for as long as one of them holds it.
  static std::shared_ptr<CudaProgram> of(clang::ASTContext &context);

  const std::vector<CudaWork> &functions() const { return functions_; }
  const CudaWork *work(const clang::FunctionDecl *function) const;

  // Some caller in this file, or the function itself, has a tensor.
  bool servesTensors(const CudaWork &work) const;
  // It has callers in this file, and all of them set the device before the call.
  bool callersGuard(const CudaWork &work) const;
  // The launch that a call to this function without tensors comes to, with no guard on the way;
  // else null.
  const Launch *bareLaunch(const clang::FunctionDecl *function) const;

  // The default stream, seen through variables that keep it.
  static bool isDefaultStream(const clang::Expr *stream, const CudaWork &work);
  // The tensor whose memory a launch or call works on, as far as its arguments say; else any of the
  // function's.
  static const clang::ValueDecl *tensorOf(const clang::CallExpr *call, const CudaWork &work);

private:
  bool servesTensors(const CudaWork &work, unsigned depth) const;
  bool callersGuard(const CudaWork &work, unsigned depth) const;
  const Launch *bareLaunch(const clang::FunctionDecl *function, unsigned depth) const;

  struct Caller {
    const CudaWork *work;
    const WorkCall *call;
  };
  std::vector<CudaWork> functions_;
  llvm::DenseMap<const clang::FunctionDecl *, unsigned> index_;
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<Caller>> callers_;
};

// Sets the current device of the thread: cudaSetDevice, c10::cuda::set_device and kin.
bool setsDevice(const clang::CallExpr *call);
// The called function, also where the call is still a template's; null where it is not one
// function.
const clang::FunctionDecl *calledFunction(const clang::CallExpr *call);

} // namespace devsan::analyzer
