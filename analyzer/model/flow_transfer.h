// The interpreter behind analyseFunction: flow.cpp moves states through the graph,
// flow_transfer.cpp says what an expression does to them, flow_tensors.cpp what a tensor's
// operators do, flow_calls.cpp what any other call does, flow_refine.cpp what a condition tells,
// flow_unknown.cpp what is left to see where types are unknown, flow_modules.cpp follows which
// modules were moved and what was put into them afterwards.
#pragma once

#include "analyzer/model/flow.h"

#include <clang/AST/ExprCXX.h>

namespace devsan::analyzer {

// What is known of a variable or member that nothing has set yet.
Value defaultOf(const Path &path);

class Flow {
public:
  Flow(FlowFacts &facts, clang::ASTContext &context, const FlowOptions &options);
  // False where it gave up: the facts are not whole then.
  bool run(const clang::FunctionDecl *function, clang::Stmt *body, State entry);

private:
  // flow.cpp
  void transferBlock(const clang::CFGBlock &block);
  std::optional<State> stateAlong(const clang::CFGBlock &block, unsigned way,
                                  const clang::CFGBlock &next) const;
  void transfer(const clang::Stmt *statement);
  void declare(const clang::VarDecl *variable);
  void assign(const Path &path, const clang::Expr *value, const clang::Expr *at);
  Value load(const Path &path) const;
  std::optional<Path> path(const clang::Expr *expr) const;

  // flow_refine.cpp
  void refine(State &state, const clang::Expr *condition, bool truth) const;
  bool meansNoGpu(const clang::Expr *condition, bool truth) const;
  void refineEquality(State &state, const clang::Expr *left, const clang::Expr *right,
                      bool equal) const;
  void refineSwitch(State &state, const clang::SwitchStmt *branch, const clang::Stmt *label) const;
  void refineIndex(State &state, const clang::BinaryOperator *comparison, bool truth) const;
  void refineToHost(State &state, const clang::Expr *expr) const;
  void refineOffHost(State &state, const clang::Expr *expr) const;
  void refineToHost(State &state, const Path &named, const Place &known) const;
  const clang::Expr *resolveVariable(const clang::Expr *expr) const;
  void relyOnHost(const clang::Expr *tensor);
  void relyOnHostIn(const clang::Stmt *code);

  // flow_transfer.cpp
  Value evaluate(const clang::Expr *expr);
  Value evaluateConstruct(const clang::CXXConstructExpr *construct);
  Value evaluateDefault(const clang::CXXDefaultArgExpr *absent);
  Value evaluateBinary(const clang::BinaryOperator *binary);
  Value evaluateCall(const clang::CallExpr *call);
  Value evaluateTensorMethod(const clang::CallExpr *call, llvm::StringRef name,
                             const clang::Expr *receiver);
  Value evaluateFactory(const clang::Expr *call, llvm::StringRef name, const clang::Expr *receiver,
                        llvm::ArrayRef<const clang::Expr *> arguments);
  Value evaluateMove(const clang::CallExpr *call, llvm::StringRef name,
                     const clang::Expr *receiver);
  Value evaluateTorchFunction(const clang::CallExpr *call, llvm::StringRef name);
  Value evaluateDeviceMethod(const clang::CallExpr *call, llvm::StringRef name,
                             const clang::Expr *receiver);
  std::optional<Value> returnedBy(const clang::FunctionDecl *callee, const clang::CallExpr *call,
                                  const clang::Expr *receiver) const;
  Value evaluateLibraryMethod(const clang::CallExpr *call, llvm::StringRef name,
                              const clang::Expr *receiver);
  Value evaluateOther(const clang::CallExpr *call, llvm::StringRef name,
                      const clang::Expr *receiver);
  void forgetArguments(const clang::CallExpr *call, const clang::Expr *receiver);
  Value evaluateTensorOp(const clang::CallExpr *call, llvm::StringRef name,
                         const clang::Expr *receiver);
  Value evaluateGather(const clang::CallExpr *call);
  void addIndex(Value &device, const clang::Expr *index) const;
  bool namesUnknownDevice(llvm::ArrayRef<const clang::Expr *> arguments) const;
  Value together(llvm::ArrayRef<const clang::Expr *> parts) const;
  std::optional<Value> constantDevice(const clang::Expr *expr) const;
  std::optional<Value> deviceAmong(llvm::ArrayRef<const clang::Expr *> arguments) const;
  std::vector<Path> sameTensors(const Path &container) const;
  void insert(const Path &container, const Value &element);
  // Pointers whose address is given away, or that are taken by reference, may point elsewhere then,
  // and text may name another device.
  void forgetPointers(const clang::CallExpr *call, const clang::FunctionDecl *callee);
  void write(const clang::Expr *target, const Value &value);
  void recordReturn(const clang::Expr *result);
  void record(Operation operation);
  std::vector<Operand> argumentsWithPlace(const clang::CallExpr *launch) const;
  std::vector<Operand> tensorOperands(const clang::Expr *receiver,
                                      llvm::ArrayRef<const clang::Expr *> arguments) const;

  // flow_unknown.cpp
  std::optional<Place> placeOfUnknown(const clang::Expr *expr, unsigned steps) const;
  // The value, where the compiler left open what is meant.
  std::optional<Value> evaluateUnresolved(const clang::Expr *expr);
  void recordUnknownCall(const clang::RecoveryExpr *call);
  void recordUnknownRead(const clang::CallExpr *call);
  std::optional<Value> evaluateUnknownMethod(const clang::CallExpr *call);
  std::optional<Value> numberedDevice(const clang::Expr *expr) const;

  // flow_modules.cpp
  Value newModule(const clang::Expr *expr, llvm::ArrayRef<const clang::Expr *> arguments);
  bool moduleCall(const clang::CallExpr *call, llvm::StringRef name, const clang::Expr *receiver,
                  Value &result);
  void moveModule(const Path &module, const Place &place, const clang::Expr *at);
  void putPart(const Path &module, const Path &part, const clang::Expr *part_value,
               const clang::Expr *at);
  void replaceByAssignment(const Path &path, const clang::Expr *value);
  bool loadCall(const clang::CallExpr *call, llvm::StringRef name, Value &result);
  void loadInto(const clang::CallExpr *call);
  std::set<Code> forgetLoaded(const clang::Expr *expr);
  void callWithModules(const clang::CallExpr *call, const clang::Expr *receiver);

  FlowFacts &facts_;
  clang::ASTContext &context_;
  const FlowOptions &options_;
  State state_;
  std::vector<std::pair<const clang::LambdaExpr *, State>> lambdas_;
  bool recording_ = false; // the last pass, with all states settled
  bool in_lambda_ = false;
  bool constants_known_ = false; // which branches they close
  bool first_visit_ = false;
  std::map<Code, std::vector<Operand>> first_turns_;
  // Numbers and truths that are never written again, made when first asked for.
  mutable std::optional<llvm::DenseMap<const clang::VarDecl *, const clang::Expr *>> constants_;
  std::size_t budget_; // of work left, shared with the lambdas inside
};

} // namespace devsan::analyzer
