#include "analyzer/model/host_data.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/written_arguments.h"
#include "analyzer/model/model.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// How far callers are followed.
constexpr unsigned kMaxCallers = 3;

// The member of `this` that `expr` names, or is a part of.
const FieldDecl *ownMember(const Expr *expr) {
  const FieldDecl *outermost = nullptr;
  for (expr = strip(expr); const auto *member = dyn_cast<MemberExpr>(expr);
       expr = strip(member->getBase()))
    outermost = dyn_cast<FieldDecl>(member->getMemberDecl());
  return isa<CXXThisExpr>(expr) ? outermost : nullptr;
}

// Members that a function lets others set: by reference, by address.
class HandedOut : public AstVisitor {
public:
  std::set<const FieldDecl *> members;

  explicit HandedOut(const FunctionDecl *function)
      : returns_(isWrittenThrough(function->getReturnType())) {
    TraverseStmt(function->getBody());
  }

  bool VisitCallExpr(CallExpr *call) override {
    forEachWritten(call, [&](const Expr *argument) { note(argument); });
    return true;
  }
  bool VisitUnaryOperator(UnaryOperator *op) override {
    if (op->getOpcode() == UO_AddrOf)
      note(op->getSubExpr());
    return true;
  }
  bool VisitReturnStmt(ReturnStmt *result) override {
    if (returns_ && result->getRetValue())
      note(result->getRetValue());
    return true;
  }

private:
  void note(const Expr *expr) {
    if (const FieldDecl *member = ownMember(expr))
      members.insert(member);
  }

  bool returns_;
};

using Places = std::map<Path, std::vector<Place>>;

bool isHost(const Place &place, const Places &members) {
  return place.onHost() || place.is(Place::Kind::kNone) ||
         (place.is(Place::Kind::kOf) && members.contains(place.of));
}

// Leaves those that only ever get data of the host, and get some.
std::set<Path> onlyHost(Places members) {
  for (bool changed = true; changed;) {
    const std::size_t before = members.size();
    std::erase_if(members, [&](const auto &member) {
      bool is_set = false;
      for (const auto &[whole, places] : members)
        if (member.first.startsWith(whole))
          for (const Place &place : places) {
            if (!isHost(place, members))
              return true;
            is_set |= !place.is(Place::Kind::kNone);
          }
      return !is_set;
    });
    changed = members.size() != before;
  }
  std::set<Path> host;
  for (const auto &[path, places] : members)
    host.insert(path);
  return host;
}

} // namespace

std::vector<Path> HostData::of(const FunctionDecl *function) {
  std::vector<Path> host;
  if (!scan_.operators.contains(function->getCanonicalDecl()))
    for (const ParmVarDecl *parameter : function->parameters())
      if (holdsTensor(parameter->getType()) && callersGiveHost(parameter, kMaxCallers))
        host.push_back({parameter, {}});
  const CXXRecordDecl *owner = isa<CXXConstructorDecl>(function) ? nullptr : ownerOf(function);
  if (owner && owner->hasDefinition())
    llvm::append_range(host, keptBy(owner->getDefinition()));
  return host;
}

bool HostData::callersGiveHost(const ParmVarDecl *parameter, unsigned depth) {
  const auto *function = dyn_cast<FunctionDecl>(parameter->getDeclContext());
  const unsigned index = parameter->getFunctionScopeIndex();
  if (!function || depth == 0)
    return false;
  const auto callers = scan_.callers.find(function->getCanonicalDecl());
  return callers != scan_.callers.end() &&
         llvm::all_of(callers->second, [&](const FileScan::Caller &caller) {
           const auto *call = dyn_cast<CallExpr>(caller.call);
           const FunctionFacts *facts = call ? own_facts_(caller.function) : nullptr;
           if (!facts || index >= call->getNumArgs() || isa<CXXOperatorCallExpr>(call))
             return false;
           const Place place = facts->value(call->getArg(index)).place;
           if (!place.is(Place::Kind::kOf))
             return place.onHost();
           if (!place.of.root)
             return ownerOf(caller.function) && keptBy(ownerOf(caller.function)).contains(place.of);
           const auto *given = dyn_cast<ParmVarDecl>(place.of.root);
           return given && given != parameter && place.of.fields.empty() &&
                  callersGiveHost(given, depth - 1);
         });
}

// Of private members, where all code of the class is in the file.
const std::set<Path> &HostData::keptBy(const CXXRecordDecl *owner) {
  const auto [known, is_new] = kept_.try_emplace(owner);
  // Modules' and metrics' state may follow them.
  if (!is_new || DeviceModel::isStateful(owner) || owner->hasFriends())
    return known->second;
  Places members;
  std::set<const FieldDecl *> handed_out;
  for (const CXXMethodDecl *method : owner->methods()) {
    if (method->isImplicit() || method->isDefaulted() || method->isDeleted())
      continue;
    const FunctionDecl *body = nullptr;
    const FunctionFacts *facts = method->hasBody(body) ? own_facts_(body) : nullptr;
    if (!facts)
      return kept_[owner];
    handed_out.merge(HandedOut(body).members);
    for (const Operation &operation : facts->operations)
      if (operation.kind == Operation::Kind::kAssign && operation.path && !operation.path->root &&
          !operation.path->fields.empty() && operation.path->fields[0]->getAccess() == AS_private)
        members[*operation.path].push_back(operation.result.place);
  }
  std::erase_if(members,
                [&](const auto &member) { return handed_out.contains(member.first.fields[0]); });
  return kept_[owner] = onlyHost(std::move(members));
}

} // namespace devsan::analyzer
