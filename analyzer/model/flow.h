// The facts of one function: a forward dataflow over clang's CFG that follows tensors, devices,
// options and modules through variables, members and calls. It records what happened as Operations,
// in the order of the code; checks read those and judge. Nothing here knows a rule.
#pragma once

#include "analyzer/model/value.h"

#include <clang/AST/ASTContext.h>
#include <clang/Analysis/CFG.h>
#include <llvm/ADT/DenseMap.h>

#include <functional>
#include <map>
#include <set>

namespace devsan::analyzer {

struct Operand {
  const clang::Expr *expr;
  Value value;
};

llvm::SmallVector<Value, 4> valuesOf(llvm::ArrayRef<Operand> operands);

struct Operation {
  enum class Kind {
    kMove,     // x.to(device), x.cuda(), x.cpu()
    kFactory,  // zeros(…, options); `target` is what the options name
    kTensorOp, // any other operator or method of tensors, with its tensor operands (the receiver
               // first)
    kModule,   // a module called with tensors
    kReturn,   // operands: what is returned, element by element
    kGather,   // a collective filling operands[0] from operands[1]
    kCall,     // a function of the program, or one that is not declared, called with tensors
    kAssign,   // a variable or member set; operands[0] is the new value
    kLaunch,   // of a kernel, or of a function with a stream that does: operands are the arguments
               // that lie somewhere, as pointers do
    kWait,     // cudaDeviceSynchronize() and kin: the host waits, whatever the data
  };
  Kind kind;
  const clang::Expr *expr; // kReturn: the returned expression
  llvm::StringRef name;    // of the function or method
  const clang::Expr *receiver = nullptr;
  Value target; // kMove, kFactory: the device asked for
  std::vector<Operand> operands;
  Value result;
  std::optional<Path> path; // kAssign: what was set; others: the receiver, where it is a variable
  bool in_lambda = false;   // kReturn: of a lambda in the function
  // kTensorOp, kModule in a loop: the operands as they are on its first turn, where that differs.
  std::vector<Operand> first_turn = {};
};

// A part put into a module after the module had been moved to a device.
struct ReplacedPart {
  const clang::Expr *expr;  // the replacement
  const clang::Expr *moved; // the earlier .to(); null where a caller moved it
  Path module;
  Path part;
  std::optional<Path> source;         // the variable the part came from
  bool loaded = false;                // parameters read from a file rather than a new part
  const clang::Expr *inner = nullptr; // for a call: the replacement inside the callee

  bool operator<(const ReplacedPart &other) const { return expr < other.expr; }
  bool operator==(const ReplacedPart &other) const {
    return expr == other.expr && part == other.part;
  }
};

struct State {
  std::map<Path, Value> values;
  std::map<Path, const clang::Expr *> moved; // modules, and the .to() that moved them
  std::set<ReplacedPart> replaced;
  std::set<std::pair<Path, Path>> same; // variables found to be on one device, the lesser first
  bool reached = false;

  bool operator==(const State &) const = default;
};

class FunctionFacts {
public:
  const clang::FunctionDecl *function = nullptr;
  std::vector<Operation> operations;
  State exit;                                // joined over all returns
  std::set<const clang::Expr *> moved_later; // replacements that some path moves afterwards
  std::set<const clang::Expr *> moved_loads; // loads into modules that some path moves afterwards

  // What `expr` evaluates to; a default Value where nothing is known.
  Value value(const clang::Expr *expr) const;
  // The variable or member that `expr` names, through references, holders and smart pointers.
  std::optional<Path> path(const clang::Expr *expr) const;

private:
  friend class Flow;
  llvm::DenseMap<const clang::Expr *, Value> values_;
  llvm::DenseMap<const clang::ValueDecl *, Path> aliases_;
};

// Asks what a callee in the same file leaves unmoved of a module that was moved before the call: of
// its object, or of the argument with that index.
using ReplacedByCallee = std::function<const clang::Expr *(const clang::FunctionDecl *callee,
                                                           std::optional<unsigned> argument)>;

// What a function in the same file returns, in terms of its own parameters; null where that is not
// known.
using ReturnedByCallee = std::function<const Value *(const clang::FunctionDecl *callee)>;

// Whether a function in the same file returns only where that parameter is on the host.
using HostCheckedByCallee =
    std::function<bool(const clang::FunctionDecl *callee, unsigned parameter)>;

struct FlowOptions {
  std::optional<Path> assume_moved; // a module that the caller has moved
  ReplacedByCallee replaced_by_callee;
  ReturnedByCallee returned_by_callee;
  HostCheckedByCallee host_checked_by_callee;
  std::vector<Path> on_host; // what holds the host's data when the function begins
};

// Null where the function has no body or no control-flow graph, or is too large to be followed in
// the time that a user waits for an answer.
std::unique_ptr<FunctionFacts> analyseFunction(const clang::FunctionDecl *function,
                                               clang::ASTContext &context,
                                               const FlowOptions &options);

} // namespace devsan::analyzer
