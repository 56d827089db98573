// What rules ask about an expression or a call.
#include "analyzer/answers/source_program.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/model/data/data_holder.h"

#include <llvm/ADT/StringSet.h>

namespace devsan::analyzer {

using namespace clang;

bool SourceProgram::isTemporary(Code code) {
  const Expr *value = strip(exprOf(code));
  return !value->isLValue() && !value->getType()->isPointerType();
}

bool SourceProgram::isName(Code code) {
  return isa<DeclRefExpr, MemberExpr>(strip(exprOf(code)));
}

Variable SourceProgram::variable(Code code) {
  const auto *reference = dyn_cast<DeclRefExpr>(strip(exprOf(code)));
  return reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
}

bool SourceProgram::isKernel(Code launch) {
  return isa<CUDAKernelCallExpr>(exprOf(launch));
}

Code SourceProgram::receiver(Code call) {
  return receiverOf(exprOf(call));
}

Code SourceProgram::object(Code receiver) {
  const auto *arrow = dyn_cast<CXXOperatorCallExpr>(strip(exprOf(receiver)));
  return arrow && arrow->getOperator() == OO_Arrow ? Code(arrow->getArg(0)) : receiver;
}

std::vector<Code> SourceProgram::arguments(Code call) {
  std::vector<Code> arguments;
  for (const Expr *argument : argumentsOf(exprOf(call)))
    arguments.push_back(strip(argument));
  return arguments;
}

Argument SourceProgram::argument(Code call, std::string_view parameter) {
  const auto *plain = dyn_cast<CallExpr>(exprOf(call));
  const FunctionDecl *callee = plain ? calledFunction(plain) : nullptr;
  const unsigned offset = plain && isa<CXXOperatorCallExpr>(plain) ? 1 : 0;
  for (unsigned i = 0; callee && i < callee->getNumParams() && i + offset < plain->getNumArgs();
       ++i) {
    const ParmVarDecl *named = callee->getParamDecl(i);
    if (!named->getDeclName().isIdentifier() || named->getName() != llvm::StringRef(parameter))
      continue;
    const Expr *given = plain->getArg(i + offset);
    if (isa<CXXDefaultArgExpr>(given))
      return Argument::kLeftOut;
    bool value = true;
    if (given->isValueDependent() || !given->EvaluateAsBooleanCondition(value, context()))
      return Argument::kUnknown;
    return value ? Argument::kTrue : Argument::kFalse;
  }
  return Argument::kNoParameter;
}

bool SourceProgram::givesDevice(Code call) {
  // `std::nullopt` is none.
  return llvm::any_of(argumentsOf(exprOf(call)), [](const Expr *argument) {
    const CXXRecordDecl *record =
        argument->IgnoreUnlessSpelledInSource()->getType()->getAsCXXRecordDecl();
    const bool none = record && record->isInStdNamespace() && record->getName() == "nullopt_t";
    return namesDevice(argument->getType()) && !none;
  });
}

DeviceParameter SourceProgram::deviceParameter(Code code) {
  const auto *call = cast<CallExpr>(exprOf(code));
  const FunctionDecl *callee = call->getDirectCallee();
  const auto names = [](const ParmVarDecl *parameter) { return namesDevice(parameter->getType()); };
  const unsigned given = argumentsOf(call).size();
  // torch::load forwards what follows the value to a function whose last parameter is the device.
  if (callee->getPrimaryTemplate() ||
      (given < callee->getNumParams() && names(callee->getParamDecl(given))))
    return DeviceParameter::kNext;
  return llvm::any_of(callee->parameters(), names) ? DeviceParameter::kSomewhere
                                                   : DeviceParameter::kNone;
}

std::vector<Variable> SourceProgram::devicesIn(Code call) {
  std::vector<Variable> devices;
  for (const Expr *argument : argumentsOf(exprOf(call)))
    contains(argument, [&](const Stmt *part) {
      const auto *reference = dyn_cast<DeclRefExpr>(part);
      if (const auto *variable = reference ? dyn_cast<VarDecl>(reference->getDecl()) : nullptr;
          variable && isDevice(variable->getType()))
        devices.push_back(variable);
      return false;
    });
  return devices;
}

// A literal 0 among the sizes themselves, not in what computes one of them: x.size(0).
static bool hasZero(const Expr *sizes) {
  const Expr *inner = strip(sizes);
  if (const auto *literal = dyn_cast<IntegerLiteral>(inner))
    return literal->getValue() == 0;
  if (!isa<InitListExpr, CXXConstructExpr, CXXStdInitializerListExpr>(inner))
    return false;
  return llvm::any_of(inner->children(), [](const Stmt *part) {
    const auto *element = dyn_cast_or_null<Expr>(part);
    return element && hasZero(element);
  });
}

// `{}`, whatever is made of it.
static bool isEmptyList(const Expr *expr) {
  expr = strip(expr);
  const auto *list = dyn_cast<InitListExpr>(expr);
  const auto *made = dyn_cast<CXXConstructExpr>(expr);
  return (list && list->getNumInits() == 0) ||
         (made && made->getNumArgs() == 0 && made->isListInitialization());
}

bool SourceProgram::hasZeroSize(Code factory) {
  const auto *call = dyn_cast<CallExpr>(strip(exprOf(factory)));
  static const llvm::StringSet<> kSizesFirst{"empty", "zeros", "ones", "full", "rand", "randn"};
  if (!call || call->getNumArgs() == 0)
    return false;
  const Expr *first = call->getArg(0);
  const llvm::StringRef name = nameOf(calleeOf(call));
  return kSizesFirst.contains(name) ? hasZero(first) : name == "tensor" && isEmptyList(first);
}

bool SourceProgram::isLibraryModule(Code module) {
  const CXXRecordDecl *record = moduleClass(exprOf(module)->getType());
  return record && isTorchDecl(record);
}

// Not an allocator of the project's own, which may give pinned memory.
static bool usesHeap(const CXXRecordDecl *vector) {
  const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(vector);
  if (!specialization || specialization->getTemplateArgs().size() < 2)
    return false;
  const CXXRecordDecl *allocator =
      specialization->getTemplateArgs()[1].getAsType()->getAsCXXRecordDecl();
  return allocator && allocator->isInStdNamespace();
}

// A pointer may point to anything.
bool SourceProgram::isOverOrdinaryMemory(Code factory) {
  const Expr *pointer = strip(cast<CallExpr>(exprOf(factory))->getArg(0));
  if (const auto *call = dyn_cast<CXXMemberCallExpr>(pointer)) {
    const CXXRecordDecl *owner = call->getRecordDecl();
    return nameOf(call->getMethodDecl()) == "data" && owner && owner->isInStdNamespace() &&
           (owner->getName() == "array" || (owner->getName() == "vector" && usesHeap(owner)));
  }
  if (const auto *address = dyn_cast<UnaryOperator>(pointer))
    pointer = strip(address->getSubExpr());
  const auto *reference = dyn_cast<DeclRefExpr>(pointer);
  return reference && !reference->getType()->isPointerType() &&
         !reference->getType()->isReferenceType();
}

std::optional<Path> SourceProgram::source(const FunctionFacts &facts, Code code) {
  const Expr *expr = strip(exprOf(code));
  std::optional<Path> path;
  while (!(path = facts.path(expr))) {
    const Expr *receiver = receiverOf(expr);
    if (!receiver) {
      const llvm::SmallVector<const Expr *, 4> arguments = argumentsOf(expr);
      if (arguments.empty() || !holdsTensor(arguments[0]->getType()))
        return std::nullopt;
      receiver = arguments[0];
    }
    expr = strip(receiver);
  }
  return path;
}

std::optional<Path> SourceProgram::whole(const FunctionFacts &facts, Code code, bool &is_element) {
  static const llvm::StringSet<> kElements{"index", "select", "narrow", "data", "at"};
  // Of a list of tensors, too: its path is that of the list.
  const auto is_subscript = [](const Expr *expr) {
    const auto *subscript = dyn_cast<CXXOperatorCallExpr>(expr);
    return subscript && subscript->getOperator() == OO_Subscript;
  };
  const Expr *expr = strip(exprOf(code));
  std::optional<Path> path;
  while (!(path = facts.path(expr)) || is_subscript(expr)) {
    const Expr *receiver = receiverOf(expr);
    if (!receiver || !(is_subscript(expr) || kElements.contains(nameOf(calleeOf(expr)))))
      return std::nullopt;
    is_element = true;
    expr = strip(receiver);
  }
  return path;
}

// None where several may have it, one after the other: in instantiations of a template, and behind
// a macro.
std::optional<DataHolder> SourceProgram::holder(const FunctionFacts &facts, Code code,
                                                const Place &place) {
  // Parameters are those of the template.
  const bool is_parameter =
      place.of.fields.empty() && isa_and_nonnull<ParmVarDecl>(declOf(place.of.root));
  const bool is_one = is_parameter || !functionOf(facts.function)->isTemplateInstantiation();
  return is_one && !exprOf(code)->getBeginLoc().isMacroID() ? holderOf(place) : std::nullopt;
}

Needs SourceProgram::needsOf(const FunctionFacts &facts, Code code, const Place &place) {
  // Where several may have it, none of them is asked.
  const bool has_unasked_holder = holderOf(place) && !holder(facts, code, place);
  return place.isNamedDevice() || has_unasked_holder ? Needs::kDevice : Needs::kDeviceData;
}

} // namespace devsan::analyzer
