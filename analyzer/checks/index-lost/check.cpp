#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/model.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

// The expression is `part`, or holds it.
bool holds(const Expr *expr, const Expr *part) {
  struct Visitor : AstVisitor {
    explicit Visitor(const Expr *part) : part(part) {}
    bool VisitExpr(Expr *expr) override {
      found |= expr == part;
      return !found;
    }
    const Expr *part;
    bool found = false;
  } visitor(part);
  visitor.TraverseStmt(const_cast<Expr *>(expr));
  return visitor.found;
}

class IndexLostCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    const std::shared_ptr<DeviceModel> model = DeviceModel::of(context);
    const bool uses_cuda = llvm::any_of(program.functions(), [](const CudaWork &work) {
      return !work.launches.empty() || !work.sets.empty() || !work.current_streams.empty() ||
             work.function->hasAttr<CUDAGlobalAttr>();
    });
    for (const CudaWork &work : program.functions()) {
      if (!work.touches_tensors || isGuardedByDispatcher(work.function) ||
          program.callersGuard(work))
        continue;
      for (const DeviceKind &kind : deviceKinds(work))
        if (!kind.guarded && (isLegacy(kind) ? uses_cuda : !kind.device_set) &&
            !onHost(*model, work, kind))
          report(context, kind);
      if (llvm::none_of(work.launches,
                        [](const Launch &launch) { return launch.kind == Launch::Kind::kKernel; }))
        for (const CurrentStream &stream : work.current_streams)
          if (!stream.guarded && argumentsOf(stream.expr).empty())
            if (const ValueDecl *tensor = servedBy(stream, work))
              reportStream(context, stream, tensor);
    }
  }

private:
  // Old code for the CPU spells its options like this too. Where it has set the device, the tensor
  // lands there today; the next edit, or an early return, takes the call away from its device.
  static bool isLegacy(const DeviceKind &kind) {
    return kind.from == DeviceKind::From::kLegacyType || kind.from == DeviceKind::From::kLegacyCuda;
  }

  static bool onHost(DeviceModel &model, const CudaWork &work, const DeviceKind &kind) {
    const FunctionFacts *facts = kind.tensor ? model.facts(work.function) : nullptr;
    return facts && facts->value(kind.tensor).place.onHost();
  }

  // The tensor parameter whose work the stream is given to. Where a launch is in the function, that
  // is what the rule on guards is about.
  static const ValueDecl *servedBy(const CurrentStream &stream, const CudaWork &work) {
    const auto tensors =
        llvm::make_filter_range(work.function->parameters(), [](const ParmVarDecl *parameter) {
          return isTensor(parameter->getType());
        });
    if (tensors.empty())
      return nullptr;
    const ValueDecl *first = *tensors.begin();
    for (const Launch &launch : work.launches) {
      const auto *reference =
          launch.stream ? dyn_cast<DeclRefExpr>(source(launch.stream)) : nullptr;
      if (!launch.stream ||
          !(holds(launch.stream, stream.expr) ||
            (reference && stream.variable && reference->getDecl() == stream.variable)))
        continue;
      const ValueDecl *tensor = CudaProgram::tensorOf(launch.expr, work);
      return isa_and_nonnull<ParmVarDecl>(tensor) && isTensor(tensor->getType()) ? tensor : first;
    }
    return stream.variable && isGivenToUnknown(stream.variable, work) ? first : nullptr;
  }

  // Given to a function whose declaration is not there: such a call keeps its arguments, or is lost
  // together with every use of the variable.
  static bool isGivenToUnknown(const VarDecl *variable, const CudaWork &work) {
    struct Visitor : AstVisitor {
      explicit Visitor(const VarDecl *variable) : variable(variable) {}
      bool TraverseRecoveryExpr(RecoveryExpr *recovery, DataRecursionQueue * = nullptr) override {
        ++unknown;
        AstVisitor::TraverseRecoveryExpr(recovery);
        --unknown;
        return true;
      }
      bool VisitDeclRefExpr(DeclRefExpr *reference) override {
        if (reference->getDecl() == variable) {
          seen = true;
          given |= unknown > 0;
        }
        return true;
      }
      const VarDecl *variable;
      unsigned unknown = 0;
      bool seen = false;
      bool given = false;
    } visitor(variable);
    visitor.TraverseStmt(work.function->getBody());
    return visitor.given || !visitor.seen;
  }

  static const Expr *source(const Expr *stream) {
    stream = strip(stream)->IgnoreParenCasts();
    while (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
      stream = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
    return stream;
  }

  void report(ASTContext &context, const DeviceKind &kind) {
    const std::string tensor = kind.tensor ? text(context, kind.tensor->getSourceRange()) : "";
    Diagnosis finding{.place = place(context, kind.expr),
                      .message = whatIsLost(kind.from, tensor) + ": no guard is live here"};
    // The others say what they say of any kind of device.
    if (kind.from == DeviceKind::From::kLegacyCuda || kind.from == DeviceKind::From::kIsCuda)
      finding.from = "cuda";
    if (auto fix = keepIndex(kind, tensor))
      finding.fix.push_back(*fix);
    diagnose(std::move(finding));
  }

  static std::string whatIsLost(DeviceKind::From from, const std::string &tensor) {
    switch (from) {
    case DeviceKind::From::kLegacyType:
      return "'" + tensor + ".type()' keeps the kind of the device and loses its index";
    case DeviceKind::From::kLegacyCuda:
      return "'CUDA' is the current device, whatever device the tensors are on";
    case DeviceKind::From::kDeviceType:
      return "the device of '" + tensor + "' loses its index";
    case DeviceKind::From::kIsCuda:
      return "'" + tensor + "' may be on a device with another index";
    }
    llvm_unreachable("all kinds are handled");
  }

  // `x.device().type()` as a device is `x.device()`.
  static std::optional<FixItHint> keepIndex(const DeviceKind &kind, const std::string &tensor) {
    const auto *call = dyn_cast<CXXMemberCallExpr>(kind.expr);
    if (!call || tensor.empty() || !call->getBeginLoc().isFileID() ||
        !call->getEndLoc().isFileID() || kind.from != DeviceKind::From::kDeviceType)
      return std::nullopt;
    return FixItHint::CreateReplacement(call->getSourceRange(), tensor + ".device()");
  }

  void reportStream(ASTContext &context, const CurrentStream &stream, const ValueDecl *tensor) {
    diagnose({.place = place(context, stream.expr),
              .message = llvm::formatv("the stream is of the current device, which need not be "
                                       "that of '{0}': no guard is live here",
                                       tensor->getName())
                             .str(),
              .op = operatorName(stream.expr)});
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(IndexLostCheck, index_lost)
