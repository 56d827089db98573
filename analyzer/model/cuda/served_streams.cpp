#include "analyzer/model/cuda/served_streams.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

const Expr *streamSource(const Expr *stream) {
  stream = strip(stream)->IgnoreParenCasts();
  while (const auto *member = dyn_cast<CXXMemberCallExpr>(stream))
    stream = strip(member->getImplicitObjectArgument())->IgnoreParenCasts();
  return stream;
}

// Given to a function whose declaration is not there: such a call keeps its arguments, or is lost
// together with every use of the variable.
bool isGivenToUnknown(const VarDecl *variable, const CudaWork &work) {
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

// The tensor parameter whose work the stream is given to. Where a launch is in the function, that
// is what the rule on guards is about.
const ValueDecl *servedBy(const CurrentStream &stream, const CudaWork &work) {
  const auto tensors =
      llvm::make_filter_range(work.function->parameters(), [](const ParmVarDecl *parameter) {
        return isTensor(parameter->getType());
      });
  if (tensors.empty())
    return nullptr;
  const ValueDecl *first = *tensors.begin();
  for (const Launch &launch : work.launches) {
    const auto *reference =
        launch.stream ? dyn_cast<DeclRefExpr>(streamSource(launch.stream)) : nullptr;
    if (!launch.stream ||
        !(contains(launch.stream, [&](const Stmt *part) { return part == stream.expr; }) ||
          (reference && stream.variable && reference->getDecl() == stream.variable)))
      continue;
    const ValueDecl *tensor = CudaProgram::tensorOf(launch.expr, work);
    return isa_and_nonnull<ParmVarDecl>(tensor) && isTensor(tensor->getType()) ? tensor : first;
  }
  return stream.variable && isGivenToUnknown(stream.variable, work) ? first : nullptr;
}

} // namespace

std::vector<ServedStream> bareStreams(const CudaWork &work) {
  std::vector<ServedStream> streams;
  if (llvm::any_of(work.launches,
                   [](const Launch &launch) { return launch.kind == Launch::Kind::kKernel; }))
    return streams;
  for (const CurrentStream &stream : work.current_streams)
    if (!stream.guarded && argumentsOf(stream.expr).empty())
      if (const ValueDecl *tensor = servedBy(stream, work))
        streams.push_back({stream.expr, tensor});
  return streams;
}

} // namespace devsan::analyzer
