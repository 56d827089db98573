#include "analyzer/model/cuda/library_handles.h"

#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

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

bool LibraryHandles::isOnCurrentDevice(const CallExpr *call, const CudaWork &work) const {
  if (call->getNumArgs() < 3 || !isLibraryHandle(call->getArg(0)->getType()))
    return false;
  const Expr *handle = strip(call->getArg(0))->IgnoreParenCasts();
  const auto *reference = dyn_cast<DeclRefExpr>(handle);
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
