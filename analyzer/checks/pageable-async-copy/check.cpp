#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/host_copies.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

// A function that knows of pinned memory is left alone: it may choose it at run time.
bool knowsPinnedMemory(const FunctionDecl *function) {
  struct Visitor : AstVisitor {
    bool VisitCallExpr(CallExpr *call) override {
      const llvm::StringRef name = nameOf(calledFunction(call));
      found |= name == "pin_memory" || name == "pinned_memory" || name == "is_pinned" ||
               name == "cudaHostRegister";
      return !found;
    }
    bool found = false;
  } visitor;
  visitor.TraverseStmt(function->getBody());
  return visitor.found;
}

// Not an allocator of the project's own, which may give pinned memory.
bool usesHeap(const CXXRecordDecl *vector) {
  const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(vector);
  if (!specialization || specialization->getTemplateArgs().size() < 2)
    return false;
  const CXXRecordDecl *allocator =
      specialization->getTemplateArgs()[1].getAsType()->getAsCXXRecordDecl();
  return allocator && allocator->isInStdNamespace();
}

// The program's own memory that a tensor is laid over is pageable where a container or a variable
// holds it; a pointer may point to anything.
bool isOrdinaryMemory(const Expr *pointer) {
  pointer = strip(pointer);
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(pointer)) {
    const CXXRecordDecl *owner = call->getRecordDecl();
    return nameOf(call->getMethodDecl()) == "data" && owner && owner->isInStdNamespace() &&
           (owner->getName() == "array" || (owner->getName() == "vector" && usesHeap(owner)));
  }
  if (const auto *address = dyn_cast<UnaryOperator>(pointer))
    pointer = strip(address->getSubExpr());
  const auto *reference = dyn_cast<DeclRefExpr>(pointer);
  return reference && !reference->getType()->isPointerType() &&
         !reference->getType()->isReferenceType();
}

class PageableAsyncCopyCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    for (const Operation &operation : facts.operations) {
      const auto *call = dyn_cast<CallExpr>(operation.expr);
      if (!call || !isNonBlocking(call))
        continue;
      if (const std::optional<Copy> copy = pageableCopy(facts, operation, call);
          copy && !knowsPinnedMemory(facts.function) && firstAt(call))
        report(call, *copy);
    }
  }

private:
  struct Copy {
    const Expr *made; // the host's side
    Place from, to;
  };

  // Nothing where the host's side need not be pageable.
  static std::optional<Copy> pageableCopy(const FunctionFacts &facts, const Operation &operation,
                                          const CallExpr *call) {
    const Expr *receiver = receiverOf(call);
    if (!receiver)
      return std::nullopt;
    const Value own = facts.value(receiver);
    if (operation.kind == Operation::Kind::kMove)
      return copyBetween(own, own, operation.target);
    if (operation.name != "copy_" || call->getNumArgs() == 0)
      return std::nullopt;
    const Value other = facts.value(call->getArg(0));
    return copyBetween(own.place.maybeOffHost() ? other : own, other, own);
  }

  static std::optional<Copy> copyBetween(const Value &host, const Value &from, const Value &to) {
    const Expr *made = madePageable(host);
    if (!made || !(from.place.maybeOffHost() || to.place.maybeOffHost()))
      return std::nullopt;
    return Copy{made, from.place, to.place};
  }

  static const Expr *madePageable(const Value &value) {
    if (!value.place.onHost())
      return nullptr;
    const Expr *made = value.origin(Origin::Kind::kHostScalar);
    if (!made)
      made = value.origin(Origin::Kind::kFactory);
    const auto *call = dyn_cast_or_null<CallExpr>(made);
    if (call && nameOf(call->getDirectCallee()) == "from_blob" &&
        !isOrdinaryMemory(call->getArg(0)))
      return nullptr;
    return made;
  }

  void report(const CallExpr *call, const Copy &copy) {
    Diagnosis finding{.place = locationOf(call),
                      .message = "the copy blocks in spite of non_blocking: the host's side is in "
                                 "pageable memory",
                      .op = operatorName(call),
                      .from = copy.from.device(),
                      .to = copy.to.device()};
    if (lineOf(copy.made) != lineOf(call))
      finding.related.push_back({locationOf(copy.made), "made here, not pinned"});
    diagnose(std::move(finding));
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(PageableAsyncCopyCheck, pageable_async_copy)
