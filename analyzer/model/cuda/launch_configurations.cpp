#include "analyzer/model/cuda/launch_configurations.h"

#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

void LaunchConfigurations::noteAssignment(const BinaryOperator *op) {
  const auto *member = dyn_cast<MemberExpr>(op->getLHS()->IgnoreParenImpCasts());
  const auto *config =
      member ? dyn_cast<DeclRefExpr>(member->getBase()->IgnoreParenImpCasts()) : nullptr;
  if (config && isStream(member->getType()))
    streams_[config->getDecl()] = op->getRHS();
}

void LaunchConfigurations::noteLaunch(const CallExpr *call, std::size_t index) {
  const Expr *first = call->getNumArgs() ? call->getArg(0)->IgnoreParenImpCasts() : nullptr;
  if (const auto *address = dyn_cast_or_null<UnaryOperator>(first))
    first = address->getSubExpr()->IgnoreParenImpCasts();
  const auto *reference = dyn_cast_or_null<DeclRefExpr>(first);
  const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
  if (variable && variable->isLocalVarDecl())
    configurations_.push_back({index, variable});
}

void LaunchConfigurations::resolve(std::vector<Launch> &launches) const {
  const auto give = [&](std::size_t index, const Expr *stream) {
    launches[index].stream = stream;
    launches[index].stream_known = true;
  };
  for (const auto &[index, config] : configurations_) {
    if (const auto assigned = streams_.find(config); assigned != streams_.end()) {
      give(index, assigned->second);
      continue;
    }
    const Expr *init = config->getInit();
    if (const auto *list = init ? dyn_cast<InitListExpr>(strip(init)) : nullptr)
      for (const Expr *value : list->inits())
        if (isStreamHandle(value->getType()))
          give(index, value);
  }
}

} // namespace devsan::analyzer
