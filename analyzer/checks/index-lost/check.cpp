#include "analyzer/check_registry.h"
#include "analyzer/support/cuda_check.h"
#include "analyzer/support/device_kinds.h"
#include "analyzer/support/model.h"
#include "analyzer/support/torch_api.h"

#include <clang/AST/RecursiveASTVisitor.h>

namespace devsan::analyzer {
namespace {

using namespace clang;

// ATen sets the device before it calls these.
bool isGuardedByDispatcher(const FunctionDecl *function) {
  return llvm::StringRef(function->getQualifiedNameAsString()).starts_with("at::native::");
}

// The expression is `part`, or holds it.
bool holds(const Expr *expr, const Expr *part) {
  struct Visitor : RecursiveASTVisitor<Visitor> {
    explicit Visitor(const Expr *part) : part(part) {}
    bool VisitExpr(Expr *expr) {
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
        if (!kind.guarded && (uses_cuda || !isLegacy(kind)) && !onHost(*model, work, kind))
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
  // Old code for the CPU spells its options like this too.
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
    for (const Launch &launch : work.launches) {
      const auto *reference =
          launch.stream ? dyn_cast<DeclRefExpr>(source(launch.stream)) : nullptr;
      if (!launch.stream ||
          !(holds(launch.stream, stream.expr) ||
            (reference && stream.variable && reference->getDecl() == stream.variable)))
        continue;
      const ValueDecl *tensor = CudaProgram::tensorOf(launch.expr, work);
      if (tensor && isTensor(tensor->getType()))
        return tensor;
    }
    return nullptr;
  }

  static const Expr *source(const Expr *stream) {
    stream = strip(stream)->IgnoreParenCasts();
    while (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
      stream = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
    return stream;
  }

  void report(ASTContext &context, const DeviceKind &kind) {
    const std::string tensor = kind.tensor ? text(context, kind.tensor->getSourceRange()) : "";
    auto finding =
        diag(place(context, kind.expr),
             "%select{'%1.type()' keeps the kind of the device and loses its index|'CUDA' is the "
             "current device, whatever device the tensors are on|the device of '%1' loses its "
             "index|'%1' may be on a device with another index}0: no guard is live here");
    finding << static_cast<int>(kind.from) << tensor;
    if (auto fix = keepIndex(kind, tensor))
      finding << *fix;
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
    diag(place(context, stream.expr), "the stream is of the current device, which need not be that "
                                      "of '%0': no guard is live here")
        << tensor->getName();
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(IndexLostCheck, index_lost)
