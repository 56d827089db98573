// Whether a wait of the host finds nothing left to wait for.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/parents.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/operators.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kMaxDepth = 2;            // of members in members
constexpr std::size_t kMaxBetween = 64; // statements from one wait to the next

bool mayCompute(QualType type, int depth = 0);

// By what it holds: `std::vector<Agent>`, `std::function<void()>`.
bool mayComputeStd(const CXXRecordDecl *record, int depth) {
  const auto *holder = dyn_cast<ClassTemplateSpecializationDecl>(record);
  return holder &&
         llvm::any_of(holder->getTemplateArgs().asArray(), [&](const TemplateArgument &held) {
           return held.getKind() == TemplateArgument::Type &&
                  mayCompute(held.getAsType(), depth + 1);
         });
}

// Whether what is of a type may be work for a device, or hold what does it.
bool mayCompute(QualType type, int depth) {
  type = type.getNonReferenceType().getUnqualifiedType();
  if (type->isArithmeticType() || type->isEnumeralType())
    return false;
  if (holdsTensor(type) || isModule(type) || depth > kMaxDepth)
    return true;
  if (type->isPointerType()) {
    const QualType pointee = type->getPointeeType();
    return !pointee->isCharType() && // a text; others may be memory of the device
           (pointee->isArithmeticType() || mayCompute(pointee, depth + 1));
  }
  if (type->isArrayType())
    return mayCompute(QualType(type->getArrayElementTypeNoTypeQual(), 0), depth + 1);
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  record = record ? record->getDefinition() : nullptr;
  if (!record || record->isLambda() || isLibraryDecl(record) || derivesFromModule(record))
    return true;
  if (record->isEmpty())
    return false; // an allocator
  if (record->isInStdNamespace())
    return mayComputeStd(record, depth);
  return llvm::any_of(
             record->fields(),
             [&](const FieldDecl *field) { return mayCompute(field->getType(), depth + 1); }) ||
         llvm::any_of(record->bases(), [&](const CXXBaseSpecifier &base) {
           return mayCompute(base.getType(), depth + 1);
         });
}

QualType pointedTo(QualType type) {
  type = type.getNonReferenceType();
  return type->isPointerType() ? type->getPointeeType() : type;
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

// A call that takes what was read, and nothing else that matters: `meter.add(loss.item())`. Where
// it is not resolved, as a header is missing, its name tells nothing.
bool consumes(llvm::ArrayRef<const Expr *> arguments) {
  return llvm::none_of(arguments, [](const Expr *argument) {
    return !argument || argument->isTypeDependent() || mayCompute(argument->getType());
  });
}

// What only hands on data that it holds: an IValue, a tuple of these.
bool holdsValues(const CXXRecordDecl *record) {
  const auto *space = dyn_cast<NamespaceDecl>(record->getEnclosingNamespaceContext());
  return record->getName() == "IValue" || (space && space->getName() == "ivalue");
}

// Whether a call gives the device something to do, other than to hand a result to the host.
bool givesWork(const CallExpr *call, bool takes_read) {
  const FunctionDecl *callee = call->getDirectCallee();
  const llvm::ArrayRef<const Expr *> arguments(call->getArgs(), call->getNumArgs());
  if (isa<CUDAKernelCallExpr>(call))
    return true;
  if (!callee)
    return !takes_read || !call->getCallee()->isTypeDependent() || !consumes(arguments);
  const auto *method = dyn_cast<CXXMethodDecl>(callee);
  const auto *member_call = dyn_cast<CXXMemberCallExpr>(call);
  const Expr *object = member_call ? member_call->getImplicitObjectArgument() : nullptr;
  const Expr *receiver = object                           ? object
                         : isa<CXXOperatorCallExpr>(call) ? call->getArg(0)
                                                          : nullptr;
  if (method && method->isInstance() && receiver && isTensor(pointedTo(receiver->getType())))
    return !isAtHand(callee) || llvm::any_of(arguments.drop_front(!object), takesData);
  if (callee->getOverloadedOperator() == OO_LessLess) // prints it
    return false;
  if (isLibraryDecl(callee) && method && holdsValues(method->getParent()))
    return !consumes(arguments);
  if (isLibraryDecl(callee))
    return !method || !method->isConst() || derivesFromModule(method->getParent()) ||
           !consumes(arguments) || callee->getOverloadedOperator() == OO_Call;
  if (callee->isInStdNamespace())
    return callee->getOverloadedOperator() == OO_Call || !consumes(arguments);
  return !takes_read || !consumes(arguments) ||
         (object && (method->isVirtual() || mayCompute(pointedTo(object->getType()))));
}

// The statement of a block that `part` is in, where it runs whenever the block does.
const Stmt *statementAround(ASTContext &context, const Stmt *part) {
  while (const Stmt *parent = parentStatement(context, part)) {
    if (isa<CompoundStmt>(parent)) {
      const Stmt *around = parentStatement(context, parent);
      return around && isa<SwitchStmt>(around) ? nullptr : part;
    }
    const auto *binary = dyn_cast<BinaryOperator>(parent);
    const auto *branch = dyn_cast<IfStmt>(parent);
    if (isa<LambdaExpr, ForStmt, CXXForRangeStmt, WhileStmt, DoStmt, SwitchStmt, SwitchCase,
            LabelStmt, AbstractConditionalOperator, CXXTryStmt>(parent) ||
        (binary && binary->isLogicalOp() && part != binary->getLHS()) ||
        (branch && part != branch->getCond()))
      return nullptr;
    part = parent;
  }
  return nullptr;
}

// The user said of the one that it is meant, not of the other.
bool isSuppressed(const SourceManager &sources, const Expr *wait) {
  const auto [file, place] = sources.getDecomposedLoc(sources.getFileLoc(wait->getBeginLoc()));
  const llvm::StringRef text = sources.getBufferData(file);
  const std::size_t line = text.rfind('\n', place);
  const std::size_t before =
      line == llvm::StringRef::npos || line == 0 ? 0 : text.rfind('\n', line - 1) + 1;
  return text.slice(before, text.find('\n', place)).contains("NOLINT");
}

} // namespace

bool SourceProgram::isDrained(Code earlier, Code later) {
  const SourceManager &sources = context().getSourceManager();
  const auto isBefore = [&](const Stmt *one, const Stmt *other) {
    return sources.isBeforeInTranslationUnit(one->getEndLoc(), other->getEndLoc());
  };
  const Expr *first = exprOf(earlier), *second = exprOf(later);
  const Stmt *begin = statementAround(context(), first);
  if (!begin || !isBefore(first, second) || isSuppressed(sources, first))
    return false;
  const auto *block = cast<CompoundStmt>(parentStatement(context(), begin));
  const Stmt *end = second;
  while (const Stmt *parent = parentStatement(context(), end)) {
    if (parent == block)
      break;
    if (isa<LambdaExpr>(parent))
      return false; // it runs when it is called
    end = parent;
  }
  const auto is_work = [&](const Stmt *part) {
    if (isa<LabelStmt, SwitchCase>(part)) // others come there
      return true;
    if (part == second || !isBefore(first, part) || isBefore(second, part))
      return false;
    const auto takes_read = [&] {
      return contains(part, [&](const Stmt *wait) { return wait == first || wait == second; });
    };
    if (const auto *lost = dyn_cast<RecoveryExpr>(part))
      return !takes_read() || lost->subExpressions().empty() ||
             !consumes(lost->subExpressions().drop_front());
    if (const auto *made = dyn_cast<CXXConstructExpr>(part)) {
      const CXXRecordDecl *record = made->getConstructor()->getParent();
      return !made->getConstructor()->isCopyOrMoveConstructor() && !record->isInStdNamespace() &&
             (isLibraryDecl(record) ? record->getName().ends_with("Guard")
                                    : made->getConstructor()->isUserProvided());
    }
    const auto *call = dyn_cast<CallExpr>(part);
    return call && givesWork(call, takes_read());
  };
  std::size_t count = 0;
  for (auto between = llvm::find(block->body(), begin);
       between != block->body_end() && count < kMaxBetween; ++between, ++count) {
    if (contains(*between, is_work))
      return false;
    if (*between == end)
      return true;
  }
  return false;
}

} // namespace devsan::analyzer
