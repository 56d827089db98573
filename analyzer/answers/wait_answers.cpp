// Whether a wait of the host finds nothing left to wait for.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// Of an object of the program: what its methods do may be work for a device.
bool mayCompute(const CXXRecordDecl *record) {
  if (!record || !(record = record->getDefinition()))
    return true;
  if (derivesFromModule(record))
    return true;
  const auto computes = [](const FieldDecl *field) {
    const QualType type = field->getType().getNonReferenceType();
    const CXXRecordDecl *of_field =
        type->isPointerType() ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
    return holdsTensor(type) || isModule(type) || (of_field && isLibraryDecl(of_field));
  };
  return llvm::any_of(record->fields(), computes) ||
         llvm::any_of(record->bases(), [](const CXXBaseSpecifier &base) {
           return mayCompute(base.getType()->getAsCXXRecordDecl());
         });
}

bool takesData(const Expr *argument) {
  const QualType type = argument->getType().getNonReferenceType();
  return holdsTensor(type) || isModule(type);
}

// What a tensor gives without a computation: its size, a view, a value that was computed before.
bool isAtHand(const FunctionDecl *method) {
  const std::string name = method->getNameAsString();
  if (holdsTensor(method->getReturnType().getNonReferenceType()))
    return givesView(name) || name == "cpu";
  return name == "item" || (!method->getReturnType()->isVoidType() && !readsData(name));
}

// Whether a call gives the device something to do, other than to hand a result to the host.
bool givesWork(const CallExpr *call) {
  const FunctionDecl *callee = call->getDirectCallee();
  if (!callee || isa<CUDAKernelCallExpr>(call))
    return true;
  const auto *method = dyn_cast<CXXMethodDecl>(callee);
  const auto *member_call = dyn_cast<CXXMemberCallExpr>(call);
  const Expr *object = member_call ? member_call->getImplicitObjectArgument() : nullptr;
  if (method && isTensor(method->getFunctionObjectParameterType()))
    return !isAtHand(callee) ||
           llvm::any_of(llvm::drop_begin(call->arguments(), object ? 0 : 1), takesData);
  if (callee->getOverloadedOperator() == OO_LessLess) // prints it
    return false;
  if (llvm::any_of(call->arguments(), takesData))
    return true;
  if (isLibraryDecl(callee))
    return !method || !method->isConst() || derivesFromModule(method->getParent());
  return object && !callee->isInStdNamespace() && mayCompute(method->getParent());
}

const Stmt *parentStatement(ASTContext &context, const Stmt *part) {
  DynTypedNodeList parents = context.getParents(*part);
  if (!parents.empty() && parents[0].get<VarDecl>())
    parents = context.getParents(parents[0]);
  return parents.empty() ? nullptr : parents[0].get<Stmt>();
}

// The statement of a block that `part` is in, where it runs whenever the block does.
const Stmt *statementAround(ASTContext &context, const Stmt *part) {
  while (true) {
    const Stmt *parent = parentStatement(context, part);
    if (!parent)
      return nullptr;
    if (isa<CompoundStmt>(parent))
      return part;
    const auto *binary = dyn_cast<BinaryOperator>(parent);
    if (isa<LambdaExpr, ForStmt, CXXForRangeStmt, WhileStmt, DoStmt, SwitchStmt,
            AbstractConditionalOperator, CXXTryStmt>(parent) ||
        (binary && binary->isLogicalOp() && part != binary->getLHS()))
      return nullptr;
    if (const auto *branch = dyn_cast<IfStmt>(parent); branch && part != branch->getCond())
      return nullptr;
    part = parent;
  }
}

} // namespace

bool SourceProgram::isDrained(Code earlier, Code later) {
  const SourceManager &sources = context().getSourceManager();
  const auto isBefore = [&](const Stmt *one, const Stmt *other) {
    return sources.isBeforeInTranslationUnit(one->getEndLoc(), other->getEndLoc());
  };
  const Expr *first = exprOf(earlier), *second = exprOf(later);
  const Stmt *begin = statementAround(context(), first);
  if (!begin || !isBefore(first, second))
    return false;
  const auto *block = cast<CompoundStmt>(parentStatement(context(), begin));
  const Stmt *end = second;
  while (const Stmt *parent = parentStatement(context(), end)) {
    if (parent == block)
      break;
    end = parent;
  }
  const auto is_work = [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    return call && call != second && isBefore(first, call) && !isBefore(second, call) &&
           givesWork(call);
  };
  for (const Stmt *const *between = llvm::find(block->body(), begin); between != block->body_end();
       ++between) {
    if (contains(*between, is_work))
      return false;
    if (*between == end)
      return true;
  }
  return false;
}

} // namespace devsan::analyzer
