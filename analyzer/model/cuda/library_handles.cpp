#include "analyzer/model/cuda/library_handles.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/device_guards.h"
#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// cublasCreate(&handle): a function of CUDA's that gives a handle away.
bool createsHandle(const FunctionDecl *function) {
  if (!function || !isCudaApi(function) || function->getNumParams() == 0)
    return false;
  const QualType type = function->getParamDecl(0)->getType();
  return type->isPointerType() && isLibraryHandle(type->getPointeeType());
}

// It makes a handle each time it runs, on the device that is current when it is called.
bool makesHandle(const FunctionDecl *function) {
  const FunctionDecl *definition = nullptr;
  if (!function || isLibraryDecl(function) || !function->hasBody(definition))
    return false;
  bool chooses_device = false, keeps = false;
  const auto looks_at = [&](const Stmt *part) {
    if (const auto *declared = dyn_cast<DeclStmt>(part))
      for (const Decl *decl : declared->decls())
        if (const auto *variable = dyn_cast<VarDecl>(decl)) {
          chooses_device |= startsGuard(variable);
          keeps |= variable->isStaticLocal();
        }
    const auto *call = dyn_cast<CallExpr>(part);
    chooses_device |= call && setsDevice(call);
    return false;
  };
  contains(definition->getBody(), looks_at);
  return !chooses_device && !keeps && contains(definition->getBody(), [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    return call && createsHandle(call->getDirectCallee());
  });
}

// What holds the handle: `h` of `h.get()`, `*h`, `h.handle`, and where `h` is converted.
const Expr *holderOfHandle(const Expr *handle) {
  for (;;) {
    handle = strip(handle)->IgnoreParenCasts();
    if (const auto *method = dyn_cast<CXXMemberCallExpr>(handle);
        method && method->getNumArgs() == 0)
      handle = method->getImplicitObjectArgument();
    else if (const auto *star = dyn_cast<CXXOperatorCallExpr>(handle);
             star && star->getOperator() == OO_Star && star->getNumArgs() == 1)
      handle = star->getArg(0);
    else if (const auto *member = dyn_cast<MemberExpr>(handle))
      handle = member->getBase();
    else
      return handle;
  }
}

} // namespace

std::optional<unsigned> LibraryHandles::toldStream(const FunctionDecl *callee) {
  return callee->getNumParams() && isLibraryHandle(callee->getParamDecl(0)->getType())
             ? declaredStreamParameter(callee)
             : std::nullopt;
}

void LibraryHandles::noteMade(const CallExpr *call) {
  for (const Expr *argument : call->arguments())
    if (const auto *address = dyn_cast<UnaryOperator>(argument->IgnoreParenCasts()))
      if (const auto *made = dyn_cast<DeclRefExpr>(address->getSubExpr()->IgnoreParenImpCasts()))
        made_.insert(dyn_cast<VarDecl>(made->getDecl()));
}

void LibraryHandles::noteDeclared(const VarDecl *variable) {
  const QualType type = variable->getType();
  if (!variable->isLocalVarDecl() || !variable->getInit() || type->isReferenceType() ||
      !(type->isRecordType() || isLibraryHandle(type)))
    return;
  const bool is_made = contains(variable->getInit(), [&](const Stmt *part) {
    if (const auto *named = dyn_cast<DeclRefExpr>(part)) {
      // make(cublasCreate, cublasDestroy), or a holder of what was made before
      const auto *handle = dyn_cast<VarDecl>(named->getDecl());
      return createsHandle(dyn_cast<FunctionDecl>(named->getDecl())) ||
             (handle && made_.contains(handle) && type->isRecordType());
    }
    return makesHandle(calleeOf(dyn_cast<Expr>(part)));
  });
  if (is_made)
    made_.insert(variable);
}

bool LibraryHandles::isOnCurrentDevice(const CallExpr *call, const CudaWork &work) const {
  const FunctionDecl *callee = calledFunction(call);
  if (call->getNumArgs() < 3 || !callee || callee->getNumParams() == 0 ||
      !isLibraryHandle(callee->getParamDecl(0)->getType()))
    return false;
  const Expr *handle = strip(call->getArg(0))->IgnoreParenCasts();
  const auto *reference = dyn_cast<DeclRefExpr>(holderOfHandle(handle));
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (variable && made_.contains(variable))
    return variable->isLocalVarDecl() && !variable->isStaticLocal();
  const auto initialiser = work.initialisers.find(variable);
  if (variable && initialiser != work.initialisers.end())
    handle = strip(initialiser->second)->IgnoreParenCasts();
  const auto *taken = dyn_cast<CallExpr>(handle);
  return taken && asksCurrentDevice(calledFunction(taken));
}

} // namespace devsan::analyzer
