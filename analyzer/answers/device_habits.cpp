#include "analyzer/answers/device_habits.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

struct Habits final : AstVisitor {
  bool follows_devices = false; // moves tensors or modules to devices that only run time tells
  bool knows_host = false;      // brings some to the host, or asks which kind of device they are on

  bool VisitCXXMemberCallExpr(CXXMemberCallExpr *call) override {
    const CXXMethodDecl *method = call->getMethodDecl();
    if (!method || !isTorchDecl(method))
      return true;
    const llvm::StringRef name = nameOf(method);
    if (name == "to" && call->getNumArgs() > 0) {
      const Expr *target = givenToOptions(call->getArg(0));
      follows_devices |= isRunTimeDevice(target);
      knows_host |= bringsParameterToTensor(call, target);
    }
    knows_host |= name == "is_cpu" || name == "is_cuda" || name == "is_privateuseone" ||
                  name == "is_mps" || name == "is_xpu" || name == "cpu" || name == "type" ||
                  name == "device_type" || name == "toBackend";
    return true;
  }
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const auto *named = reference->getDecl();
    if (isDeviceType(reference->getType()) && named->getDeclName().isIdentifier())
      knows_host |= named->getName() == "kCPU" || named->getName() == "CPU";
    return true;
  }
  bool VisitParmVarDecl(ParmVarDecl *parameter) override {
    follows_devices |= isDevice(parameter->getType());
    return true;
  }

  // `offsets.to(x.device())`: where the caller's tensors are is not one question.
  static bool bringsParameterToTensor(const CXXMemberCallExpr *call, const Expr *target) {
    const auto *moved = dyn_cast<DeclRefExpr>(strip(call->getImplicitObjectArgument()));
    const auto *device = dyn_cast<CXXMemberCallExpr>(target);
    return moved && isa<ParmVarDecl>(moved->getDecl()) && isTensor(moved->getType()) && device &&
           isTensor(device->getImplicitObjectArgument()->getType());
  }

  // A device may have become options on its way into a call.
  static const Expr *givenToOptions(const Expr *argument) {
    argument = strip(argument);
    const auto *options = dyn_cast<CXXConstructExpr>(argument);
    return options && options->getNumArgs() ? strip(options->getArg(0)) : argument;
  }
  // No constant.
  static bool isRunTimeDevice(const Expr *argument) {
    return isDevice(argument->getType()) &&
           isa<CXXMemberCallExpr, DeclRefExpr, MemberExpr>(argument);
  }
};

} // namespace

bool followsDevices(ASTContext &context) {
  Habits habits;
  const SourceManager &sources = context.getSourceManager();
  for (Decl *decl : context.getTraversalScope())
    if (auto *unit = dyn_cast<TranslationUnitDecl>(decl)) {
      for (Decl *inner : unit->decls())
        if (!sources.isInSystemHeader(sources.getExpansionLoc(inner->getLocation())))
          habits.TraverseDecl(inner);
    } else {
      habits.TraverseDecl(decl);
    }
  return habits.follows_devices && !habits.knows_host;
}

} // namespace devsan::analyzer
