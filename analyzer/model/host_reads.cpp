#include "analyzer/model/host_reads.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

// The pointer that `p + n` and `p - n` count from.
const Expr *baseOf(const Expr *pointer) {
  pointer = strip(pointer);
  while (const auto *offset = dyn_cast<BinaryOperator>(pointer)) {
    if (!offset->isAdditiveOp() || !offset->getType()->isPointerType())
      break;
    pointer =
        strip(offset->getLHS()->getType()->isPointerType() ? offset->getLHS() : offset->getRHS());
  }
  return pointer;
}

const CXXMemberCallExpr *pointerOf(const Expr *expr) {
  const auto *call = dyn_cast<CXXMemberCallExpr>(baseOf(expr));
  if (!call || !call->getMethodDecl() || !isTensor(call->getObjectType()))
    return nullptr;
  const llvm::StringRef name = nameOf(call->getMethodDecl());
  return name.ends_with("data_ptr") || name == "accessor" || name == "data" ? call : nullptr;
}

// Functions of C's and C++'s libraries that follow the pointers they are given.
bool readsOnHost(const FunctionDecl *callee) {
  if (!callee || isTorchDecl(callee) || !(callee->isExternC() || isLibraryDecl(callee)))
    return false;
  return llvm::StringSwitch<bool>(nameOf(callee))
      .Cases({"memcpy", "memmove", "memset", "memcmp", "fwrite", "fread", "write", "read"}, true)
      .Cases({"copy", "copy_n", "fill", "fill_n", "transform", "for_each", "equal", "iota"}, true)
      .Cases(
          {"accumulate", "reduce", "inner_product", "sort", "max_element", "min_element", "assign"},
          true)
      .Default(false);
}

// std::vector<float>(p, p + n), std::string(p, n): a container of the library's that copies what is
// there.
bool copiesOnHost(const CXXConstructExpr *construct) {
  const CXXRecordDecl *record = construct->getConstructor()->getParent();
  return record->isInStdNamespace() && construct->getNumArgs() > 1 &&
         construct->getArg(0)->getType()->isPointerType() &&
         llvm::StringSwitch<bool>(record->getName())
             .Cases({"vector", "deque", "list", "forward_list", "basic_string", "valarray"}, true)
             .Cases({"set", "multiset", "unordered_set", "unordered_multiset"}, true)
             .Default(false);
}

class HostReadCollector : public AstVisitor {

public:
  std::vector<HostRead> found;

  explicit HostReadCollector(const FunctionDecl *function) { TraverseStmt(function->getBody()); }

  bool VisitVarDecl(VarDecl *variable) override {
    if (variable->getInit())
      set(variable, variable->getInit());
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    const auto *target = op->getOpcode() == BO_Assign
                             ? dyn_cast<DeclRefExpr>(op->getLHS()->IgnoreParens())
                             : nullptr;
    if (const auto *variable = target ? dyn_cast<VarDecl>(target->getDecl()) : nullptr)
      set(variable, op->getRHS());
    return true;
  }

  bool VisitArraySubscriptExpr(ArraySubscriptExpr *element) override {
    follow(element->getBase(), element);
    return true;
  }
  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *op) override {
    if (op->getOperator() == OO_Subscript)
      follow(op->getArg(0), op);
    return true;
  }
  bool TraverseUnaryOperator(UnaryOperator *op, DataRecursionQueue * = nullptr) override {
    if (op->getOpcode() == UO_Deref)
      follow(op->getSubExpr(), op);
    if (op->getOpcode() == UO_AddrOf)
      if (auto *element = dyn_cast<ArraySubscriptExpr>(op->getSubExpr()->IgnoreParens()))
        return TraverseStmt(element->getIdx());
    return AstVisitor::TraverseUnaryOperator(op);
  }
  bool TraverseUnaryExprOrTypeTraitExpr(UnaryExprOrTypeTraitExpr *,
                                        DataRecursionQueue * = nullptr) override {
    return true;
  }
  bool TraverseLambdaExpr(LambdaExpr *lambda, DataRecursionQueue * = nullptr) override {
    return lambda->getCallOperator()->hasAttr<CUDADeviceAttr>() || TraverseStmt(lambda->getBody());
  }

  bool VisitCallExpr(CallExpr *call) override {
    if (!readsOnHost(call->getDirectCallee()) || isa<CXXOperatorCallExpr>(call))
      return true;
    for (const Expr *argument : call->arguments()) {
      const Expr *pointer = strip(argument);
      if (const auto *address = dyn_cast<UnaryOperator>(pointer);
          address && address->getOpcode() == UO_AddrOf)
        if (const auto *element =
                dyn_cast<ArraySubscriptExpr>(address->getSubExpr()->IgnoreParens()))
          pointer = element->getBase();
      follow(pointer, call);
    }
    return true;
  }

  bool VisitCXXConstructExpr(CXXConstructExpr *construct) override {
    if (copiesOnHost(construct))
      follow(construct->getArg(0), construct);
    return true;
  }

private:
  // A variable that is set twice, to different tensors' memory, is not followed.
  void set(const VarDecl *variable, const Expr *value) {
    const CXXMemberCallExpr *pointer = pointerOf(value);
    const auto [known, is_new] = pointers_.try_emplace(variable, pointer);
    if (!is_new)
      known->second = nullptr;
  }

  void follow(const Expr *base, const Expr *access) {
    const CXXMemberCallExpr *pointer = pointerOf(base);
    if (const auto *reference = dyn_cast<DeclRefExpr>(baseOf(base)))
      if (const auto *variable = dyn_cast<VarDecl>(reference->getDecl()))
        pointer = pointers_.lookup(variable);
    if (pointer &&
        llvm::none_of(found, [&](const HostRead &read) { return read.pointer == pointer; }))
      found.push_back({pointer, pointer->getImplicitObjectArgument(), access});
  }

  llvm::DenseMap<const VarDecl *, const CXXMemberCallExpr *> pointers_;
};

} // namespace

std::vector<HostRead> hostReads(const FunctionDecl *function) {
  return std::move(HostReadCollector(function).found);
}

} // namespace devsan::analyzer
