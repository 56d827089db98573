// The device model of one translation unit, shared by all checks that run on it: facts per
// function, computed when first asked for, and what needs to see several functions, such as which
// code runs on every step. One thread at a time.
#pragma once

#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/data/host_data.h"
#include "analyzer/model/file_scan.h"
#include "analyzer/model/flow.h"

#include <memory>

namespace devsan::analyzer {

class DeviceModel {
public:
  explicit DeviceModel(clang::ASTContext &context);

  // The model that the checks on `context` share; it lives as long as one of them holds it.
  static std::shared_ptr<DeviceModel> of(clang::ASTContext &context);

  clang::ASTContext &context() { return context_; }

  // Facts of a function of the program; null for library code, lambdas (part of their function) and
  // what has no body. With what its callers in this file and its class tell of its data.
  const FunctionFacts *facts(const clang::FunctionDecl *function);
  // Without that: what the function alone says. What is asked while others are computed is this, in
  // whichever order that happens.
  const FunctionFacts *ownFacts(const clang::FunctionDecl *function);
  const FileScan &scan();
  // Where parameters, members and results of the file get their data from.
  const FileData &data();

  // Why `statement` of `function` runs on every step: "in a loop", "in 'forward'", "in
  // 'safeDivide', which 'update' calls". Empty where it does not, or only every so many steps.
  std::string everyStep(const clang::Stmt *statement, const clang::FunctionDecl *function);
  // Where the file does not tell that it does: the functions that other files may call or register
  // so that it does, which are `function` and those of the file that call it.
  llvm::SmallVector<const clang::FunctionDecl *, 2>
  possibleSteps(const clang::Stmt *statement, const clang::FunctionDecl *function);
  // The same for a function as a whole: "in 'forward'".
  std::string stepOf(const clang::FunctionDecl *function);
  // It runs again only because a caller in this file calls it in a loop, as main() calls what does
  // an epoch.
  bool isLoopBody(const clang::FunctionDecl *function);
  // `copy` brings the host what a module computed in this step, which trains nothing, and the rest
  // of the step, also in those who call `function` in this file, asks nothing of the device.
  bool endsInference(const clang::Expr *copy, const clang::FunctionDecl *function);
  // The host waits there to measure how long the device takes.
  bool besideClock(const clang::Stmt *statement);
  // The innermost loop around `statement` in its function.
  const clang::Stmt *loopAround(const clang::Stmt *statement);

  // A guard that sets the current device is live at `statement`, or wherever this file calls
  // `function`.
  bool guarded(const clang::Stmt *statement, const clang::FunctionDecl *function);
  // Autograd is off at `statement`.
  bool gradOff(const clang::Stmt *statement);
  // The user said that waiting is meant: a devsan::AllowSync lives there.
  bool syncAllowed(const clang::Stmt *statement);

  // Something in the file deals with devices: names one, keeps one, calls their runtime.
  bool knowsDevices();
  // Nothing does, and main() is here: all that the program has is on the host.
  bool programWithoutDevices();
  // Nothing does, and the file reads tensors' memory on the host: a CPU implementation.
  bool hostOnly();

  // Classes whose state lives across steps: torch::nn::Module's, and metrics, with update() on
  // tensors.
  static bool isStateful(const clang::CXXRecordDecl *record);
  static bool isMetric(const clang::CXXRecordDecl *record);

  const clang::Expr *replacedByCallee(const clang::FunctionDecl *callee,
                                      std::optional<unsigned> argument);

  // A step by itself: forward() of a module or autograd function, update(), train_step().
  static bool isStep(const clang::FunctionDecl *function);
  // Code that a program runs whenever it uses the library: operators registered with TORCH_LIBRARY
  // or pybind11, functions that apply an autograd::Function, and host code that launches kernels on
  // tensors.
  bool isOperator(const clang::FunctionDecl *function);
  // It is run each time that `function` is, not every so many times or only once.
  bool onEachRun(const clang::Stmt *statement, const clang::FunctionDecl *function) {
    return stepWithin(statement, function).has_value();
  }
  // The same of each turn of the loop around it, where none is the last.
  bool onEachTurn(const clang::Stmt *statement, const clang::FunctionDecl *function) {
    const std::optional<std::string> within = stepWithin(statement, function);
    return within && !within->empty();
  }
  llvm::ArrayRef<FileScan::Caller> callersOf(const clang::FunctionDecl *function) {
    const auto found = scan().callers.find(function->getCanonicalDecl());
    return found == scan().callers.end() ? llvm::ArrayRef<FileScan::Caller>()
                                         : llvm::ArrayRef<FileScan::Caller>(found->second);
  }
  // Registered for host tensors only: TORCH_LIBRARY_IMPL(…, CPU, …).
  bool runsOnHost(const clang::FunctionDecl *function);

private:
  enum class SetUp { kDeviceGuard, kGradOff, kSyncAllowed };
  // Why a function runs on every step, and whether only a loop of a caller says so.
  struct Step {
    std::string why;
    bool by_loop = false;
  };
  bool isLoop(const clang::Stmt *statement);
  bool isEvaluation(const clang::Stmt *loop);
  // The mode that modules were put into last before `statement`, in a block around it.
  std::optional<bool> trainingMode(const clang::Stmt *statement);
  // What is known of the step that ends with a copy.
  struct Ending {
    bool follows_model = false; // the copy is of what a module computed
    bool evaluates = false;
    bool may_train = false; // as far as this file shows
  };
  bool endsInference(const clang::Expr *copy, const clang::FunctionDecl *function, Ending ending,
                     int depth);
  bool worksOnDevice(const Operation &operation, const FunctionFacts &facts);
  bool worksOnDevice(const clang::FunctionDecl *callee);
  bool learns(const clang::FunctionDecl *function); // calls backward(), or steps an optimizer
  // "in a loop" of the function, empty for no loop; nothing where it runs only every so many steps.
  std::optional<std::string> stepWithin(const clang::Stmt *statement,
                                        const clang::FunctionDecl *function);
  Step functionStep(const clang::FunctionDecl *function, int depth);
  const Value *returnedByCallee(const clang::FunctionDecl *callee);
  bool hostCheckedByCallee(const clang::FunctionDecl *callee, unsigned parameter);
  const FunctionFacts *factsOfCallee(const clang::FunctionDecl *callee);
  FlowOptions flowOptions(const clang::FunctionDecl *function);
  bool setUpBefore(const clang::Stmt *statement, SetUp what);
  const clang::Stmt *firstSetUp(const clang::CompoundStmt *block, SetUp what);

  clang::ASTContext &context_;
  ConstantConditions constants_{context_};
  std::shared_ptr<CudaProgram> cuda_;
  // By what the function itself says, and where others say more, by that too.
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<FunctionFacts>> own_facts_;
  llvm::DenseMap<const clang::FunctionDecl *, std::unique_ptr<FunctionFacts>> facts_;
  std::optional<FileData> data_;
  std::optional<HostData> host_data_;
  std::optional<FileScan> scan_;
  std::map<const clang::FunctionDecl *, std::optional<Value>> returned_;
  llvm::DenseMap<std::pair<const clang::CompoundStmt *, int>, const clang::Stmt *> set_up_;
  llvm::DenseMap<const clang::FunctionDecl *, bool> works_on_device_, learns_;
  llvm::DenseMap<const clang::Stmt *, bool> loops_;
  std::set<const clang::FunctionDecl *> asking_, computing_;
};

} // namespace devsan::analyzer
