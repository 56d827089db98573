#include "analyzer/ast/ast_visitor.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/host_reads.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

// What a file says about where its tensors are.
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

class HostAccessCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

  void onEndOfTranslationUnit() override {
    habits_.reset();
    DeviceCheck::onEndOfTranslationUnit();
  }

protected:
  void examine(const FunctionFacts &facts) override {
    for (const HostRead &read : hostReads(facts.function)) {
      const Expr *tensor = read.pointer->getImplicitObjectArgument();
      const Value value = facts.value(tensor);
      const Place &place = value.place;
      if (isOnDevice(place))
        report(read, tensor, "is on " + place.text(), place.device());
      else if (value.off_host && !place.onHost())
        report(read, tensor, "was checked to be on a device");
      else if (isUncheckedParameter(facts, tensor, place) && codeForDevices())
        report(read, tensor, "may be on a device");
    }
  }

private:
  // Written down, or that of a device variable: not that of another tensor, which may be anywhere.
  static bool isOnDevice(const Place &place) {
    return place.isSpelledDevice() ||
           (place.is(Place::Kind::kOf) && endsInDevice(place.of) && !isCallersChoice(place.of));
  }
  static bool endsInDevice(const Path &path) {
    const ValueDecl *last = path.fields.empty() ? path.root : path.fields.back();
    return last && isDevice(last->getType());
  }
  // A device parameter of a function that reads the tensor itself is the host more often than not.
  static bool isCallersChoice(const Path &path) {
    return path.fields.empty() && isa_and_nonnull<ParmVarDecl>(path.root);
  }

  // A tensor that the caller gave, and nothing in the function says where it is.
  static bool isUncheckedParameter(const FunctionFacts &facts, const Expr *tensor,
                                   const Place &place) {
    const auto *reference = dyn_cast<DeclRefExpr>(strip(tensor));
    const auto *parameter = reference ? dyn_cast<ParmVarDecl>(reference->getDecl()) : nullptr;
    return parameter && place.is(Place::Kind::kOf) && place.of.root == parameter &&
           place.of.fields.empty() && llvm::is_contained(facts.function->parameters(), parameter);
  }

  // The file moves tensors to devices that only run time tells, and none of them to the host.
  bool codeForDevices() {
    if (!habits_) {
      habits_.emplace();
      for (Decl *decl : model().context().getTraversalScope())
        if (auto *unit = dyn_cast<TranslationUnitDecl>(decl)) {
          const SourceManager &sources = model().context().getSourceManager();
          for (Decl *inner : unit->decls())
            if (!sources.isInSystemHeader(sources.getExpansionLoc(inner->getLocation())))
              habits_->TraverseDecl(inner);
        } else {
          habits_->TraverseDecl(decl);
        }
    }
    return habits_->follows_devices && !habits_->knows_host;
  }

  void report(const HostRead &read, const Expr *tensor, const std::string &where,
              std::string device = "") {
    if (!firstAt(read.pointer))
      return;
    Diagnosis finding{.place = locationOf(read.pointer),
                      .message = "the host follows a pointer into '" + spelling(tensor) +
                                 "', which " + where,
                      .from = std::move(device),
                      .to = Place::host().device()};
    if (lineOf(read.access) != lineOf(read.pointer))
      finding.related.push_back({locationOf(read.access), "followed here"});
    diagnose(std::move(finding));
  }

  std::optional<Habits> habits_;
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(HostAccessCheck, host_access)
