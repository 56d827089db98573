// The guard that a fix sets, and the stream that it names.
#include "analyzer/answers/edits.h"
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/include_fix.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/visible_names.h"
#include "analyzer/model/fix_scope.h"

#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr char kCurrentStream[] = "at::cuda::getCurrentCUDAStream";

// In the launch itself and not made by a macro.
bool isWritten(const Launch &launch, SourceRange range) {
  return range.getBegin().isFileID() && range.getEnd().isFileID() &&
         !(range.getBegin() < launch.expr->getBeginLoc()) &&
         !(launch.expr->getEndLoc() < range.getEnd());
}

std::optional<FixItHint> currentStreamUsed(ASTContext &context, const Launch &launch) {
  if (!sees(context, kCurrentStream))
    return std::nullopt;
  const std::string current = std::string(kCurrentStream) + "()";
  if (launch.stream) {
    const SourceRange range = launch.stream->getSourceRange();
    // A variable has other uses, and a default argument has no text here.
    if (isa<DeclRefExpr>(launch.stream->IgnoreParenImpCasts()) || !isWritten(launch, range))
      return std::nullopt;
    return FixItHint::CreateReplacement(range, current);
  }
  const auto *kernel = dyn_cast<CUDAKernelCallExpr>(launch.expr);
  const CallExpr *config = kernel ? kernel->getConfig() : nullptr;
  if (!config)
    return std::nullopt;
  unsigned given = 0;
  while (given < config->getNumArgs() && !isa<CXXDefaultArgExpr>(config->getArg(given)))
    ++given;
  if (given < 2 || given > 3 || !isWritten(launch, config->getArg(given - 1)->getSourceRange()))
    return std::nullopt;
  const SourceLocation end = Lexer::getLocForEndOfToken(
      config->getArg(given - 1)->getEndLoc(), 0, context.getSourceManager(), context.getLangOpts());
  return FixItHint::CreateInsertion(end, (given == 2 ? ", 0, " : ", ") + current);
}

// A declaration may not stand between the labels of a `switch`.
bool isSwitchBody(const CompoundStmt *block) {
  return llvm::any_of(block->body(),
                      [](const Stmt *statement) { return isa<SwitchCase>(statement); });
}

const Stmt *firstOfInnermostCommonBlock(ASTContext &context,
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

std::string indentation(ASTContext &context, SourceLocation location) {
  const unsigned column = context.getSourceManager().getSpellingColumnNumber(location);
  return std::string(column - 1, ' ');
}

} // namespace

Edits SourceProgram::useCurrentStream(Code expr, Function function) {
  for (const Launch &launch : work(function).launches)
    if (expr == launch.expr)
      if (const std::optional<FixItHint> edit = currentStreamUsed(context(), launch))
        return editsOf(*edit);
  return {};
}

// A guard in front of everything in the function that asks which device is current: the same one
// for all launches.
Edits SourceProgram::guardBefore(Function function, Variable variable) {
  const CudaWork &work = this->work(function);
  const ValueDecl *tensor = declOf(variable);
  if (!isa<ParmVarDecl>(tensor) || !isTensor(tensor->getType()) ||
      isStableTensor(tensor->getType()) || usesName(work.function, kGuardName) ||
      usesGoto(work.function) || !servesOnly(work, tensor))
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
  const SourceManager &sources = context().getSourceManager();
  const auto is_first = [&](const MadeOnCurrent &made) {
    return llvm::all_of(work.launches, [&](const Launch &launch) {
      return sources.isBeforeInTranslationUnit(made.expr->getBeginLoc(),
                                               launch.expr->getBeginLoc());
    });
  };
  for (const MadeOnCurrent &made : work.made_on_current)
    if (is_first(made))
      paths.push_back(&made.path);
  const Stmt *statement = firstOfInnermostCommonBlock(context(), paths);
  const std::optional<std::string> device =
      statement ? FixScope(work.function, statement).device(Path{tensor, {}}) : std::nullopt;
  if (!device || isForHip(context()))
    return {};
  Hints fixes;
  // clang-tidy would insert what several findings bring several times.
  if (!isInDevsanCheck() &&
      (!analyzer::sees(context(), "c10::cuda::CUDAGuard") || !guarded_.insert(statement).second))
    return {};
  if (!analyzer::sees(context(), "c10::cuda::CUDAGuard")) {
    const auto include =
        includeCudaHeader(context(), work.function->getBeginLoc(), "c10/cuda/CUDAGuard.h");
    if (!include)
      return {};
    fixes.push_back(*include);
  }
  const std::string guard = "const c10::cuda::CUDAGuard " + kGuardName.str() + "(" + *device +
                            ");\n" + indentation(context(), statement->getBeginLoc());
  fixes.push_back(FixItHint::CreateInsertion(statement->getBeginLoc(), guard));
  return editsOf(fixes);
}

// No launch works on the memory of other parameters alone, whose device may be another.
bool SourceProgram::servesOnly(const CudaWork &work, const ValueDecl *tensor) {
  std::vector<const Expr *> bare;
  for (const Launch &launch : work.launches)
    if (isLaunch(launch.kind) && !launch.guarded)
      bare.push_back(launch.expr);
  for (const WorkCall &call : work.calls)
    if (!call.guarded &&
        (cuda().bareLaunch(call.callee) || (isInDevsanCheck() && mayLaunchElsewhere(work, call))))
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

} // namespace devsan::analyzer
