#include "analyzer/model/fix_scope.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/handles.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>
#include <clang/AST/StmtCXX.h>
#include <clang/Basic/SourceManager.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Way = llvm::SmallVector<const Stmt *, 32>;

bool findWay(const Stmt *from, const Stmt *to, Way &way) {
  way.push_back(from);
  if (from == to || llvm::any_of(from->children(), [&](const Stmt *child) {
        return child && findWay(child, to, way);
      }))
    return true;
  way.pop_back();
  return false;
}

bool isPartOf(const Stmt *part, const Stmt *whole) {
  Way way;
  return findWay(whole, part, way);
}

// What one declaration says about a name.
enum class Meaning { kOther, kWanted, kShadow };

Meaning meaningOf(const Decl *declared, const ValueDecl *wanted) {
  if (declared == wanted)
    return Meaning::kWanted;
  if (const auto *bindings = dyn_cast<DecompositionDecl>(declared))
    for (const BindingDecl *binding : bindings->bindings())
      if (Meaning meaning = meaningOf(binding, wanted); meaning != Meaning::kOther)
        return meaning;
  const auto *named = dyn_cast<NamedDecl>(declared);
  return named && named->getDeclName() && named->getDeclName() == wanted->getDeclName()
             ? Meaning::kShadow
             : Meaning::kOther;
}

// Of what a declaration statement declares before `inner`, a part of it; null for all.
Meaning meaningIn(const DeclStmt *statement, const Stmt *inner, const ValueDecl *wanted) {
  for (const Decl *decl : statement->decls()) {
    const auto *variable = dyn_cast<VarDecl>(decl);
    const bool is_inside =
        inner && variable && variable->getInit() && isPartOf(inner, variable->getInit());
    Meaning meaning = meaningOf(decl, wanted);
    // In its own initialiser a variable has its name and no value.
    if (meaning != Meaning::kOther)
      return is_inside ? Meaning::kShadow : meaning;
    if (is_inside)
      break;
  }
  return Meaning::kOther;
}

// Of what `outer` declares before `inner`, a child of it.
Meaning meaningBefore(const Stmt *outer, const Stmt *inner, const ValueDecl *wanted) {
  if (const auto *declaration = dyn_cast<DeclStmt>(outer))
    return meaningIn(declaration, inner, wanted);
  if (const auto *handler = dyn_cast<CXXCatchStmt>(outer); handler && handler->getExceptionDecl())
    return meaningOf(handler->getExceptionDecl(), wanted);
  for (const Stmt *child : outer->children()) {
    if (child == inner)
      break;
    if (const auto *declaration = dyn_cast_or_null<DeclStmt>(child))
      if (Meaning meaning = meaningIn(declaration, nullptr, wanted); meaning != Meaning::kOther)
        return meaning;
  }
  return Meaning::kOther;
}

bool captures(const LambdaExpr *lambda, const ValueDecl *decl) {
  if (isa<FieldDecl>(decl))
    return lambda->getCaptureDefault() == LCD_ByRef ||
           llvm::any_of(lambda->captures(),
                        [](const LambdaCapture &capture) { return capture.capturesThis(); });
  const auto *variable = dyn_cast<VarDecl>(decl);
  return (variable && !variable->hasLocalStorage()) || lambda->getCaptureDefault() != LCD_None ||
         llvm::any_of(lambda->captures(), [&](const LambdaCapture &capture) {
           return capture.capturesVariable() && capture.getCapturedVar() == decl;
         });
}

// Of what a lambda declares for its body.
Meaning meaningIn(const LambdaExpr *lambda, const ValueDecl *wanted) {
  for (const ParmVarDecl *parameter : lambda->getCallOperator()->parameters())
    if (Meaning meaning = meaningOf(parameter, wanted); meaning != Meaning::kOther)
      return meaning;
  for (const LambdaCapture &capture : lambda->captures())
    if (capture.capturesVariable() && capture.getCapturedVar()->isInitCapture())
      if (Meaning meaning = meaningOf(capture.getCapturedVar(), wanted); meaning != Meaning::kOther)
        return meaning;
  return captures(lambda, wanted) ? Meaning::kOther : Meaning::kShadow;
}

// The class behind a type by which its members are reached with `->`; null for others. A pointer
// from a container, such as an iterator, need not point to anything at another place.
const CXXRecordDecl *pointee(QualType type) {
  type = type.getNonReferenceType();
  if (type->isPointerType())
    return type->getPointeeCXXRecordDecl();
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  if (const auto *pointer = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
      pointer && isLibraryDecl(pointer) && pointer->getTemplateArgs().size() > 0 &&
      pointer->getTemplateArgs()[0].getKind() == TemplateArgument::Type &&
      (pointer->getName() == "shared_ptr" || pointer->getName() == "unique_ptr" ||
       pointer->getName() == "intrusive_ptr"))
    return pointer->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
  const CXXRecordDecl *module = moduleClass(type);
  return module && record && module->getCanonicalDecl() != record->getCanonicalDecl() ? module
                                                                                      : nullptr;
}

bool hasField(const CXXRecordDecl *record, const FieldDecl *field) {
  const auto *parent = dyn_cast<CXXRecordDecl>(field->getParent());
  return record && parent && record->hasDefinition() &&
         (record->getCanonicalDecl() == parent->getCanonicalDecl() ||
          record->getDefinition()->isDerivedFrom(parent));
}

// What the code of a function does to the variables and members of a path.
class Handling : public AstVisitor {
public:
  explicit Handling(const Path &path) {
    if (path.root)
      decls_.push_back(declOf(path.root));
    for (Variable field : path.fields)
      decls_.push_back(declOf(field));
  }

  struct Assignment {
    const Expr *value;
    bool from_itself;
  };
  bool tested = false;
  std::vector<const Expr *> moves;
  std::vector<Assignment> assignments;

  bool shouldVisitImplicitCode() const override { return true; }

  void collect(const FunctionDecl *function) {
    if (const auto *constructor = dyn_cast<CXXConstructorDecl>(function))
      for (CXXCtorInitializer *initializer : constructor->inits())
        TraverseStmt(initializer->getInit());
    TraverseStmt(function->getBody());
  }

  bool VisitCXXOperatorCallExpr(CXXOperatorCallExpr *call) override {
    if (call->getOperator() == OO_Equal && call->getNumArgs() == 2)
      noteAssignment(call->getArg(0), call->getArg(1));
    else if ((call->getOperator() == OO_EqualEqual || call->getOperator() == OO_ExclaimEqual) &&
             call->getNumArgs() == 2)
      noteComparison(call->getArg(0), call->getArg(1));
    return true;
  }
  bool VisitBinaryOperator(BinaryOperator *op) override {
    if (op->getOpcode() == BO_Assign)
      noteAssignment(op->getLHS(), op->getRHS());
    else if (op->isEqualityOp())
      noteComparison(op->getLHS(), op->getRHS());
    return true;
  }
  bool VisitCXXMemberCallExpr(CXXMemberCallExpr *call) override {
    const CXXMethodDecl *method = call->getMethodDecl();
    const bool tests = method && (isa<CXXConversionDecl>(method) || nameOf(method) == "defined" ||
                                  nameOf(method) == "has_value");
    tested |= tests && call->getType()->isBooleanType() && isOne(call->getImplicitObjectArgument());
    return true;
  }
  bool VisitImplicitCastExpr(ImplicitCastExpr *cast) override {
    tested |= cast->getCastKind() == CK_PointerToBoolean && isOne(cast->getSubExpr());
    return true;
  }
  bool VisitCallExpr(CallExpr *call) override {
    const FunctionDecl *callee = call->getDirectCallee();
    if (!callee || !isLibraryDecl(callee))
      return true;
    const llvm::StringRef name = nameOf(callee);
    for (const Expr *argument : call->arguments()) {
      if ((name == "move" || name == "forward" || name == "exchange" || name == "swap") &&
          isOne(argument))
        moves.push_back(call);
      if (name == "tie" && isOne(argument))
        assignments.push_back({call, false});
    }
    return true;
  }

private:
  // Without `strip`, which looks through std::move.
  bool isOne(const Expr *expr) const {
    expr = expr->IgnoreParenImpCasts();
    if (const auto *unary = dyn_cast<UnaryOperator>(expr);
        unary && (unary->getOpcode() == UO_Deref || unary->getOpcode() == UO_AddrOf))
      return isOne(unary->getSubExpr());
    if (const auto *op = dyn_cast<CXXOperatorCallExpr>(expr);
        op && (op->getOperator() == OO_Star || op->getOperator() == OO_Arrow))
      return isOne(op->getArg(0));
    const auto *reference = dyn_cast<DeclRefExpr>(expr);
    const auto *member = dyn_cast<MemberExpr>(expr);
    return (reference && llvm::is_contained(decls_, reference->getDecl())) ||
           (member && llvm::is_contained(decls_, member->getMemberDecl()));
  }
  bool mentions(const Stmt *statement) const {
    const auto *expr = dyn_cast<Expr>(statement);
    return (expr && isOne(expr)) || llvm::any_of(statement->children(), [&](const Stmt *child) {
             return child && mentions(child);
           });
  }
  void noteAssignment(const Expr *target, const Expr *value) {
    if (isOne(target))
      assignments.push_back({value, mentions(value)});
  }
  void noteComparison(const Expr *left, const Expr *right) {
    tested |= (isOne(left) && isNull(right)) || (isOne(right) && isNull(left));
  }
  static bool isNull(const Expr *expr) {
    expr = expr->IgnoreParenImpCasts();
    const auto *number = dyn_cast<IntegerLiteral>(expr);
    return isa<CXXNullPtrLiteralExpr, GNUNullExpr>(expr) || (number && number->getValue() == 0);
  }

  llvm::SmallVector<const ValueDecl *, 4> decls_;
};

Handling handlingOf(const FunctionDecl *function, const Path &path) {
  Handling handling(path);
  handling.collect(function);
  return handling;
}

bool isLoop(const Stmt *statement) {
  return isa<ForStmt, WhileStmt, DoStmt, CXXForRangeStmt>(statement);
}

} // namespace

FixScope::FixScope(const FunctionDecl *function, const Stmt *at) : function_(function) {
  if (const auto *constructor = dyn_cast<CXXConstructorDecl>(function))
    for (const CXXCtorInitializer *initializer : constructor->inits())
      if (way_.empty() && initializer->isWritten() && initializer->getInit())
        findWay(initializer->getInit(), at, way_);
  if (way_.empty() && function->getBody())
    in_body_ = findWay(function->getBody(), at, way_);
}

bool FixScope::sees(const ValueDecl *decl) const {
  if (way_.empty() || !decl->getIdentifier() || decl->getName().empty())
    return false;
  const Stmt *inner = nullptr;
  for (const Stmt *outer : llvm::reverse(way_)) {
    Meaning meaning = Meaning::kOther;
    if (const auto *lambda = dyn_cast<LambdaExpr>(outer); lambda && inner == lambda->getBody())
      meaning = meaningIn(lambda, decl);
    else if (inner && !isa<LambdaExpr>(outer))
      meaning = meaningBefore(outer, inner, decl);
    if (meaning != Meaning::kOther)
      return meaning == Meaning::kWanted;
    inner = outer;
  }
  for (const ParmVarDecl *parameter : function_->parameters())
    if (Meaning meaning = meaningOf(parameter, decl); meaning != Meaning::kOther)
      return meaning == Meaning::kWanted;
  const auto *field = dyn_cast<FieldDecl>(decl);
  const auto *method = dyn_cast<CXXMethodDecl>(function_);
  // Members are not there yet while they are initialised.
  return field && method && !method->isStatic() && in_body_ &&
         hasField(method->getParent(), field) &&
         (!method->getParent()->isDependentContext() ||
          field->getParent()->getCanonicalDecl() == method->getParent()->getCanonicalDecl());
}

std::optional<std::string> FixScope::spell(const Path &path) const {
  const ValueDecl *first = declOf(path.root);
  llvm::ArrayRef<Variable> fields = path.fields;
  if (!first && !fields.empty()) {
    first = declOf(fields.front());
    fields = fields.drop_front();
  }
  if (!first || !sees(first))
    return std::nullopt;
  std::string text = first->getNameAsString();
  QualType type = first->getType();
  for (Variable member : fields) {
    const auto *field = cast<FieldDecl>(declOf(member));
    if (field->getName().empty())
      return std::nullopt;
    if (hasField(pointee(type), field))
      text += "->";
    else if (hasField(type.getNonReferenceType()->getAsCXXRecordDecl(), field))
      text += ".";
    else
      return std::nullopt;
    text += field->getName();
    type = field->getType();
  }
  return text;
}

std::optional<std::string> FixScope::device(const Path &path) const {
  std::optional<std::string> text = spell(path);
  const ValueDecl *last = declOf(path.last());
  if (!text || !isSure(path))
    return std::nullopt;
  QualType type = last->getType().getNonReferenceType();
  const bool is_pointer = type->isPointerType();
  if (is_pointer)
    type = type->getPointeeType();
  // The device of a stable tensor is of a class of its own.
  if (type->isPointerType() || isStableTensor(type))
    return std::nullopt;
  if (isTensor(type) || isTensorOptions(type))
    return *text + (is_pointer ? "->device()" : ".device()");
  if (isDevice(type) || isDeviceType(type))
    return is_pointer ? "*" + *text : *text;
  return std::nullopt;
}

// The value is there wherever the place is reached: no assignment has to come first, no test has to
// pass, and it has not been moved on.
bool FixScope::isSure(const Path &path) const {
  const Handling handling = handlingOf(function_, path);
  if (handling.tested)
    return false;
  for (const Handling::Assignment &assignment : handling.assignments)
    if (!assignment.from_itself)
      return false;
  const SourceManager &sources = function_->getASTContext().getSourceManager();
  SourceLocation end = way_.back()->getEndLoc();
  SourceRange loop;
  for (std::size_t i = 0; i < way_.size(); ++i) {
    if (isa<CompoundStmt>(way_[i]) && i + 1 < way_.size())
      end = way_[i + 1]->getEndLoc();
    if (isLoop(way_[i]) && loop.isInvalid())
      loop = way_[i]->getSourceRange();
  }
  for (const Expr *move : handling.moves) {
    const SourceLocation begin = move->getBeginLoc();
    const bool in_loop = loop.isValid() &&
                         !sources.isBeforeInTranslationUnit(begin, loop.getBegin()) &&
                         !sources.isBeforeInTranslationUnit(loop.getEnd(), begin);
    if (in_loop || !sources.isBeforeInTranslationUnit(end, begin))
      return false;
  }
  return true;
}

bool isTested(const FunctionDecl *function, const Path &path) {
  return handlingOf(function, path).tested;
}

bool isAssignedFrom(const FunctionDecl *function, const Path &path, const Stmt *part) {
  return llvm::any_of(handlingOf(function, path).assignments,
                      [&](const Handling::Assignment &assignment) {
                        return !assignment.from_itself && isPartOf(part, assignment.value);
                      });
}

bool usesName(const FunctionDecl *function, llvm::StringRef name) {
  struct Visitor : AstVisitor {
    explicit Visitor(llvm::StringRef name) : name(name) {}
    bool note(const NamedDecl *decl) {
      found |= decl->getIdentifier() && decl->getName() == name;
      return !found;
    }
    bool VisitNamedDecl(NamedDecl *decl) override { return note(decl); }
    bool VisitDeclRefExpr(DeclRefExpr *reference) override { return note(reference->getDecl()); }
    bool VisitMemberExpr(MemberExpr *member) override { return note(member->getMemberDecl()); }
    llvm::StringRef name;
    bool found = false;
  } visitor(name);
  for (ParmVarDecl *parameter : function->parameters())
    visitor.note(parameter);
  visitor.TraverseStmt(function->getBody());
  return visitor.found;
}

bool usesGoto(const FunctionDecl *function) {
  struct Visitor : AstVisitor {
    bool VisitGotoStmt(GotoStmt *) override { return !(found = true); }
    bool VisitIndirectGotoStmt(IndirectGotoStmt *) override { return !(found = true); }
    bool found = false;
  } visitor;
  visitor.TraverseStmt(function->getBody());
  return visitor.found;
}

} // namespace devsan::analyzer
