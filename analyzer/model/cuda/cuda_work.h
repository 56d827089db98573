// The CUDA work of one function, in the order of its source: what it launches, on which stream,
// which device is current there, and whom it calls. Checks on launches, streams and the current
// device read this; nothing here knows a rule.
//
// Templates are read as they are written: what a launch looks like rarely depends on a parameter,
// and an instantiation would only repeat it. Bodies of lambdas count as part of their function,
// because dispatch macros put launches there.
#pragma once

#include "analyzer/ast/cuda_api.h"
#include "analyzer/facts/cuda_facts.h"
#include "analyzer/model/cuda/block_path.h"
#include "analyzer/model/handles.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/Decl.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/Stmt.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>

#include <memory>
#include <string>
#include <vector>

namespace devsan::analyzer {

struct Launch {
  using Kind = LaunchKind;
  Kind kind;
  const clang::Expr *expr; // a call; a RecoveryExpr where its parts could not be resolved
  const clang::Expr *stream = nullptr; // null where none is given
  bool stream_known = true;            // false where it hides in a structure
  bool guarded = false;                // the current device has been set here
  bool own_guard = false;              // by a guard of this function
  bool in_new_thread = false;          // which starts on a device of its own
  BlockPath path;
};

struct WorkCall {
  const clang::CallExpr *expr;
  const clang::FunctionDecl *callee;
  bool guarded = false;
  bool in_new_thread = false;
  BlockPath path;
};

// A stream goes to a function that this file does not know and that is told no device and given no
// tensor: it can only put its work on the stream.
struct HandedStream {
  const clang::Expr *expr;
  bool unresolved = false; // no other file is going to tell what it does
  bool guarded = false;
  bool in_new_thread = false;
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
  const clang::VarDecl *variable = nullptr; // that it initialises, where no device is named
  bool guarded = false;
  BlockPath path;
};

// Something that only the current device decides: its properties, its library handles.
struct DeviceQuery {
  const clang::CallExpr *expr;
  bool guarded = false;
  const clang::Expr *guard_device = nullptr; // of the guard that comes too late for it
  BlockPath path;
};

// Memory, an event, a handle that is made on whatever device is current.
struct MadeOnCurrent {
  const clang::Expr *expr;
  BlockPath path;
};

struct CudaWork {
  const clang::FunctionDecl *function = nullptr;
  bool touches_tensors = false;
  std::vector<Launch> launches;
  std::vector<WorkCall> calls;
  std::vector<HandedStream> handed_streams;
  std::vector<DeviceQuery> queries;
  std::vector<MadeOnCurrent> made_on_current; // where no guard is live
  std::vector<SetDevice> sets;
  std::vector<CurrentStream> current_streams;
  llvm::DenseMap<const clang::VarDecl *, const clang::Expr *>
      initialisers; // of variables never written again
  llvm::DenseMap<const clang::VarDecl *, llvm::SmallVector<const clang::Expr *, 2>>
      stream_values;     // all that a local stream variable is ever set to
  bool in_guard = false; // a method of a class that holds a guard
  llvm::DenseSet<const clang::Stmt *> under_guard; // expressions
  llvm::SmallVector<std::pair<const clang::ParmVarDecl *, bool>, 2>
      called_parameters; // and whether a guard is live there
  llvm::SmallVector<std::pair<const clang::FunctionDecl *, bool>, 4>
      named_functions;                           // and whether a new thread runs them
  std::vector<const clang::ValueDecl *> tensors; // parameters first
};

// What calls of the program's functions do to the current device.
struct DeviceHelpers {
  llvm::SmallPtrSet<const clang::FunctionDecl *, 8> setters; // they set it, and it stays so
  // They call these parameters under a guard only: `template <class F> void onDeviceOf(x, F f)`.
  llvm::SmallPtrSet<const clang::ParmVarDecl *, 4> guarded_callbacks;
};

// The function as it is written, of which it may be an instantiation.
const clang::FunctionDecl *writtenFunction(const clang::FunctionDecl *function);
// The same, and what a call in a template may mean instead: explicit specialisations of what it
// names.
llvm::SmallVector<const clang::FunctionDecl *, 2>
possibleCallees(const clang::FunctionDecl *callee);
CudaWork collectWork(const clang::FunctionDecl *function, const DeviceHelpers &helpers);

// The work of all functions of a translation unit.
class CudaProgram {
public:
  explicit CudaProgram(clang::ASTContext &context);

  // Shared by the checks on `context`, for as long as one of them holds it.
  static std::shared_ptr<CudaProgram> of(clang::ASTContext &context);

  const std::vector<CudaWork> &functions() const { return functions_; }
  const CudaWork *work(const clang::FunctionDecl *function) const;

  // Some caller in this file, or the function itself, has a tensor; or its callers are elsewhere,
  // in a program that uses LibTorch.
  bool servesTensors(const CudaWork &work) const;
  // The file knows nothing of LibTorch, but others of the program may, and come to the function.
  bool mayServeOthers(const CudaWork &work) const;
  // Autograd's engine calls a backward, after it set the device and the stream of the forward's
  // result.
  static bool isCalledByEngine(const clang::FunctionDecl *function);
  // It has callers in this file, or autograd's engine calls it, and all of them set the device
  // before the call.
  bool callersGuard(const CudaWork &work) const;
  // Nothing but new threads runs the function, as far as this file shows.
  bool isThreadEntry(const CudaWork &work) const;
  // The launch that a call to this function without tensors comes to, with no guard on the way, or
  // the unresolved call that works on the stream it was given; else null.
  const clang::Expr *bareLaunch(const clang::FunctionDecl *function) const;

  // The default stream, seen through variables that keep it.
  static bool isDefaultStream(const clang::Expr *stream, const CudaWork &work);
  // The tensors whose memory a launch or call is given: as arguments, not as sizes of something,
  // nor in the launch's configuration.
  static llvm::SmallVector<const clang::ValueDecl *, 4> tensorsOf(const clang::Expr *call,
                                                                  const CudaWork &work);
  // The first of them, variables before members; else one that is mentioned, else any of the
  // function's.
  static const clang::ValueDecl *tensorOf(const clang::Expr *call, const CudaWork &work);

private:
  // Each for all functions at once, along the calls: functions of a large library call each other
  // in more ways than can be followed one by one.
  void findServants();
  void findBareLaunches();
  void findGuarded();
  void findThreadEntries();
  // The functions of which everything that `needs` counts comes to hold, however far it has to be
  // followed; those that only wait for each other are none of them.
  llvm::DenseSet<const clang::FunctionDecl *>
  settled(llvm::DenseMap<const clang::FunctionDecl *, unsigned> needs,
          llvm::function_ref<void(const CudaWork &,
                                  llvm::function_ref<void(const clang::FunctionDecl *)>)>
              gives) const;

  struct Caller {
    const CudaWork *work;
    const WorkCall *call;
  };
  struct FunctionReference {
    const CudaWork *work;
    bool in_new_thread;
  };
  std::vector<CudaWork> functions_;
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<FunctionReference>> namings_;
  llvm::DenseMap<const clang::FunctionDecl *, unsigned> index_;
  llvm::DenseMap<const clang::FunctionDecl *, std::vector<Caller>> callers_;
  llvm::DenseSet<const CudaWork *> servants_;
  llvm::DenseMap<const CudaWork *, const clang::Expr *> bare_launches_;
  llvm::DenseSet<const clang::FunctionDecl *> guarded_, thread_entries_;
  bool sees_torch_ = false;
};

} // namespace devsan::analyzer
