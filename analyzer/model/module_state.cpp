#include "analyzer/model/module_state.h"

#include "analyzer/ast/clang_compat.h"
#include "analyzer/ast/contains.h"
#include "analyzer/ast/torch_api.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclTemplate.h>
#include <clang/AST/ExprCXX.h>

#include <set>

namespace devsan::analyzer {

using namespace clang;

namespace {

constexpr ModuleState kAnything{.tensors = true, .depends_on_mode = true};

class StateFinder {
public:
  ModuleState ofClass(const CXXRecordDecl *record) {
    record = record ? record->getDefinition() : nullptr;
    // What cannot be seen may have anything.
    if (!record)
      return kAnything;
    if (!seen_.insert(record).second)
      return {};
    if (isModuleBase(record) || isModuleContainer(record))
      return kAnything;
    ModuleState state = isLibraryDecl(record) ? ofLibraryClass(record) : ofOwnClass(record);
    for (const CXXBaseSpecifier &base : record->bases())
      if (const CXXRecordDecl *decl = base.getType()->getAsCXXRecordDecl();
          decl && derivesFromModule(decl) && !isModuleBase(decl))
        state.add(ofClass(decl));
    return state;
  }

  ModuleState ofType(QualType type) {
    if (const CXXRecordDecl *module = moduleClass(type))
      return ofClass(module);
    ModuleState state;
    if (const auto *holder =
            dyn_cast_or_null<ClassTemplateSpecializationDecl>(type->getAsCXXRecordDecl()))
      for (const TemplateArgument &argument : holder->getTemplateArgs().asArray())
        if (argument.getKind() == TemplateArgument::Type)
          state.add(ofType(argument.getAsType()));
    return state;
  }

private:
  static bool isModuleBase(const CXXRecordDecl *record) {
    return record->getName() == "Module" && isTorchDecl(record);
  }

  // Its methods are compiled elsewhere: its members tell.
  ModuleState ofLibraryClass(const CXXRecordDecl *record) {
    ModuleState state;
    state.depends_on_mode = functionTakesMode(record);
    for (const FieldDecl *field : record->fields()) {
      state.tensors |= holdsTensor(field->getType());
      state.add(ofType(field->getType()));
    }
    return state;
  }

  // RReLUImpl computes functional::rrelu(x, RReLUFuncOptions), which are told whether it trains.
  static bool functionTakesMode(const CXXRecordDecl *record) {
    llvm::StringRef name = record->getName();
    const DeclContext *space = record->getDeclContext();
    ASTContext &context = record->getASTContext();
    if (!name.consume_back("Impl") || !space->isNamespace())
      return false;
    for (const NamedDecl *functional : space->lookup(&context.Idents.get("functional")))
      if (const auto *inner = dyn_cast<NamespaceDecl>(functional))
        for (const NamedDecl *found :
             inner->lookup(&context.Idents.get((name + "FuncOptions").str())))
          if (const auto *options = dyn_cast<TypeDecl>(found))
            if (const CXXRecordDecl *type = context.getTypeDeclType(options)->getAsCXXRecordDecl();
                type && hasMember(type, "training"))
              return true;
    return false;
  }
  static bool hasMember(const CXXRecordDecl *type, llvm::StringRef name) {
    const CXXRecordDecl *definition = type->getDefinition();
    return definition && !definition->lookup(&type->getASTContext().Idents.get(name)).empty();
  }

  // What the methods register, and the parts among the members, which they should.
  ModuleState ofOwnClass(const CXXRecordDecl *record) {
    ModuleState state;
    bool all_seen = true;
    for (const CXXMethodDecl *method : record->methods()) {
      if (method->isImplicit() || isPureVirtual(method))
        continue;
      const FunctionDecl *definition = nullptr;
      if (!method->hasBody(definition)) {
        all_seen &= method->isDefaulted() || !isa<CXXConstructorDecl>(method);
        continue;
      }
      const auto note = [&](const Stmt *part) {
        noteCall(part, state);
        return false;
      };
      contains(definition->getBody(), note);
      if (const auto *constructor = dyn_cast<CXXConstructorDecl>(definition))
        for (const CXXCtorInitializer *initializer : constructor->inits())
          contains(initializer->getInit(), note);
    }
    for (const FieldDecl *field : record->fields()) {
      state.tensors |= !all_seen && holdsTensor(field->getType());
      state.add(ofType(field->getType()));
      if (field->hasInClassInitializer())
        contains(field->getInClassInitializer(), [&](const Stmt *part) {
          noteCall(part, state);
          return false;
        });
    }
    return state;
  }

  void noteCall(const Stmt *part, ModuleState &state) {
    const auto *call = dyn_cast<CallExpr>(part);
    // What did not parse may do anything.
    if (isa<RecoveryExpr>(part) || (call && call->containsErrors()))
      state.add(kAnything);
    llvm::StringRef name = nameOf(calleeOf(call));
    state.tensors |= name == "register_parameter" || name == "register_buffer";
    state.depends_on_mode |= name == "is_training";
    if (name == "register_module" || name == "replace_module")
      for (const Expr *argument : argumentsOf(call))
        state.add(ofMade(argument));
  }

public:
  ModuleState ofMade(const Expr *made) {
    made = strip(made);
    const CXXRecordDecl *module = moduleClass(made->getType());
    if (!module || !isModuleContainer(module))
      return ofType(made->getType());
    // `Sequential(ReLU(), MaxPool2d(2))`
    ModuleState state;
    const llvm::SmallVector<const Expr *, 4> parts = argumentsOf(made);
    for (const Expr *part : parts)
      state.add(isModule(part->getType()) ? ofMade(part) : kAnything);
    return parts.empty() || !isa<CXXConstructExpr>(made) ? kAnything : state;
  }

private:
  std::set<const CXXRecordDecl *> seen_;
};

} // namespace

ModuleState moduleState(const CXXRecordDecl *module) {
  return StateFinder().ofClass(module);
}

ModuleState moduleStateOf(QualType type) {
  return StateFinder().ofType(type);
}

ModuleState moduleStateOf(const Expr *made) {
  return StateFinder().ofMade(made);
}

} // namespace devsan::analyzer
