#include "analyzer/check_registry.h"
#include "analyzer/support/cuda_check.h"
#include "analyzer/support/torch_api.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

constexpr char kGuardName[] = "device_guard";

// ATen sets the device before it calls these.
bool isGuardedByDispatcher(const FunctionDecl *function) {
  return llvm::StringRef(function->getQualifiedNameAsString()).starts_with("at::native::");
}

class MissingGuardCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    for (const CudaWork &work : program.functions()) {
      if (!work.touches_tensors || isGuardedByDispatcher(work.function) ||
          program.callersGuard(work))
        continue;
      for (const Launch &launch : work.launches)
        if (launch.kind == Launch::Kind::kKernel && !launch.guarded)
          report(context, work, launch.expr, nullptr);
      for (const WorkCall &call : work.calls)
        if (!call.guarded)
          if (const Launch *launch = program.bareLaunch(call.callee))
            report(context, work, call.expr, launch);
    }
  }

private:
  void report(ASTContext &context, const CudaWork &work, const CallExpr *call,
              const Launch *inner) {
    const ValueDecl *tensor = CudaProgram::tensorOf(call, work);
    if (!tensor)
      return;
    {
      auto finding = diag(place(context, call), "the kernel runs on the current device, which need "
                                                "not be that of '%0': no guard is live here");
      finding << tensor->getName();
      if (auto fix = guardBefore(context, work, tensor))
        finding << *fix;
    }
    if (inner)
      diag(place(context, inner->expr), "launched here", DiagnosticIDs::Note);
  }

  // A guard in front of everything in the function that asks which device is current: the same one
  // for all launches.
  std::optional<FixItHint> guardBefore(ASTContext &context, const CudaWork &work,
                                       const ValueDecl *tensor) {
    if (!isa<ParmVarDecl>(tensor) || !isTensor(tensor->getType()) ||
        !declares(context, "c10::cuda::CUDAGuard") || usesName(work, kGuardName))
      return std::nullopt;
    std::vector<const BlockPath *> paths;
    for (const Launch &launch : work.launches)
      paths.push_back(&launch.path);
    for (const WorkCall &call : work.calls)
      paths.push_back(&call.path);
    for (const CurrentStream &stream : work.current_streams)
      paths.push_back(&stream.path);
    const Stmt *statement = firstOfInnermostCommonBlock(context, paths);
    if (!statement)
      return std::nullopt;
    const std::string guard =
        ("const c10::cuda::CUDAGuard " + llvm::StringRef(kGuardName) + "(" + tensor->getName() +
         ".device());\n" + indentation(context, statement->getBeginLoc()))
            .str();
    return FixItHint::CreateInsertion(statement->getBeginLoc(), guard);
  }

  static const Stmt *firstOfInnermostCommonBlock(ASTContext &context,
                                                 const std::vector<const BlockPath *> &paths) {
    if (paths.empty())
      return nullptr;
    const Stmt *first = nullptr;
    for (std::size_t depth = 0;; ++depth) {
      const CompoundStmt *block = nullptr;
      const Stmt *earliest = nullptr;
      for (const BlockPath *path : paths) {
        if (path->size() <= depth || (block && (*path)[depth].block != block))
          return first;
        block = (*path)[depth].block;
        const Stmt *statement = (*path)[depth].statement;
        if (!earliest || context.getSourceManager().isBeforeInTranslationUnit(
                             statement->getBeginLoc(), earliest->getBeginLoc()))
          earliest = statement;
      }
      first = earliest;
    }
  }

  static bool usesName(const CudaWork &work, llvm::StringRef name) {
    return llvm::any_of(work.initialisers,
                        [&](const auto &entry) { return entry.first->getName() == name; });
  }

  static std::string indentation(ASTContext &context, SourceLocation location) {
    const unsigned column = context.getSourceManager().getSpellingColumnNumber(location);
    return std::string(column - 1, ' ');
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(MissingGuardCheck, missing_guard)
