#include "analyzer/model/data/file_data.h"

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/model.h"
#include "analyzer/model/module_state.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLFunctionalExtras.h>

#include <map>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = FileData::Source::Kind;

class Collector {
public:
  explicit Collector(DeviceModel &model) : model_(model), scan_(model.scan()) {}

  FileData collect() {
    for (const auto &[callee, callers] : scan_.callers)
      for (const FileScan::Caller &caller : callers)
        addCall(callee, caller);
    // Whoever has its address may call it.
    for (const FunctionDecl *function : scan_.open)
      for (const ParmVarDecl *parameter : function->parameters())
        add({parameter, {}}, Place::chosen());
    for (const FunctionDecl *function : scan_.functions)
      addFunction(function);
    for (const FieldDecl *member : scan_.set_otherwise)
      add({nullptr, {member}}, Place::chosen());
    for (const auto &[function, list] : scan_.aggregates)
      addElements(function, list);
    for (unsigned i = 0; i < data_.holders.size(); ++i)
      if (!data_.holders[i].owner.empty() &&
          scan_.names_set_otherwise.contains(data_.holders[i].name))
        data_.sources.push_back({i, Kind::kOther});
    llvm::sort(data_.sources);
    data_.sources.erase(std::unique(data_.sources.begin(), data_.sources.end()),
                        data_.sources.end());
    return std::move(data_);
  }

private:
  void addCall(const FunctionDecl *callee, const FileScan::Caller &caller) {
    facts_ = model_.ownFacts(caller.function);
    llvm::ArrayRef<const Expr *> given;
    if (const auto *call = dyn_cast<CallExpr>(caller.call); call && !isa<CXXOperatorCallExpr>(call))
      given = llvm::ArrayRef(call->getArgs(), call->getNumArgs());
    else if (const auto *made = dyn_cast<CXXConstructExpr>(caller.call))
      given = llvm::ArrayRef(made->getArgs(), made->getNumArgs());
    for (const ParmVarDecl *parameter : callee->parameters()) {
      const unsigned i = parameter->getFunctionScopeIndex();
      const bool is_seen = facts_ && i < given.size();
      add({parameter, {}}, is_seen ? facts_->value(given[i]).place : Place::unknown());
    }
  }

  void addFunction(const FunctionDecl *function) {
    // Where it is, too: two of one name are two programs'.
    for (const ParmVarDecl *parameter : function->parameters())
      if (const std::optional<DataHolder> holder = holderOf(Path{parameter, {}}))
        index(*holder);
    facts_ = model_.ownFacts(function);
    if (!facts_)
      addResult(function, Place::unknown());
    else
      for (const Operation &operation : facts_->operations)
        addOperation(function, operation);
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    if (!method || !method->isVirtual())
      return;
    // Whoever calls the base's method may come to this one.
    addOverridden(method);
  }

  void addOverridden(const CXXMethodDecl *method) {
    for (const CXXMethodDecl *base : method->overridden_methods()) {
      addResult(base, Place::elsewhere({method, {}}));
      for (const auto &[own, given] : llvm::zip(method->parameters(), base->parameters()))
        add({own, {}}, placeOf({given, {}}));
      addOverridden(base);
    }
  }

  void addOperation(const FunctionDecl *function, const Operation &operation) {
    const Place &place = operation.result.place;
    for (const Operand &operand : operation.operands)
      addCallOf(operand.value.place);
    if (operation.kind == Operation::Kind::kModule)
      addForward(function, operation);
    if (operation.kind == Operation::Kind::kReturn && !operation.in_lambda) {
      addResult(function, place);
    } else if (operation.kind == Operation::Kind::kAssign && operation.path &&
               !operation.path->fields.empty()) {
      // `x = torch::Tensor()` gives it none.
      const bool is_emptied = place.is(Place::Kind::kNone) && !operation.operands.empty() &&
                              isEmptyObject(exprOf(operation.operands[0].expr));
      if (is_emptied)
        return;
      // A member of a member is one of that as well: `pair.first`.
      for (Path path = *operation.path; !path.fields.empty(); path.fields.pop_back())
        add(path, place);
    }
  }

  // What a module of the program's is given, it may move before it works on it.
  void addForward(const FunctionDecl *function, const Operation &operation) {
    const auto *call = dyn_cast<CallExpr>(exprOf(operation.expr));
    const CXXRecordDecl *module =
        call && operation.receiver ? moduleClass(exprOf(operation.receiver)->getType()) : nullptr;
    const FunctionDecl *forward =
        module && call->getDirectCallee() ? forwardOf(module, call->getDirectCallee()) : nullptr;
    const std::optional<DataHolder> result = holderOf(Path{function, {}});
    if (!forward || isLibraryDecl(forward) || !result)
      return;
    if (const std::optional<DataHolder> given = holderOf(Path{forward, {}}))
      data_.sources.push_back(
          {index(withoutParameters(*result)), Kind::kHolder, index(withoutParameters(*given))});
  }

  static bool isEmptyObject(const Expr *expr) {
    const auto *made = dyn_cast<CXXConstructExpr>(strip(expr));
    return made && made->getNumArgs() == 0;
  }

  void addElements(const FunctionDecl *function, const InitListExpr *list) {
    const RecordDecl *record = list->getType()->getAsRecordDecl();
    const auto *derived = dyn_cast<CXXRecordDecl>(record);
    facts_ = function ? model_.ownFacts(function) : nullptr;
    const bool is_plain = facts_ && (!derived || derived->getNumBases() == 0);
    unsigned i = 0;
    for (const FieldDecl *field : record->fields()) {
      const Expr *element = i < list->getNumInits() ? list->getInit(i) : nullptr;
      ++i;
      // Code with errors leaves holes.
      if (!is_plain || !element)
        add({nullptr, {field}}, Place::unknown());
      else if (!isa<ImplicitValueInitExpr>(element) && !isEmptyObject(element))
        add({nullptr, {field}}, facts_->value(element).place);
    }
  }

  void add(const Path &path, const Place &place) {
    const std::optional<DataHolder> holder = holderOf(path);
    if (!holder)
      return;
    const unsigned to = index(*holder);
    if (!path.fields.empty())
      addInitialiser(to, dyn_cast_or_null<FieldDecl>(declOf(path.last())));
    addSource(to, place);
  }

  void addSource(unsigned to, const Place &place) {
    if (const std::optional<DataHolder> from = holderOf(place)) {
      if (from->key() == data_.holders[to].key())
        return;
      const unsigned i = index(*from);
      data_.sources.push_back({to, place.isNamedDevice() ? Kind::kOfDevice : Kind::kHolder, i});
      if (!place.of.fields.empty())
        addInitialiser(i, dyn_cast_or_null<FieldDecl>(declOf(place.of.last())));
      addCallOf(place);
    } else {
      data_.sources.push_back({to, place.onHost()          ? Kind::kHost
                                   : place.isNamedDevice() ? Kind::kDevice
                                                           : Kind::kOther});
    }
  }

  // All that a function returns, and what of it is none of its parameters.
  void addResult(const FunctionDecl *function, const Place &place) {
    const std::optional<DataHolder> result = holderOf(Path{function, {}});
    if (!result)
      return;
    addSource(index(*result), place);
    addOwn(index(withoutParameters(*result)), function, place, kMaxCalls);
  }

  void addOwn(unsigned to, const FunctionDecl *function, const Place &place, int depth) {
    const auto *parameter = dyn_cast_or_null<ParmVarDecl>(declOf(place.of.root));
    const auto *call = dyn_cast_or_null<CallExpr>(exprOf(place.call));
    if (parameter && parameter->getDeclContext() == function && place.of.fields.empty() &&
        holdsData(parameter) && place == placeOf(place.of))
      data_.sources.push_back({to, Kind::kParameter});
    else if (call && facts_ && depth > 0 && !place.isNamedDevice())
      addReturned(to, place.of, call,
                  [&](const Place &given) { addOwn(to, function, given, depth - 1); });
    else if (const std::optional<DataHolder> callee = holderOf(place);
             callee && place.is(Place::Kind::kElsewhere) && place.of.fields.empty() && !call)
      data_.sources.push_back({to, Kind::kHolder, index(withoutParameters(*callee))});
    else
      addSource(to, place);
  }

  // What a call returns lies where its arguments do, or where the function has something else from.
  void addReturned(unsigned to, const Path &callee, const CallExpr *call,
                   llvm::function_ref<void(const Place &)> add_given) {
    const std::optional<DataHolder> result = holderOf(callee);
    data_.sources.push_back(
        result ? FileData::Source{to, Kind::kHolder, index(withoutParameters(*result))}
               : FileData::Source{to, Kind::kOther});
    const llvm::SmallVector<const Expr *, 4> given = argumentsOf(call);
    for (const ParmVarDecl *parameter : call->getDirectCallee()->parameters()) {
      if (!holdsData(parameter))
        continue;
      const unsigned i = parameter->getFunctionScopeIndex();
      const bool is_given = i < given.size();
      const Place place = is_given ? facts_->value(given[i]).place : Place::chosen();
      // Options that name no device.
      if (!place.is(Place::Kind::kNone) || holdsTensor(parameter->getType()))
        add_given(place);
    }
  }

  void addCallOf(const Place &place) {
    const auto *call = dyn_cast_or_null<CallExpr>(exprOf(place.call));
    const std::optional<DataHolder> holder = call ? holderOf(place) : std::nullopt;
    if (!holder || !calls_.insert({call, facts_}).second)
      return;
    const unsigned to = index(*holder);
    if (facts_)
      addReturned(to, place.of, call, [&](const Place &given) { addSource(to, given); });
    else
      data_.sources.push_back({to, Kind::kOther});
  }

  // What a member starts with is not followed.
  void addInitialiser(unsigned to, const FieldDecl *member) {
    if (member && member->hasInClassInitializer())
      data_.sources.push_back({to, Kind::kOther});
  }

  unsigned index(const DataHolder &holder) {
    const auto [known, is_new] =
        indices_.try_emplace({holder.usr, holder.parameter}, data_.holders.size());
    if (is_new)
      data_.holders.push_back(holder);
    return known->second;
  }

  static constexpr int kMaxCalls = 8; // around each other

  DeviceModel &model_;
  const FileScan &scan_;
  const FunctionFacts *facts_ = nullptr; // that tell the places of arguments
  llvm::DenseSet<std::pair<const CallExpr *, const FunctionFacts *>> calls_;
  FileData data_;
  std::map<std::pair<std::string, int>, unsigned> indices_;
};

} // namespace

FileData collectData(DeviceModel &model) {
  return Collector(model).collect();
}

} // namespace devsan::analyzer
