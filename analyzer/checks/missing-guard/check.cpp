#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/include_fix.h"
#include "analyzer/ast/operator_name.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/cuda_check.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/fix_scope.h"

namespace devsan::analyzer {
namespace {

using namespace clang;

class MissingGuardCheck : public CudaCheck {
public:
  using CudaCheck::CudaCheck;

protected:
  void examine(const CudaProgram &program, ASTContext &context) override {
    for (const CudaWork &work : program.functions()) {
      if (!work.touches_tensors)
        continue;
      const bool callers_guard = program.callersGuard(work);
      if (!callers_guard)
        reportQueries(context, work);
      if (isGuardedByDispatcher(work.function))
        continue;
      const auto is_bare = [&](const auto &part) {
        return !part.guarded && (!callers_guard || part.in_new_thread);
      };
      // One finding a line: a macro that takes the stream and launches has one place.
      llvm::DenseSet<std::pair<FileID, unsigned>> places;
      const auto is_new = [&](const Expr *expr) {
        const SourceManager &sources = context.getSourceManager();
        const SourceLocation written = place(context, expr);
        return places.insert({sources.getFileID(written), sources.getSpellingLineNumber(written)})
            .second;
      };
      const auto may_miss = [&](const auto &part) {
        return is_bare(part) && (part.in_new_thread || !fitsCurrentDevice(part.expr, work));
      };
      for (const Launch &launch : work.launches)
        if (isOnDevice(launch) && may_miss(launch) && is_new(launch.expr))
          report(context, work, launch.expr);
      for (const WorkCall &call : work.calls)
        if (const Expr *launch = may_miss(call) ? program.bareLaunch(call.callee) : nullptr)
          if (is_new(call.expr))
            report(context, work, call.expr, launch);
      for (const HandedStream &handed : work.handed_streams)
        if (may_miss(handed) && is_new(handed.expr))
          reportHanded(context, work, handed);
      const bool has_launches = !places.empty();
      if (isInDevsanCheck())
        for (const WorkCall &call : work.calls)
          if (may_miss(call) && mayLaunchElsewhere(program, work, call) && is_new(call.expr))
            reportLauncher(context, work, call);
      if (!has_launches)
        continue;
      for (const CurrentStream &stream : work.current_streams)
        if (!stream.guarded && stream.variable && is_new(stream.expr))
          reportStream(context, work, stream);
    }
  }

private:
  static bool isOnDevice(const Launch &launch) {
    return launch.kind == Launch::Kind::kKernel || launch.kind == Launch::Kind::kAlgorithm;
  }

  // Its tensors were made where it runs: on the device that is current in this thread.
  static bool fitsCurrentDevice(const Expr *call, const CudaWork &work) {
    const auto fit = [&](const auto &tensors) {
      return !tensors.empty() && llvm::all_of(tensors, [&](const ValueDecl *tensor) {
        return isMadeOnCurrent(tensor, work);
      });
    };
    const auto given = CudaProgram::tensorsOf(call, work);
    return given.empty() ? fit(work.tensors) : fit(given);
  }

  // `launcher` is the USR of a function that may launch.
  void report(ASTContext &context, const CudaWork &work, const Expr *call,
              const Expr *inner = nullptr, llvm::StringRef launcher = "") {
    const ValueDecl *tensor = CudaProgram::tensorOf(call, work);
    if (!tensor)
      return;
    Diagnosis finding{.place = place(context, call),
                      .message = llvm::formatv("the kernel runs on the current device, which need "
                                               "not be that of '{0}': no guard is live here",
                                               tensor->getName())
                                     .str(),
                      .op = operatorName(inner ? inner : call),
                      .fix = guardBefore(context, work, tensor),
                      .launcher = launcher.str()};
    if (inner)
      finding.related.push_back({place(context, inner), "launched here"});
    diagnose(std::move(finding));
  }

  // A method of an object that was told the device when it was made here.
  static bool isOfToldObject(const CallExpr *call, const CudaWork &work) {
    const auto *of_object = dyn_cast<CXXMemberCallExpr>(call);
    const auto *object =
        of_object ? dyn_cast<DeclRefExpr>(strip(of_object->getImplicitObjectArgument())) : nullptr;
    const auto *variable = object ? dyn_cast<VarDecl>(object->getDecl()) : nullptr;
    const Expr *init = variable ? variable->getInit() : nullptr;
    const auto *made = init ? dyn_cast<CXXConstructExpr>(strip(init)) : nullptr;
    return made && anyNamesDevice(llvm::ArrayRef(made->getArgs(), made->getNumArgs()));
  }

  // A function of another file that is given memory of tensors, and none of them.
  static bool mayLaunchElsewhere(const CudaProgram &program, const CudaWork &work,
                                 const WorkCall &call) {
    const auto *method = dyn_cast<CXXMethodDecl>(call.callee);
    return !program.work(call.callee) && call.callee->isExternallyVisible() &&
           !(method && method->isVirtual()) && !isOfToldObject(call.expr, work) &&
           !CudaProgram::tensorsOf(call.expr, work).empty() &&
           llvm::none_of(call.callee->parameters(), [](const ParmVarDecl *parameter) {
             return holdsTensor(parameter->getType());
           });
  }

  void reportLauncher(ASTContext &context, const CudaWork &work, const WorkCall &call) {
    llvm::SmallString<128> usr;
    if (!index::generateUSRForDecl(call.callee, usr))
      report(context, work, call.expr, nullptr, usr);
  }

  void reportHanded(ASTContext &context, const CudaWork &work, const HandedStream &handed) {
    const ValueDecl *tensor = CudaProgram::tensorOf(handed.expr, work);
    if (!tensor)
      return;
    diagnose({.place = place(context, handed.expr),
              .message = llvm::formatv("the call puts work on a stream while the current device "
                                       "need not be that of '{0}': no guard is live here",
                                       tensor->getName())
                             .str(),
              .op = operatorName(handed.expr),
              .fix = guardBefore(context, work, tensor)});
  }

  // The stream of a bare launch is the wrong one too, and a guard has to come before it.
  void reportStream(ASTContext &context, const CudaWork &work, const CurrentStream &stream) {
    const ValueDecl *tensor = work.tensors.empty() ? nullptr : work.tensors.front();
    if (!tensor)
      return;
    diagnose({.place = place(context, stream.expr),
              .message = llvm::formatv("'{0}' is the stream of the current device, which need not "
                                       "be that of '{1}': no guard is live here",
                                       stream.variable->getName(), tensor->getName())
                             .str(),
              .op = operatorName(stream.expr),
              .fix = guardBefore(context, work, tensor)});
  }

  // What was asked of the current device before the guard set the right one.
  void reportQueries(ASTContext &context, const CudaWork &work) {
    for (const DeviceQuery &query : work.queries) {
      if (query.guarded || !query.guard_device)
        continue;
      diagnose(
          {.place = place(context, query.expr),
           .message = llvm::formatv("'{0}' answers for the device that is current before the guard",
                                    calledFunction(query.expr)->getName())
                          .str(),
           .op = operatorName(query.expr),
           .related = {{place(context, query.guard_device), "the guard is set here"}}});
    }
  }

  // A guard in front of everything in the function that asks which device is current: the same one
  // for all launches.
  llvm::SmallVector<FixItHint, 4> guardBefore(ASTContext &context, const CudaWork &work,
                                              const ValueDecl *tensor) {
    if (!isa<ParmVarDecl>(tensor) || !isTensor(tensor->getType()) ||
        isStableTensor(tensor->getType()) || usesName(work.function, kGuardName) ||
        usesGoto(work.function) || !servesOnly(context, work, tensor))
      return {};
    std::vector<const BlockPath *> paths;
    for (const Launch &launch : work.launches)
      paths.push_back(&launch.path);
    for (const WorkCall &call : work.calls)
      paths.push_back(&call.path);
    for (const HandedStream &handed : work.handed_streams)
      paths.push_back(&handed.path);
    for (const CurrentStream &stream : work.current_streams)
      paths.push_back(&stream.path);
    // What is made before the first launch is made for it.
    const SourceManager &sources = context.getSourceManager();
    const auto is_first = [&](const MadeOnCurrent &made) {
      return llvm::all_of(work.launches, [&](const Launch &launch) {
        return sources.isBeforeInTranslationUnit(made.expr->getBeginLoc(),
                                                 launch.expr->getBeginLoc());
      });
    };
    for (const MadeOnCurrent &made : work.made_on_current)
      if (is_first(made))
        paths.push_back(&made.path);
    const Stmt *statement = firstOfInnermostCommonBlock(context, paths);
    const std::optional<std::string> device =
        statement ? FixScope(work.function, statement).device(Path{tensor, {}}) : std::nullopt;
    if (!device)
      return {};
    llvm::SmallVector<FixItHint, 4> fixes;
    // clang-tidy would insert what several findings bring several times.
    if (!isInDevsanCheck() &&
        (!sees(context, "c10::cuda::CUDAGuard") || !guarded_.insert(statement).second))
      return {};
    if (!sees(context, "c10::cuda::CUDAGuard")) {
      const auto include =
          includeCudaHeader(context, work.function->getBeginLoc(), "c10/cuda/CUDAGuard.h");
      if (!include)
        return {};
      fixes.push_back(*include);
    }
    const std::string guard = "const c10::cuda::CUDAGuard " + kGuardName.str() + "(" + *device +
                              ");\n" + indentation(context, statement->getBeginLoc());
    fixes.push_back(FixItHint::CreateInsertion(statement->getBeginLoc(), guard));
    return fixes;
  }

  // No launch works on the memory of other parameters alone, whose device may be another.
  bool servesOnly(ASTContext &context, const CudaWork &work, const ValueDecl *tensor) const {
    const std::shared_ptr<CudaProgram> program = CudaProgram::of(context);
    std::vector<const Expr *> bare;
    for (const Launch &launch : work.launches)
      if (isOnDevice(launch) && !launch.guarded)
        bare.push_back(launch.expr);
    for (const WorkCall &call : work.calls)
      if (!call.guarded && (program->bareLaunch(call.callee) ||
                            (isInDevsanCheck() && mayLaunchElsewhere(*program, work, call))))
        bare.push_back(call.expr);
    for (const HandedStream &handed : work.handed_streams)
      if (!handed.guarded)
        bare.push_back(handed.expr);
    bool serves = false;
    for (const Expr *call : bare) {
      const auto tensors = CudaProgram::tensorsOf(call, work);
      const bool is_given = llvm::is_contained(tensors, tensor);
      serves |= is_given;
      if (!is_given && llvm::any_of(tensors, [](const ValueDecl *other) {
            return isa<ParmVarDecl, FieldDecl>(other);
          }))
        return false;
    }
    return serves;
  }

  // A declaration may not stand between the labels of a `switch`.
  static bool isSwitchBody(const CompoundStmt *block) {
    return llvm::any_of(block->body(),
                        [](const Stmt *statement) { return isa<SwitchCase>(statement); });
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
      if (!isSwitchBody(block))
        first = earliest;
    }
  }

  static std::string indentation(ASTContext &context, SourceLocation location) {
    const unsigned column = context.getSourceManager().getSpellingColumnNumber(location);
    return std::string(column - 1, ' ');
  }

  llvm::SmallPtrSet<const Stmt *, 8> guarded_; // in front of which a fix sets one
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(MissingGuardCheck, missing_guard)
