#include "analyzer/ast/operator_name.h"
#include "analyzer/check_registry.h"
#include "analyzer/model/cuda/device_kinds.h"
#include "analyzer/model/device_check.h"
#include "analyzer/model/fix_scope.h"

#include <clang/Lex/Lexer.h>

namespace devsan::analyzer {

namespace {

using namespace clang;

// What in scope tells the device, as text for the message and as an expression for the fix-it.
struct Source {
  std::string name;
  std::string device; // "x.device()", empty where no expression can be offered
};

class BareCudaCheck : public DeviceCheck {
public:
  using DeviceCheck::DeviceCheck;

protected:
  void examine(const FunctionFacts &facts) override {
    if (facts.function->isMain())
      return;
    for (const Operation &operation : facts.operations) {
      bool asks =
          operation.kind == Operation::Kind::kMove || operation.kind == Operation::Kind::kFactory;
      if (asks && operation.target.place.isSpelledDevice())
        examineRequest(facts, operation);
    }
    // What is spelled where a tensor tells better has been reported as that.
    for (const Operation &operation : facts.operations)
      examineChoice(facts, operation);
  }

private:
  void examineRequest(const FunctionFacts &facts, const Operation &request) {
    const Place &target = request.target.place;
    const Expr *spelled = request.target.origin(Origin::Kind::kDeviceName);
    bool indexless = target.is(Place::Kind::kIndexless);
    // A module that is set up, not a tensor that meets others.
    if (request.kind == Operation::Kind::kMove && request.operands.empty())
      return;
    if (!spelled || (indexless && (model().guarded(request.expr, facts.function) ||
                                   model().guarded(spelled, facts.function))))
      return;
    std::optional<Source> source = sourceFor(facts, request);
    if (!source || isReportedElsewhere(facts, request, spelled) || !firstAt(spelled))
      return;
    bool moves = request.kind == Operation::Kind::kMove;
    Diagnosis finding{.place = locationOf(spelled),
                      .message = llvm::formatv("'{0}' {1} {2}{3}, whichever device {4} is on{5}{6}",
                                               spelling(moves ? request.receiver : request.expr),
                                               moves ? "goes to" : "is made on",
                                               indexless ? "" : "the fixed device ", target.text(),
                                               source->name, source->device.empty() ? "" : ": use ",
                                               source->device)
                                     .str(),
                      .range = spelled->getSourceRange(),
                      .op = operatorName(request.expr),
                      .from = moves ? request.operands.front().value.place.device() : "",
                      .to = target.device(),
                      .fix = fix(request, *source)};
    const std::string device = source->device.empty() ? "x.device()" : source->device;
    if (moves && !makeThere(request, device).empty())
      finding.remedy = "make it there: pass `" + device + "` to the factory";
    else if (!moves)
      finding.remedy = "pass the device: `.device(" + device + ")` on the options";
    else if (!source->device.empty())
      finding.remedy = "name the device: `.to(" + device + ")`";
    if (lineOf(spelled) != lineOf(request.expr))
      finding.related.push_back(
          {locationOf(request.expr), "used here", request.expr->getSourceRange()});
    diagnose(std::move(finding));
  }

  // A move for nothing is device-discarded-move's; `x.is_cuda() ? kCUDA : kCPU` is
  // device-index-lost's.
  bool isReportedElsewhere(const FunctionFacts &facts, const Operation &request,
                           const Expr *spelled) {
    if (request.kind == Operation::Kind::kMove && request.receiver &&
        strip(request.receiver)->isLValue() && isDiscarded(request.expr))
      return true;
    ASTContext &context = model().context();
    const auto program = CudaProgram::of(context);
    const CudaWork *work = program->work(facts.function);
    return work && llvm::any_of(deviceKinds(*work), [&](const DeviceKind &kind) {
             return kind.from == DeviceKind::From::kIsCuda &&
                    context.getSourceManager().isPointWithin(
                        spelled->getBeginLoc(), kind.expr->getBeginLoc(), kind.expr->getEndLoc());
           });
  }

  // A device with a number, kept in a variable or given to a module of the class: whoever calls
  // this has no say.
  void examineChoice(const FunctionFacts &facts, const Operation &choice) {
    if (!choice.path || isa<CXXDefaultInitExpr>(choice.expr))
      return;
    bool moves_module = choice.kind == Operation::Kind::kMove && choice.operands.empty() &&
                        !choice.path->root && ownerOf(facts.function);
    const ValueDecl *kept =
        choice.path->fields.empty() ? choice.path->root : choice.path->fields.back();
    bool keeps = choice.kind == Operation::Kind::kAssign && kept && isDevice(kept->getType());
    const Value &value = moves_module ? choice.target : choice.result;
    const Expr *spelled = value.origin(Origin::Kind::kDeviceName);
    if (!(moves_module || keeps) || !value.place.is(Place::Kind::kFixed) || !spelled ||
        !firstAt(spelled))
      return;
    diagnose(
        {.place = locationOf(spelled),
         .message =
             llvm::formatv("'{0}' is {1}the fixed device {2}, whichever GPU the program is to use",
                           choice.path->text(), moves_module ? "put on " : "", value.place.text())
                 .str(),
         .range = spelled->getSourceRange(),
         .to = value.place.device(),
         .remedy = "take the device as a parameter"});
  }

  // Who says which device, other than the data that is being moved.
  std::optional<Source> sourceFor(const FunctionFacts &facts, const Operation &request) {
    const auto device = [&](const Path &path) {
      return FixScope(facts.function, request.expr).device(path).value_or("");
    };
    std::optional<Path> moving;
    bool was_on_device = false;
    if (request.kind == Operation::Kind::kMove) {
      const Value &value = request.operands.front().value;
      if (value.place.is(Place::Kind::kOf))
        moving = value.place.of;
      // Data that was copied to the host for the purpose has to go back where it came from.
      if (const Expr *copy = value.origin(Origin::Kind::kHostCopy)) {
        const Expr *origin = receiverOf(copy);
        Value before = facts.value(origin);
        if (before.place.is(Place::Kind::kOf) && nameable(before.place.of))
          return Source{quoted(before.place.of), device(before.place.of)};
        was_on_device = true;
      }
    }
    std::optional<Source> optional;
    for (const ParmVarDecl *parameter : facts.function->parameters()) {
      Path path{parameter, {}};
      if (parameter->getName().empty() || path == moving || movedBare(facts, path))
        continue;
      if (isDevice(parameter->getType()) || isDeviceType(parameter->getType()) ||
          isTensorOptions(parameter->getType()))
        return Source{quoted(path), device(path)};
      if (isTensor(parameter->getType()) && !onHost(facts, path)) {
        if (isAssignedFrom(facts.function, path, request.expr))
          continue;
        if (!isTested(facts.function, path))
          return Source{quoted(path), device(path)};
        // It may hold no tensor; another one tells better.
        if (!optional)
          optional = Source{quoted(path), ""};
        continue;
      }
      if (isModule(parameter->getType()))
        return Source{"the module '" + parameter->getNameAsString() + "'", ""};
      if (isCollection(parameter->getType()) && !onHost(facts, path))
        return Source{"a tensor in " + quoted(path), ""};
      if (hasTensors(parameter->getType()))
        return Source{"a tensor of " + quoted(path), ""};
    }
    if (optional)
      return optional;
    if (std::optional<Source> member = memberSource(facts, moving, device))
      return member;
    if (was_on_device)
      return Source{"the tensor that it came from", ""};
    return std::nullopt;
  }

  // A list of tensors.
  static bool isCollection(QualType type) {
    const CXXRecordDecl *record = type.getNonReferenceType()->getAsCXXRecordDecl();
    return record && isLibraryDecl(record) && holdsTensor(type) && !isTensor(type);
  }

  // A structure of the program with tensors in it, or a pointer to one.
  static bool hasTensors(QualType type) {
    type = type.getNonReferenceType();
    const CXXRecordDecl *record =
        type->isPointerType() ? type->getPointeeCXXRecordDecl() : type->getAsCXXRecordDecl();
    if (const auto *pointer = dyn_cast_or_null<ClassTemplateSpecializationDecl>(record);
        pointer && isLibraryDecl(pointer) && pointer->getTemplateArgs().size() > 0 &&
        pointer->getTemplateArgs()[0].getKind() == TemplateArgument::Type)
      record = pointer->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
    if (!record || !record->hasDefinition() || isLibraryDecl(record))
      return false;
    return llvm::any_of(record->getDefinition()->fields(),
                        [](const FieldDecl *field) { return holdsTensor(field->getType()); });
  }

  // Objects that are made of a tensor are wanted on its device.
  static bool madeOfTensor(const CXXRecordDecl *owner) {
    return owner && owner->hasDefinition() &&
           llvm::any_of(owner->ctors(), [](const CXXConstructorDecl *constructor) {
             return !constructor->isCopyOrMoveConstructor() &&
                    llvm::any_of(constructor->parameters(), [](const ParmVarDecl *parameter) {
                      return isTensor(parameter->getType());
                    });
           });
  }

  // Parameters and buffers of the module whose method this is.
  std::optional<Source> memberSource(const FunctionFacts &facts, const std::optional<Path> &moving,
                                     llvm::function_ref<std::string(const Path &)> device) {
    const CXXRecordDecl *owner = ownerOf(facts.function);
    if (!owner || isa<CXXConstructorDecl>(facts.function))
      return std::nullopt;
    if (!derivesFromModule(owner)) {
      if (!madeOfTensor(owner))
        return std::nullopt;
      return Source{"the tensor that '" + owner->getNameAsString() + "' is made of", ""};
    }
    for (const FieldDecl *field : owner->fields()) {
      Path path{nullptr, {field}};
      if (path == moving)
        continue;
      if (isTensor(field->getType()))
        return Source{quoted(path), device(path)};
      if (isModule(field->getType()))
        return Source{"the module's part " + quoted(path), ""};
    }
    return std::nullopt;
  }

  static std::string quoted(const Path &path) { return "'" + path.text() + "'"; }
  static bool nameable(const Path &path) { return path.root || !path.fields.empty(); }

  // Also taken to the current device as it comes: it does not know better.
  static bool movedBare(const FunctionFacts &facts, const Path &path) {
    return llvm::any_of(facts.operations, [&](const Operation &operation) {
      return operation.kind == Operation::Kind::kMove && operation.path == path &&
             operation.target.place.isSpelledDevice();
    });
  }

  // Checked to be on the host, or brought there by the function.
  static bool onHost(const FunctionFacts &facts, const Path &path) {
    auto found = facts.exit.values.find(path);
    return found != facts.exit.values.end() && found->second.place.onHost();
  }

  // `randn(s).cuda()` becomes `randn(s, x.device())`: no tensor on the host, no copy.
  llvm::SmallVector<FixItHint, 4> makeThere(const Operation &request, const std::string &device) {
    const auto *move = dyn_cast<CXXMemberCallExpr>(strip(request.expr));
    if (request.kind != Operation::Kind::kMove || !move || argumentsOf(move).size() > 1)
      return {};
    const auto *factory = dyn_cast<CallExpr>(strip(request.receiver));
    if (!factory || !request.operands.front().value.has(Origin::Kind::kFactory) ||
        nameOf(calleeOf(factory)) == "from_blob")
      return {};
    llvm::SmallVector<FixItHint, 4> hints = passDevice(factory, device);
    if (!hints.empty())
      hints.push_back(FixItHint::CreateRemoval(CharSourceRange::getCharRange(
          factory->getRParenLoc().getLocWithOffset(1), move->getRParenLoc().getLocWithOffset(1))));
    return hints;
  }

  // `.cuda()` and `.to(kCUDA)` alone become `.to(x.device())`; options keep their dtype, so only
  // their device changes.
  llvm::SmallVector<FixItHint, 4> fix(const Operation &request, const Source &source) {
    if (source.device.empty() || !editable(request.expr))
      return {};
    const auto *call = dyn_cast<CXXMemberCallExpr>(strip(request.expr));
    if (llvm::SmallVector<FixItHint, 4> hints = makeThere(request, source.device); !hints.empty())
      return hints;
    const Expr *spelled = strip(request.target.origin(Origin::Kind::kDeviceName));
    if (call && spelled == call && call->getNumArgs() == 0) {
      SourceLocation name = cast<MemberExpr>(call->getCallee()->IgnoreParens())->getMemberLoc();
      return {FixItHint::CreateReplacement(
          CharSourceRange::getTokenRange(name, call->getRParenLoc()), "to(" + source.device + ")")};
    }
    if (isDeviceType(spelled->getType()) && spelled->getSourceRange().isValid() &&
        editable(spelled) && request.target.place.is(Place::Kind::kIndexless) &&
        lineOf(spelled) == lineOf(request.expr))
      return {FixItHint::CreateReplacement(spelled->getSourceRange(), source.device)};
    return {};
  }
};

} // namespace

} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(BareCudaCheck, bare_cuda)
