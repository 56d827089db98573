#include "analyzer/ast/written_arguments.h"

#include "analyzer/ast/torch_api.h"

#include <clang/AST/ExprCXX.h>
#include <llvm/ADT/StringSwitch.h>

namespace devsan::analyzer {

using namespace clang;

bool isWrittenThrough(QualType parameter) {
  return (parameter->isLValueReferenceType() || parameter->isPointerType()) &&
         !parameter->getPointeeType().isConstQualified();
}

void forEachWritten(const CallExpr *call, llvm::function_ref<void(const Expr *)> visit) {
  const FunctionDecl *callee = call->getDirectCallee();
  const bool sets = callee && (!isLibraryDecl(callee) ||
                               llvm::StringSwitch<bool>(nameOf(callee))
                                   .Cases({"load", "swap", "exchange", "swap_ranges"}, true)
                                   .Default(false));
  if (!sets)
    return;
  const unsigned shift = isa<CXXOperatorCallExpr>(call) && ownerOf(callee) ? 1 : 0;
  for (unsigned i = 0; i < callee->getNumParams() && i + shift < call->getNumArgs(); ++i)
    if (isWrittenThrough(callee->getParamDecl(i)->getType()))
      visit(call->getArg(i + shift));
}

} // namespace devsan::analyzer
