#include "analyzer/model/data_holder.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/model.h"

#include <clang/Index/USRGeneration.h>
#include <llvm/ADT/SmallString.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

std::optional<DataHolder> named(const NamedDecl *decl, int parameter = -1) {
  llvm::SmallString<128> usr;
  if (index::generateUSRForDecl(decl, usr))
    return std::nullopt;
  return DataHolder{std::string(usr), parameter, decl->getDeclName().getAsString(), {}};
}

std::optional<DataHolder> ofFunction(const FunctionDecl *function, int parameter = -1) {
  const auto *method = dyn_cast<CXXMethodDecl>(function);
  if (isLibraryDecl(function) || (method && method->getParent()->isLambda()))
    return std::nullopt;
  return named(writtenFunction(function), parameter);
}

} // namespace

std::optional<DataHolder> holderOf(const Path &path) {
  const ValueDecl *decl = path.fields.empty() ? path.root : path.fields.back();
  if (const auto *function = dyn_cast_or_null<FunctionDecl>(decl))
    return ofFunction(function);
  if (const auto *parameter = dyn_cast_or_null<ParmVarDecl>(decl)) {
    const auto *function = dyn_cast<FunctionDecl>(parameter->getDeclContext());
    return function ? ofFunction(function, parameter->getFunctionScopeIndex()) : std::nullopt;
  }
  const auto *member = dyn_cast_or_null<FieldDecl>(decl);
  const auto *owner = member ? dyn_cast<CXXRecordDecl>(member->getParent()) : nullptr;
  if (!owner || owner->isLambda() || isLibraryDecl(owner) || DeviceModel::isStateful(owner))
    return std::nullopt;
  std::optional<DataHolder> holder = named(member);
  if (holder)
    holder->owner = owner->getName().str();
  return holder;
}

std::optional<DataHolder> holderOf(const Place &place) {
  const bool is_named = place.is(Place::Kind::kOf) || place.is(Place::Kind::kElsewhere);
  return is_named ? holderOf(place.of) : std::nullopt;
}

std::vector<DataHolder> holdersOf(const Place &place) {
  const std::optional<DataHolder> holder = holderOf(place);
  return holder ? std::vector<DataHolder>{*holder} : std::vector<DataHolder>();
}

} // namespace devsan::analyzer
