#include "analyzer/calls/file_data.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/ast/written_arguments.h"
#include "analyzer/model/model.h"

#include <map>
#include <set>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Kind = FileData::Source::Kind;

class Collector {
public:
  explicit Collector(DeviceModel &model) : model_(model) {}
  FileData data;

  void addCalls() {
    for (const auto &[callee, callers] : model_.scan().callers)
      for (const ParmVarDecl *parameter : callee->parameters())
        if (holdsTensor(parameter->getType()))
          for (const FileScan::Caller &caller : callers)
            addArgument(parameter, caller);
  }

  void addFunction(const FunctionDecl *function) {
    const FunctionFacts *facts = model_.ownFacts(function);
    SetMembers set(function, facts == nullptr);
    for (const FieldDecl *member : set.members)
      add({nullptr, {member}}, Place::unknown());
    if (!facts)
      return;
    for (const Operation &operation : facts->operations)
      if (operation.kind == Operation::Kind::kAssign && operation.path &&
          !operation.path->fields.empty())
        add(*operation.path, operation.result.place);
      else if (operation.kind == Operation::Kind::kReturn && !operation.in_lambda)
        add({function, {}}, operation.result.place);
    for (const InitListExpr *list : set.lists)
      addElements(*facts, list);
    // Whoever calls the base's method may come to this one.
    if (const auto *method = dyn_cast<CXXMethodDecl>(function);
        method && holdsTensor(method->getReturnType()))
      for (const CXXMethodDecl *base : method->overridden_methods())
        add({base, {}}, Place::elsewhere({function, {}}));
  }

private:
  // Members that a function lets others set, and the aggregates that it makes.
  class SetMembers : public AstVisitor {
  public:
    std::set<const FieldDecl *> members;
    std::vector<const InitListExpr *> lists;

    SetMembers(const FunctionDecl *function, bool all) : all_(all) {
      TraverseStmt(function->getBody());
    }

    bool VisitMemberExpr(MemberExpr *member) override {
      if (all_)
        note(member);
      return true;
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
    bool VisitInitListExpr(InitListExpr *list) override {
      const InitListExpr *meant = list->isSemanticForm() ? list : list->getSemanticForm();
      if (meant && meant->getType()->isRecordType())
        lists.push_back(meant);
      return true;
    }

  private:
    void note(const Expr *expr) {
      if (const auto *member = dyn_cast<MemberExpr>(strip(expr)))
        if (const auto *field = dyn_cast<FieldDecl>(member->getMemberDecl());
            field && holdsTensor(field->getType()))
          members.insert(field);
    }

    bool all_;
  };

  void addArgument(const ParmVarDecl *parameter, const FileScan::Caller &caller) {
    const unsigned index = parameter->getFunctionScopeIndex();
    const FunctionFacts *facts = model_.ownFacts(caller.function);
    const auto *call = dyn_cast<CallExpr>(caller.call);
    const auto *construct = dyn_cast<CXXConstructExpr>(caller.call);
    const Expr *argument = nullptr;
    if (call && !isa<CXXOperatorCallExpr>(call) && index < call->getNumArgs())
      argument = call->getArg(index);
    else if (construct && index < construct->getNumArgs())
      argument = construct->getArg(index);
    add({parameter, {}}, facts && argument ? facts->value(argument).place : Place::unknown());
  }

  void addElements(const FunctionFacts &facts, const InitListExpr *list) {
    const RecordDecl *record = list->getType()->getAsRecordDecl();
    unsigned i = 0;
    for (const FieldDecl *field : record->fields())
      if (i < list->getNumInits()) {
        const Expr *element = list->getInit(i++);
        if (holdsTensor(field->getType()) && !isa<ImplicitValueInitExpr>(element))
          add({nullptr, {field}}, facts.value(element).place);
      }
  }

  void add(const Path &path, const Place &place) {
    const std::optional<DataHolder> holder = holderOf(path);
    if (!holder || place.is(Place::Kind::kNone))
      return;
    const unsigned to = index(*holder);
    if (const std::optional<DataHolder> from = holderOf(place)) {
      if (*from != *holder)
        note({to, Kind::kHolder, index(*from)});
    } else {
      note({to, place.onHost() ? Kind::kHost : Kind::kOther});
    }
  }

  unsigned index(const DataHolder &holder) {
    const auto [known, is_new] = indices_.try_emplace(holder, data.holders.size());
    if (is_new)
      data.holders.push_back(holder);
    return known->second;
  }

  void note(const FileData::Source &source) {
    if (noted_.insert({source.holder, source.kind, source.from}).second)
      data.sources.push_back(source);
  }

  DeviceModel &model_;
  std::map<DataHolder, unsigned> indices_;
  std::set<std::tuple<unsigned, Kind, unsigned>> noted_;
};

} // namespace

FileData collectData(DeviceModel &model) {
  Collector collector(model);
  collector.addCalls();
  for (const FunctionDecl *function : model.scan().functions)
    collector.addFunction(function);
  return std::move(collector.data);
}

} // namespace devsan::analyzer
