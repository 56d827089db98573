#include "analyzer/model/data/host_data.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/model.h"

namespace devsan::analyzer {

using namespace clang;

HostData::HostData(DeviceModel &model) : model_(model) {
  data_.add(model.data(), /*of_test=*/false);
  data_.settle();
}

std::vector<Path> HostData::of(const FunctionDecl *function) const {
  std::vector<Path> host;
  const auto add = [&](Path path) {
    if (const std::optional<DataHolder> holder = holderOf(path); holder && data_.isOnHost(*holder))
      host.push_back(std::move(path));
  };
  // Other files may call the method that it overrides.
  const auto *method = dyn_cast<CXXMethodDecl>(function);
  if (!function->isExternallyVisible() && !(method && method->isVirtual()))
    for (const ParmVarDecl *parameter : function->parameters())
      add({parameter, {}});
  const CXXRecordDecl *owner = isa<CXXConstructorDecl>(function) ? nullptr : ownerOf(function);
  if (owner && owner->hasDefinition() && isWholeClassHere(owner->getDefinition()))
    for (const FieldDecl *member : owner->getDefinition()->fields())
      if (member->getAccess() == AS_private)
        add({nullptr, {member}});
  return host;
}

// Nobody else can set its private members.
bool HostData::isWholeClassHere(const CXXRecordDecl *owner) const {
  if (owner->hasFriends())
    return false;
  return llvm::all_of(owner->decls(), [&](const Decl *part) {
    if (const auto *nested = dyn_cast<CXXRecordDecl>(part))
      return nested->isInjectedClassName();
    if (isa<FunctionTemplateDecl, ClassTemplateDecl>(part))
      return false;
    const auto *method = dyn_cast<CXXMethodDecl>(part);
    const FunctionDecl *body = nullptr;
    return !method || method->isImplicit() || method->isDefaulted() || method->isDeleted() ||
           (method->hasBody(body) && model_.ownFacts(body));
  });
}

} // namespace devsan::analyzer
