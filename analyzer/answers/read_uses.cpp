// What the host does with a value that it read of a tensor.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kMaxVariables = 4; // that hold the value one after the other

const Stmt *parentOf(ASTContext &context, const Stmt *part) {
  const DynTypedNodeList parents = context.getParents(*part);
  return parents.empty() ? nullptr : parents[0].get<Stmt>();
}

const VarDecl *initialised(ASTContext &context, const Stmt *part) {
  const DynTypedNodeList parents = context.getParents(*part);
  return parents.empty() ? nullptr : parents[0].get<VarDecl>();
}

// What an lvalue is, or is a part of.
struct Target {
  const ValueDecl *holder = nullptr; // a variable or member
  const ValueDecl *root = nullptr;   // that the member is in; null for `*this`
  bool is_element = false;           // of the holder
};

Target targetOf(const Expr *lvalue) {
  Target target;
  while (true) {
    lvalue = strip(lvalue);
    if (const auto *member = dyn_cast<MemberExpr>(lvalue)) {
      if (!target.holder)
        target.holder = member->getMemberDecl();
      lvalue = member->getBase();
    } else if (const auto *element = dyn_cast<ArraySubscriptExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = element->getBase();
    } else if (const auto *call = dyn_cast<CXXOperatorCallExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = call->getArg(0);
    } else if (const auto *get = dyn_cast<CXXMemberCallExpr>(lvalue)) {
      target.is_element |= !target.holder;
      lvalue = get->getImplicitObjectArgument();
    } else {
      const auto *reference = dyn_cast<DeclRefExpr>(lvalue);
      target.root = reference ? reference->getDecl() : nullptr;
      if (!target.holder)
        target.holder = target.root;
      return target;
    }
  }
}

const ValueDecl *namedBy(const Stmt *part) {
  if (const auto *reference = dyn_cast<DeclRefExpr>(part))
    return reference->getDecl();
  const auto *member = dyn_cast<MemberExpr>(part);
  return member ? member->getMemberDecl() : nullptr;
}

bool isNumber(QualType type) {
  return type.getNonReferenceType()->isArithmeticType();
}

// What adds to a container, or to what counts and averages.
bool isGatheringName(llvm::StringRef name) {
  static constexpr llvm::StringRef kNames[] = {"push_back", "emplace_back", "push",   "append",
                                               "add",       "insert",       "update", "accumulate"};
  return llvm::is_contained(kNames, name);
}

class Uses {
public:
  Uses(ASTContext &context, DeviceModel &model, const FunctionDecl *function, const Expr *read)
      : context_(context), model_(model), function_(function), loop_(model.loopAround(read)) {
    follow(read, kMaxVariables);
  }

  HostUse result() const {
    if (is_other_ || !(gathers_ || shows_ || is_seldom_ || computes_))
      return HostUse::kOther;
    return shows_      ? HostUse::kShown
           : gathers_  ? HostUse::kGathered
           : computes_ ? HostUse::kTensors
                       : HostUse::kSeldom;
  }

private:
  // In this function: in the loop that reads, or all of it where a caller has the loop.
  const Stmt *turn() const { return loop_ ? loop_ : function_->getBody(); }

  bool isSeldom(const Expr *part) { return !model_.onEachRun(part, function_); }

  // `expr` has the value.
  void follow(const Expr *expr, int depth) {
    if (!contains(turn(), [&](const Stmt *part) { return part == expr; })) {
      gathers_ = true; // the last one is used, after the loop
      return;
    }
    if (isSeldom(expr)) {
      is_seldom_ = true;
      return;
    }
    const Stmt *part = expr;
    while (const Stmt *parent = parentOf(context_, part)) {
      if (!isPassedOn(part, parent))
        return end(part, parent, depth);
      part = parent;
    }
    const VarDecl *variable = initialised(context_, part);
    if (!variable || !isNumber(variable->getType()) || depth == 0)
      is_other_ = true;
    else
      followVariable(variable, depth - 1);
  }

  // The parent's value is computed of the part's.
  static bool isPassedOn(const Stmt *part, const Stmt *parent) {
    if (isa<CastExpr, ParenExpr, MaterializeTemporaryExpr, ExprWithCleanups, CXXBindTemporaryExpr,
            CXXConstructExpr, MemberExpr>(parent))
      return true;
    if (const auto *unary = dyn_cast<UnaryOperator>(parent))
      return unary->isArithmeticOp() && unary->getOpcode() != UO_LNot;
    if (const auto *binary = dyn_cast<BinaryOperator>(parent))
      return binary->isMultiplicativeOp() || binary->isAdditiveOp();
    if (const auto *call = dyn_cast<CXXMemberCallExpr>(parent))
      return call->getCallee() == part && isNumber(call->getType()); // item().toFloat()
    if (const auto *call = dyn_cast<CallExpr>(parent)) {
      const FunctionDecl *callee = call->getDirectCallee();
      return callee && !isa<CXXMethodDecl>(callee) && callee->isInStdNamespace() &&
             isNumber(call->getType());
    }
    return false;
  }

  // A statement of its own.
  static bool isDropped(const Stmt *part, const Stmt *parent) {
    if (const auto *counted = dyn_cast<ForStmt>(parent))
      return part == counted->getBody() || part == counted->getInc();
    if (const auto *branch = dyn_cast<IfStmt>(parent))
      return part != branch->getCond();
    if (const auto *ranged = dyn_cast<CXXForRangeStmt>(parent))
      return part == ranged->getBody();
    if (const auto *loop = dyn_cast<WhileStmt>(parent))
      return part == loop->getBody();
    return isa<CompoundStmt>(parent);
  }

  void end(const Stmt *part, const Stmt *parent, int depth) {
    if (const auto *binary = dyn_cast<BinaryOperator>(parent);
        binary && binary->isAssignmentOp() && part == binary->getRHS())
      return assign(binary, depth);
    if (isDropped(part, parent)) {
      is_seldom_ = true;
      return;
    }
    const auto *call = dyn_cast<CallExpr>(parent);
    if (!call || part == call->getCallee()) {
      is_other_ = true;
      return;
    }
    const FunctionDecl *callee = call->getDirectCallee();
    const llvm::StringRef name = nameOf(callee);
    if (const auto *op = dyn_cast<CXXOperatorCallExpr>(call)) {
      if (op->getOperator() == OO_LessLess)
        shows_ = true;
      else if (callee && isTorchDecl(callee))
        compute(part, call);
      else
        is_other_ = true;
    } else if (callee && isTorchDecl(callee)) {
      compute(part, call);
    } else if (const auto *method = dyn_cast<CXXMemberCallExpr>(call);
               method && isGatheringName(name)) {
      gather(targetOf(method->getImplicitObjectArgument()));
    } else if (callee && (callee->isExternC() || call->getType()->isVoidType())) {
      shows_ = true; // printf(), log()
    } else {
      is_other_ = true;
    }
  }

  // Sizes and indices are the host's.
  void compute(const Stmt *part, const CallExpr *call) {
    const QualType type = cast<Expr>(part)->getType().getNonReferenceType();
    (type->isIntegralOrEnumerationType() || holdsTensor(type) ||
             !holdsTensor(call->getType().getNonReferenceType())
         ? is_other_
         : computes_) = true;
  }

  void assign(const BinaryOperator *assignment, int depth) {
    const Target target = targetOf(assignment->getLHS());
    const bool adds = assignment->isCompoundAssignmentOp() || target.is_element ||
                      (target.holder && names(assignment->getRHS(), target.holder));
    const auto *variable = dyn_cast_or_null<VarDecl>(target.holder);
    if (adds)
      gather(target);
    else if (variable && variable->isLocalVarDecl() && isNumber(variable->getType()) && depth > 0)
      followVariable(variable, depth - 1);
    else
      is_other_ = true;
  }

  bool isOfThisTurn(const ValueDecl *root) const {
    const auto *variable = dyn_cast_or_null<VarDecl>(root);
    if (!variable || !variable->isLocalVarDecl())
      return false;
    return !loop_ || contains(loop_, [&](const Stmt *part) {
      const auto *declaration = dyn_cast<DeclStmt>(part);
      return declaration && llvm::is_contained(declaration->decls(), variable);
    });
  }

  // Nothing else of this turn may want what is gathered.
  void gather(const Target &target) {
    gathers_ = true;
    is_other_ |= !target.holder || isOfThisTurn(target.root);
    if (is_other_ || !holders_.insert(target.holder).second)
      return;
    is_other_ = contains(turn(), [&](const Stmt *part) {
      const auto *mention = dyn_cast<Expr>(part);
      return mention && namedBy(mention) == target.holder &&
             !isGatheredInto(mention, target.holder) && !isSeldom(mention);
    });
  }

  // `total += …`, `total = total + …`, `losses.push_back(…)`, `losses[i] = …`
  bool isGatheredInto(const Expr *mention, const ValueDecl *holder) const {
    for (const Stmt *part = mention, *parent; (parent = parentOf(context_, part)); part = parent) {
      if (const auto *binary = dyn_cast<BinaryOperator>(parent); binary && binary->isAssignmentOp())
        return targetOf(binary->getLHS()).holder == holder;
      if (const auto *call = dyn_cast<CXXMemberCallExpr>(parent);
          call && isGatheringName(nameOf(call->getMethodDecl())))
        return targetOf(call->getImplicitObjectArgument()).holder == holder;
      if (!isa<Expr>(parent))
        return false;
    }
    return false;
  }

  void followVariable(const VarDecl *variable, int depth) {
    if (!holders_.insert(variable).second)
      return;
    std::vector<const Expr *> mentions;
    contains(function_->getBody(), [&](const Stmt *part) {
      if (isa<Expr>(part) && namedBy(part) == variable)
        mentions.push_back(cast<Expr>(part));
      return false;
    });
    for (const Expr *mention : mentions)
      if (const auto *set = dyn_cast_or_null<BinaryOperator>(parentOf(context_, mention));
          !set || !set->isAssignmentOp() || set->getLHS() != mention)
        follow(mention, depth);
    is_seldom_ |= mentions.empty();
  }

  ASTContext &context_;
  DeviceModel &model_;
  const FunctionDecl *function_;
  const Stmt *loop_;
  llvm::SmallPtrSet<const ValueDecl *, 4> holders_; // that were looked at
  bool gathers_ = false, shows_ = false, is_seldom_ = false, computes_ = false, is_other_ = false;
};

bool isConstant(const Expr *expr) {
  return !contains(expr, [](const Stmt *part) {
    const auto *reference = dyn_cast<DeclRefExpr>(part);
    const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
    return isa<MemberExpr, CXXThisExpr, LambdaExpr>(part) ||
           (variable && !variable->isConstexpr() && !isTorchDecl(variable));
  });
}

// What a list of one element is made of: no other list, no container.
bool isOneNumber(const Expr *element) {
  return !contains(element, [](const Stmt *part) {
    return isa<InitListExpr>(part) ||
           (isa<DeclRefExpr, MemberExpr, CallExpr>(part) && !isNumber(cast<Expr>(part)->getType()));
  }) && contains(element, [](const Stmt *part) {
    const auto *expr = dyn_cast<Expr>(part);
    return expr && isNumber(expr->getType());
  });
}

} // namespace

HostUse SourceProgram::hostUse(Code read, Function function) {
  return Uses(context(), *model_, functionOf(function), exprOf(read)).result();
}

bool SourceProgram::isBeforeBackward(Code read, Function function) {
  const Expr *expr = exprOf(read);
  const Stmt *loop = model_->loopAround(expr);
  const SourceManager &sources = context().getSourceManager();
  return contains(loop ? loop : functionOf(function)->getBody(), [&](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
    return callee && nameOf(callee) == "backward" && isTorchDecl(callee) &&
           model_->loopAround(call) == loop &&
           sources.isBeforeInTranslationUnit(expr->getEndLoc(), call->getBeginLoc());
  });
}

bool SourceProgram::hasVariableIndex(Code element) {
  return contains(exprOf(element), [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    if (!call)
      return false;
    const FunctionDecl *callee = call->getDirectCallee();
    const bool is_subscript = callee && callee->getOverloadedOperator() == OO_Subscript;
    if (!is_subscript && nameOf(callee) != "index" && nameOf(callee) != "select" &&
        nameOf(callee) != "narrow" && nameOf(callee) != "at")
      return false;
    return llvm::any_of(argumentsOf(call),
                        [](const Expr *argument) { return !isConstant(argument); });
  });
}

bool SourceProgram::isConstantData(Code factory) {
  const auto *call = dyn_cast<CallExpr>(exprOf(factory));
  if (!call || call->getNumArgs() == 0)
    return false;
  const auto is_one = [](const Stmt *part) {
    const auto *list = dyn_cast<InitListExpr>(part);
    return list && list->getNumInits() == 1 && isOneNumber(list->getInit(0));
  };
  return isConstant(call->getArg(0)) || contains(call->getArg(0), is_one);
}

} // namespace devsan::analyzer
