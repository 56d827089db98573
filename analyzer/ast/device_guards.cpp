#include "analyzer/ast/device_guards.h"

#include "analyzer/ast/contains.h"
#include "analyzer/ast/cuda_api.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/DeclTemplate.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/SaveAndRestore.h>

namespace devsan::analyzer {

using namespace clang;

bool setsDevice(const CallExpr *call) {
  const FunctionDecl *callee = calledFunction(call);
  const llvm::StringRef name = nameOf(callee);
  if (name == "cudaSetDevice" || name == "hipSetDevice")
    return !callee->getDeclContext()->isRecord();
  return callee && isTorchDecl(callee) && !callee->getDeclContext()->isRecord() &&
         (name == "set_device" || name == "SetDevice" || name == "MaybeSetDevice" ||
          name == "ExchangeDevice" || name == "MaybeExchangeDevice");
}

namespace {

// Guards in guards; it also ends recursion.
constexpr unsigned kMaxGuardDepth = 3;

bool isGuard(QualType type, unsigned depth);

bool holdsGuardWithin(const CXXRecordDecl *record, unsigned depth) {
  if (!record || !record->hasDefinition() || isLibraryDecl(record) || depth > kMaxGuardDepth)
    return false;
  record = record->getDefinition();
  return llvm::any_of(record->fields(),
                      [&](const FieldDecl *field) {
                        return !field->getType()->isReferenceType() &&
                               !field->getType()->isPointerType() &&
                               isGuard(field->getType(), depth + 1);
                      }) ||
         llvm::any_of(record->bases(), [&](const CXXBaseSpecifier &base) {
           return isGuard(base.getType(), depth + 1);
         });
}

// Restores in its destructor what it sets in its constructor.
bool restoresDevice(const CXXRecordDecl *record) {
  const CXXDestructorDecl *destructor =
      record && record->hasDefinition() ? record->getDestructor() : nullptr;
  const FunctionDecl *definition = nullptr;
  return destructor && destructor->hasBody(definition) &&
         contains(definition->getBody(), [](const Stmt *part) {
           const auto *call = dyn_cast<CallExpr>(part);
           return call && setsDevice(call);
         });
}

bool isGuard(QualType type, unsigned depth) {
  if (isDeviceGuard(type))
    return true;
  const auto *record = type->getAsCXXRecordDecl();
  if (!record || depth > kMaxGuardDepth)
    return false;
  if (!isLibraryDecl(record))
    return restoresDevice(record) || holdsGuardWithin(record, depth);
  const auto *specialization = dyn_cast<ClassTemplateSpecializationDecl>(record);
  return specialization && specialization->getTemplateArgs().size() &&
         specialization->getTemplateArgs()[0].getKind() == TemplateArgument::Type &&
         isGuard(specialization->getTemplateArgs()[0].getAsType(), depth + 1);
}

} // namespace

bool isGuard(QualType type) {
  return isGuard(type, 0);
}

bool holdsGuard(const CXXRecordDecl *record) {
  return holdsGuardWithin(record, 0);
}

bool startsGuard(const VarDecl *variable) {
  const QualType type = variable->getType();
  if (!isGuard(type))
    return false;
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  const auto *construct = dyn_cast_or_null<CXXConstructExpr>(
      variable->getInit() ? variable->getInit()->IgnoreImplicit() : nullptr);
  const bool is_empty =
      construct && (construct->getNumArgs() == 0 || isa<CXXDefaultArgExpr>(construct->getArg(0)) ||
                    construct->getArg(0)->getType()->isNullPtrType());
  return !is_empty || (record && !isLibraryDecl(record));
}

bool isGuardSetter(const CallExpr *call) {
  const auto *member = dyn_cast<CXXMemberCallExpr>(call);
  if (!member || !member->getMethodDecl() || !isGuard(member->getObjectType()))
    return false;
  const llvm::StringRef name = nameOf(member->getMethodDecl());
  return name.starts_with("set_") || name.starts_with("reset_") || name == "emplace";
}

bool setsDeviceWithin(const Stmt *statement) {
  return contains(statement, [](const Stmt *part) {
    const auto *call = dyn_cast<CallExpr>(part);
    return call && (setsDevice(call) || isGuardSetter(call));
  });
}

namespace {

// check(cublasCreate(&handle), __FILE__, __LINE__)
bool isToldStatus(const CallExpr *call) {
  bool has_status = false;
  for (const Expr *argument : call->arguments()) {
    const auto *status = argument->getType()->getAs<EnumType>();
    const bool is_status = status && isInLibraryFile(status->getDecl());
    if (!is_status && !isText(argument->getType()) && !isa<IntegerLiteral>(strip(argument)))
      return false;
    has_status |= is_status;
  }
  return has_status;
}

class DeviceChoice {
public:
  explicit DeviceChoice(llvm::function_ref<bool(const CallExpr *)> is_known)
      : is_known_(is_known) {}

  bool mayBeIn(const Stmt *statement) {
    return contains(statement, [this](const Stmt *part) {
      if (const auto *absent = dyn_cast<CXXDefaultInitExpr>(part))
        return mayBeIn(absent->getExpr());
      if (const auto *absent = dyn_cast<CXXDefaultArgExpr>(part))
        return mayBeIn(absent->getExpr());
      const auto *expr = dyn_cast<Expr>(part);
      return expr && (isGuard(expr->getType(), 0) || mayChoose(expr));
    });
  }

  bool mayBeInBody(const FunctionDecl *definition) {
    const auto *constructor = dyn_cast<CXXConstructorDecl>(definition);
    return mayBeIn(definition->getBody()) ||
           (constructor &&
            llvm::any_of(constructor->inits(), [this](const CXXCtorInitializer *init) {
              return mayBeIn(init->getInit());
            }));
  }

private:
  bool mayChoose(const Expr *expr) {
    const auto *call = dyn_cast<CallExpr>(expr);
    const auto *construct = dyn_cast<CXXConstructExpr>(expr);
    if (!call && !construct)
      return isa<CXXUnresolvedConstructExpr>(expr);
    if (call && is_known_(call))
      return false;
    const FunctionDecl *callee = calleeOf(expr), *definition = nullptr;
    if (!callee || (call && (setsDevice(call) || isGuardSetter(call))))
      return true;
    if (callee->getBuiltinID())
      return false;
    // A context has its device.
    if (isCudaApi(callee))
      return nameOf(callee).contains("Ctx");
    if (isLibraryDecl(callee)) // std::function and std::invoke call anything
      return call && (callee->getOverloadedOperator() == OO_Call || nameOf(callee) == "invoke");
    if (construct && (callee->isTrivial() || (callee->isDefaulted() && !callee->hasBody())))
      return false;
    const auto *method = dyn_cast<CXXMethodDecl>(callee);
    if ((method && method->isVirtual()) || !callee->hasBody(definition))
      return !call || !isToldStatus(call);
    if (depth_ >= kMaxGuardDepth)
      return true;
    const llvm::SaveAndRestore deeper(depth_, depth_ + 1);
    return mayBeInBody(definition);
  }

  llvm::function_ref<bool(const CallExpr *)> is_known_;
  unsigned depth_ = 0;
};

} // namespace

bool mayChooseDevice(const Stmt *statement, llvm::function_ref<bool(const CallExpr *)> is_known) {
  return DeviceChoice(is_known).mayBeIn(statement);
}

bool mayChooseDevice(const FunctionDecl *definition,
                     llvm::function_ref<bool(const CallExpr *)> is_known) {
  return DeviceChoice(is_known).mayBeInBody(definition);
}

static bool isTensorIndex(const Expr *expr) {
  const auto *call = dyn_cast<CXXMemberCallExpr>(strip(expr));
  const llvm::StringRef name = call ? nameOf(call->getMethodDecl()) : llvm::StringRef();
  return call && isTorchDecl(call->getMethodDecl()) && (name == "get_device" || name == "index");
}

static bool isCurrentIndex(const Expr *expr) {
  const auto *call = dyn_cast<CallExpr>(strip(expr));
  const FunctionDecl *callee = call ? call->getDirectCallee() : nullptr;
  return callee && isTorchDecl(callee) && !ownerOf(callee) && nameOf(callee) == "current_device";
}

bool comparesWithCurrentDevice(const BinaryOperator *op) {
  return op->isEqualityOp() && ((isTensorIndex(op->getLHS()) && isCurrentIndex(op->getRHS())) ||
                                (isTensorIndex(op->getRHS()) && isCurrentIndex(op->getLHS())));
}

bool isThread(QualType type) {
  const CXXRecordDecl *record = type->getAsCXXRecordDecl();
  return record && record->getDeclName().isIdentifier() && isLibraryDecl(record) &&
         (record->getName() == "thread" || record->getName() == "jthread");
}

} // namespace devsan::analyzer
