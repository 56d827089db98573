#include "analyzer/calls/file_calls.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/model.h"

#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Index/USRGeneration.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallString.h>

#include <optional>

namespace devsan::analyzer {

using namespace clang;

namespace {

// Functions that are named elsewhere than in the calls that are known: in tables, registrations,
// initialisers of globals, calls in templates that only an instantiation resolves.
class OpenFunctions : public AstVisitor {
public:
  explicit OpenFunctions(const llvm::DenseSet<const Expr *> &callees) : callees_(callees) {}
  llvm::DenseSet<const FunctionDecl *> found;

  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    note(reference, reference->getDecl());
    return true;
  }
  bool VisitMemberExpr(MemberExpr *member) override {
    note(member, member->getMemberDecl());
    return true;
  }
  bool VisitOverloadExpr(OverloadExpr *overloads) override {
    for (const NamedDecl *decl : overloads->decls())
      note(overloads, decl->getUnderlyingDecl());
    return true;
  }

private:
  void note(const Expr *reference, const NamedDecl *decl) {
    if (const auto *function = decl->getAsFunction(); function && !callees_.contains(reference))
      found.insert(writtenFunction(function));
  }

  const llvm::DenseSet<const Expr *> &callees_;
};

bool startsThreads(const CudaWork &work) {
  const auto runs_there = [](const auto &part) { return part.in_new_thread; };
  return llvm::any_of(work.launches, runs_there) || llvm::any_of(work.calls, runs_there) ||
         llvm::any_of(work.handed_streams, runs_there);
}

// Always fails before it has done anything: what a build without CUDA has in the place of the
// function that launches.
bool onlyFails(const ASTContext &context, const Stmt *statement) {
  if (const auto *block = dyn_cast<CompoundStmt>(statement)) {
    for (const Stmt *part : block->body())
      if (onlyFails(context, part))
        return true;
      else if (!isa<Expr, DeclStmt, NullStmt>(part))
        return false;
    return false;
  }
  if (const auto *once = dyn_cast<DoStmt>(statement)) // of a macro
    return onlyFails(context, once->getBody());
  if (const auto *check = dyn_cast<IfStmt>(statement)) { // TORCH_CHECK(false, …)
    bool holds = false;
    return check->getCond() && !check->getCond()->isValueDependent() &&
           check->getCond()->EvaluateAsBooleanCondition(holds, context) && holds &&
           onlyFails(context, check->getThen());
  }
  if (const auto *full = dyn_cast<ExprWithCleanups>(statement))
    statement = full->getSubExpr();
  const auto *call = dyn_cast<CallExpr>(statement);
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return isa<CXXThrowExpr>(statement) || (callee && callee->isNoReturn());
}

class Builder {
public:
  Builder(const CudaProgram &program, DeviceModel &model, const SourceManager &sources)
      : program_(program), model_(model), sources_(sources) {}
  FileCalls calls;

  // None where the function has no name across files.
  std::optional<unsigned> index(const FunctionDecl *function) {
    const auto [known, is_new] = indices_.try_emplace(function);
    if (is_new)
      if (std::string usr = usrOf(function); !usr.empty()) {
        known->second = calls.functions.size();
        calls.functions.push_back(describe(function, std::move(usr)));
      }
    return known->second;
  }

private:
  FileCalls::Function describe(const FunctionDecl *function, std::string usr) const {
    FileCalls::Function described;
    described.usr = std::move(usr);
    described.name = function->getNameInfo().getName().getAsString();
    if (const FunctionDecl *body = nullptr;
        function->hasBody(body) && !onlyFails(function->getASTContext(), body->getBody()))
      described.body = place(body->getLocation());
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    const CudaWork *work = program_.work(function);
    described.open = (method && method->isVirtual()) || (work && startsThreads(*work));
    described.knows_tensors = work && work->touches_tensors;
    if (const Expr *launch = program_.bareLaunch(function))
      described.launch = place(launch->getBeginLoc());
    described.is_step = DeviceModel::isStep(function) || model_.isOperator(function);
    return described;
  }

  FileCalls::Place place(SourceLocation location) const {
    const auto [file, offset] = sources_.getDecomposedExpansionLoc(location);
    const OptionalFileEntryRef entry = sources_.getFileEntryRefForID(file);
    if (!entry)
      return {};
    llvm::SmallString<256> path(entry->getName());
    sources_.getFileManager().makeAbsolutePath(path);
    return {std::string(path), sources_.getLineNumber(file, offset),
            sources_.getColumnNumber(file, offset)};
  }

  const CudaProgram &program_;
  DeviceModel &model_;
  const SourceManager &sources_;
  llvm::DenseMap<const FunctionDecl *, std::optional<unsigned>> indices_;
};

} // namespace

std::string usrOf(const FunctionDecl *function) {
  llvm::SmallString<128> usr;
  return index::generateUSRForDecl(writtenFunction(function), usr) ? std::string()
                                                                   : std::string(usr);
}

FileCalls collectCalls(ASTContext &context) {
  const std::shared_ptr<CudaProgram> program = CudaProgram::of(context);
  llvm::DenseSet<const Expr *> callees;
  for (const CudaWork &work : program->functions())
    for (const WorkCall &call : work.calls)
      callees.insert(call.expr->getCallee()->IgnoreParenImpCasts());
  OpenFunctions open(callees);
  for (Decl *decl : context.getTraversalScope())
    open.TraverseDecl(decl);

  const std::shared_ptr<DeviceModel> model = DeviceModel::of(context);
  Builder builder(*program, *model, context.getSourceManager());
  for (const CudaWork &work : program->functions()) {
    const auto caller = builder.index(writtenFunction(work.function));
    // Whoever calls the base's method may come to this one.
    if (const auto *method = dyn_cast<CXXMethodDecl>(work.function); method && caller)
      for (const CXXMethodDecl *base : method->overridden_methods())
        if (const auto overridden =
                isLibraryDecl(base) ? std::nullopt : builder.index(writtenFunction(base)))
          builder.calls.calls.push_back({*overridden, *caller, false, true});
    // A guard of the caller's that no call tells of: that of autograd's engine.
    const bool by_engine =
        CudaProgram::isCalledByEngine(work.function) && program->callersGuard(work);
    for (const WorkCall &call : work.calls) {
      const auto callee = builder.index(call.callee);
      if (caller && callee)
        builder.calls.calls.push_back({*caller, *callee,
                                       call.guarded || (by_engine && !call.in_new_thread),
                                       model->onEachRun(call.expr, work.function)});
      else if (callee)
        builder.calls.functions[*callee].open = true;
    }
  }
  for (const FunctionDecl *function : open.found)
    if (!isLibraryDecl(function))
      if (const auto named = builder.index(function))
        builder.calls.functions[*named].open = true;
  for (const FunctionDecl *function : model->scan().operators)
    builder.index(writtenFunction(function));
  return std::move(builder.calls);
}

} // namespace devsan::analyzer
