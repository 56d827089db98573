#include "analyzer/model/data/data_holder.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/handles.h"
#include "analyzer/model/model.h"

#include <clang/Index/USRGeneration.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr int kWithoutParameters = -2; // -1 is all that a function returns

// A tensor, a device or options, or one of the standard library's containers of tensors.
bool holdsItself(QualType type) {
  type = type.getNonReferenceType();
  if (isTensor(type) || isDevice(type) || isDeviceType(type) || isTensorOptions(type))
    return true;
  const CXXRecordDecl *record = holdsTensor(type) ? type->getAsCXXRecordDecl() : nullptr;
  return record && record->isInStdNamespace() && record->getIdentifier() &&
         llvm::StringSwitch<bool>(record->getName())
             .Cases({"vector", "deque", "list", "array", "optional", "pair", "tuple"}, true)
             .Cases({"map", "unordered_map", "set", "queue", "stack"}, true)
             .Default(false);
}

std::string lineOf(const Decl *decl) {
  const SourceManager &sources = decl->getASTContext().getSourceManager();
  const auto [file, offset] = sources.getDecomposedExpansionLoc(decl->getLocation());
  const OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  if (!entry)
    return {};
  return (entry->getFileEntry().tryGetRealPathName() + ":" +
          llvm::Twine(sources.getLineNumber(file, offset)))
      .str();
}

std::optional<DataHolder> named(const NamedDecl *decl, const Decl *place, int parameter = -1) {
  llvm::SmallString<128> usr;
  if (index::generateUSRForDecl(decl, usr))
    return std::nullopt;
  DataHolder holder{std::string(usr), parameter, decl->getDeclName().getAsString(), {}, {}};
  if (place)
    holder.place = lineOf(place);
  return holder;
}

std::optional<DataHolder> ofFunction(const FunctionDecl *function, int parameter = -1) {
  const auto *method = dyn_cast<CXXMethodDecl>(function);
  if (isLibraryDecl(function) || (method && method->getParent()->isLambda()))
    return std::nullopt;
  const FunctionDecl *written = writtenFunction(function), *body = nullptr;
  return named(written, written->hasBody(body) ? body : nullptr, parameter);
}

// Tells it from the other calls of that function.
std::string placeIn(const CallExpr *call) {
  const SourceManager &sources = call->getDirectCallee()->getASTContext().getSourceManager();
  const auto [file, offset] = sources.getDecomposedExpansionLoc(call->getEndLoc());
  const OptionalFileEntryRef entry = sources.getFileEntryRefForID(file);
  return ("@" + (entry ? llvm::sys::path::filename(entry->getName()) : "") + ":" +
          llvm::Twine(offset))
      .str();
}

// Global, or a parameter of a lambda.
bool isNotFollowed(const ValueDecl *root) {
  const auto *variable = dyn_cast_or_null<VarDecl>(root);
  if (!variable)
    return false;
  const auto *method = dyn_cast<CXXMethodDecl>(variable->getDeclContext());
  return variable->hasGlobalStorage() ||
         (isa<ParmVarDecl>(variable) && method && method->getParent()->isLambda());
}

// A module, a member of one, or a parameter of its methods.
bool isOfModule(Variable variable) {
  const ValueDecl *decl = declOf(variable);
  if (!decl)
    return false;
  const auto *method = dyn_cast<CXXMethodDecl>(decl->getDeclContext());
  const auto *owner =
      method ? method->getParent() : dyn_cast<CXXRecordDecl>(decl->getDeclContext());
  return isModule(decl->getType()) ||
         (owner && (!method || isa<ParmVarDecl>(decl)) && DeviceModel::isStateful(owner));
}

} // namespace

std::optional<DataHolder> holderOf(const Path &path) {
  // `pair.first`
  if (!path.fields.empty() && isLibraryDecl(declOf(path.last())))
    return holderOf(Path{path.root, {path.fields.begin(), path.fields.end() - 1}});
  const ValueDecl *decl = declOf(path.last());
  if (const auto *function = dyn_cast_or_null<FunctionDecl>(decl))
    return holdsItself(function->getReturnType()) ? ofFunction(function) : std::nullopt;
  if (!decl || !holdsItself(decl->getType()))
    return std::nullopt;
  if (const auto *parameter = dyn_cast<ParmVarDecl>(decl)) {
    const auto *function = dyn_cast<FunctionDecl>(parameter->getDeclContext());
    const auto *constructor = dyn_cast_or_null<CXXConstructorDecl>(function);
    return function && !(constructor && DeviceModel::isStateful(constructor->getParent()))
               ? ofFunction(function, parameter->getFunctionScopeIndex())
               : std::nullopt;
  }
  const auto *member = dyn_cast<FieldDecl>(decl);
  const auto *owner = member ? dyn_cast<CXXRecordDecl>(member->getParent()) : nullptr;
  if (!owner || owner->isLambda() || owner->isUnion() || isLibraryDecl(owner) ||
      member->getType()->isReferenceType() || DeviceModel::isStateful(owner))
    return std::nullopt;
  std::optional<DataHolder> holder = named(member, member);
  if (holder)
    holder->owner = owner->getName().str();
  return holder;
}

Place placeOf(const Path &path) {
  Place place = Place::deviceOf(path);
  const ValueDecl *last = declOf(path.last());
  // `*this`, and what the module itself has.
  place.on_device = !last || namesDevice(last->getType().getNonReferenceType()) ||
                    isOfModule(path.root) || llvm::any_of(path.fields, isOfModule) ||
                    isNotFollowed(declOf(path.root));
  return place;
}

std::optional<DataHolder> holderOf(const Place &place) {
  const bool is_named = place.is(Place::Kind::kOf) || place.is(Place::Kind::kElsewhere);
  std::optional<DataHolder> holder = is_named ? holderOf(place.of) : std::nullopt;
  if (holder && place.call)
    if (const auto *call = dyn_cast<CallExpr>(exprOf(place.call));
        call && llvm::any_of(call->getDirectCallee()->parameters(), holdsData))
      holder->usr += placeIn(call);
  return holder;
}

bool holdsData(const ParmVarDecl *parameter) {
  return holdsTensor(parameter->getType()) || namesDevice(parameter->getType());
}

DataHolder withoutParameters(DataHolder result) {
  result.parameter = kWithoutParameters;
  return result;
}

} // namespace devsan::analyzer
