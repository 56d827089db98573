#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/cuda/device_queries.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

class ZeroPropertiesCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    if (!isLibraryOnDevices(program))
      return;
    const DeviceQueries queries(program);
    for (const CudaWork &work : program.functions()) {
      if (choosesZero(work))
        continue;
      for (const PropertyQuery &query : queries.of(work))
        if (query.device && isZeroDevice(query.device, work))
          reportZero(context, work, query);
        else if (query.guard_follows && !program.callersGuard(work))
          reportBeforeGuard(context, query);
    }
  }

private:
  // A program says itself which devices it uses; and code that neither has tensors nor puts work on
  // a device has no device to ask for.
  static bool isLibraryOnDevices(const CudaProgram &program) {
    bool works = false;
    for (const CudaWork &work : program.functions()) {
      if (work.function->isMain())
        return false;
      works |= work.touches_tensors || !work.launches.empty() || !work.current_streams.empty() ||
               llvm::any_of(work.function->parameters(), [](const ParmVarDecl *parameter) {
                 return isStream(parameter->getType());
               });
    }
    return works;
  }

  static bool isStream(QualType type) {
    const auto *alias = type->getAs<TypedefType>();
    return alias && (alias->getDecl()->getName() == "cudaStream_t" ||
                     alias->getDecl()->getName() == "hipStream_t" ||
                     alias->getDecl()->getName() == "CUstream");
  }

  // The function uses device 0 on purpose.
  static bool choosesZero(const CudaWork &work) {
    return llvm::any_of(work.sets, [&](const SetDevice &set) {
      return set.device && isZeroDevice(set.device, work);
    });
  }

  void reportZero(ASTContext &context, const CudaWork &work, const PropertyQuery &query) {
    const ValueDecl *tensor = work.tensors.empty() ? nullptr : work.tensors.front();
    Diagnosis finding{.place = place(context, query.expr),
                      .message =
                          "asks device 0, while " +
                          (tensor ? "'" + tensor->getNameAsString() + "' may be on another device"
                                  : std::string("the work may be for another device")),
                      .op = operatorName(query.wrapped ? query.wrapped : query.expr)};
    if (auto fix = currentDevice(context, query))
      finding.fix.push_back(*fix);
    if (query.wrapped)
      finding.related.push_back({place(context, query.wrapped), "asked here"});
    diagnose(std::move(finding));
  }

  void reportBeforeGuard(ASTContext &context, const PropertyQuery &query) {
    diagnose({.place = place(context, query.expr),
              .message = "asks the device that is current before the guard is set",
              .op = operatorName(query.wrapped ? query.wrapped : query.expr)});
  }

  // Asked once for all callers: the current device would be that of the first.
  static bool isKept(ASTContext &context, const Expr *query) {
    DynTypedNode node = DynTypedNode::create(*query);
    while (!node.get<FunctionDecl>()) {
      if (const auto *variable = node.get<VarDecl>(); variable && variable->hasGlobalStorage())
        return true;
      const DynTypedNodeList parents = context.getParents(node);
      if (parents.empty())
        return false;
      node = parents[0];
    }
    return false;
  }

  // Kernels are launched on the current device, so its properties are the ones that fit them.
  static std::optional<FixItHint> currentDevice(ASTContext &context, const PropertyQuery &query) {
    const SourceRange range = query.device->IgnoreParenImpCasts()->getSourceRange();
    if (query.wrapped || !isa<IntegerLiteral>(query.device->IgnoreParenImpCasts()) ||
        !range.getBegin().isFileID() || isKept(context, query.expr) ||
        !sees(context, "c10::cuda::current_device"))
      return std::nullopt;
    return FixItHint::CreateReplacement(range, "c10::cuda::current_device()");
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(ZeroPropertiesCheck, zero_properties)
