#include "analyzer/model/file_scan.h"

#include "analyzer/ast/ast_visitor.h"
#include "analyzer/ast/torch_api.h"
#include "analyzer/facts/value.h"
#include "analyzer/model/cuda/cuda_work.h"
#include "analyzer/model/data/member_uses.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

// The functions that a registration call names: m.impl("op", &f), m.def("op", TORCH_FN(f)).
void collectNamedFunctions(const Stmt *argument,
                           llvm::SmallVectorImpl<const FunctionDecl *> &named) {
  if (const auto *reference = dyn_cast<DeclRefExpr>(argument))
    if (const auto *function = dyn_cast<FunctionDecl>(reference->getDecl()))
      named.push_back(function);
  if (const auto *expr = dyn_cast<Expr>(argument); expr && !expr->getType().isNull())
    if (const auto *wrapper = dyn_cast_or_null<ClassTemplateSpecializationDecl>(
            expr->getType()->getAsCXXRecordDecl()))
      for (const TemplateArgument &part : wrapper->getTemplateArgs().asArray())
        if (part.getKind() == TemplateArgument::Declaration)
          if (const auto *function = dyn_cast<FunctionDecl>(part.getAsDecl()))
            named.push_back(function);
  for (const Stmt *child : argument->children())
    if (child)
      collectNamedFunctions(child, named);
}

bool registersOperators(const FunctionDecl *callee) {
  llvm::StringRef name = nameOf(callee);
  if ((name != "def" && name != "impl" && name != "op") || !ownerOf(callee))
    return false;
  std::string owner = ownerOf(callee)->getQualifiedNameAsString();
  return llvm::StringRef(owner).starts_with("pybind11::") || isTorchDecl(callee);
}

// What TORCH_LIBRARY_IMPL(ns, CPU, m) makes of its key.
bool registersForHost(const FunctionDecl *function) {
  llvm::StringRef name = nameOf(function);
  return name.starts_with("TORCH_LIBRARY_IMPL_init_") && name.contains("_CPU_");
}

bool appliesAutogradFunction(const FunctionDecl *callee) {
  const CXXRecordDecl *owner = ownerOf(callee);
  return nameOf(callee) == "apply" && owner && isTorchDecl(owner) &&
         owner->getNameAsString() == "Function";
}

class Scanner : public AstVisitor {
public:
  Scanner(FileScan &scan, ASTContext &context) : scan_(scan), context_(context) {}

  bool shouldVisitTemplateInstantiations() const override { return true; }

  bool TraverseDecl(Decl *decl) override {
    if (!decl || isa<TranslationUnitDecl>(decl))
      return AstVisitor::TraverseDecl(decl);
    if (const auto *space = dyn_cast<NamespaceDecl>(decl); space && !isProgram(decl))
      return true;
    auto *function = dyn_cast<FunctionDecl>(decl);
    if (!function)
      return AstVisitor::TraverseDecl(decl);
    if (isLibraryDecl(function))
      return true;
    scan_.has_main |= function->isMain();
    const auto *method = dyn_cast<CXXMethodDecl>(function);
    if (method && method->getParent()->isLambda())
      return AstVisitor::TraverseDecl(decl);
    if (function->doesThisDeclarationHaveABody())
      scan_.functions.push_back(function);
    const FunctionDecl *outer = std::exchange(function_, function);
    bool going = AstVisitor::TraverseDecl(decl);
    function_ = outer;
    return going;
  }

  bool VisitCUDAKernelCallExpr(CUDAKernelCallExpr *) override {
    scan_.names_device = scan_.may_leave_host = true;
    return true;
  }

  // kCUDA, DeviceType::MPS, a variable or member of type Device, c10::cuda::…, cudaMalloc.
  bool VisitDeclRefExpr(DeclRefExpr *reference) override {
    const ValueDecl *decl = reference->getDecl();
    llvm::StringRef name = decl->getDeclName().isIdentifier() ? decl->getName() : "";
    scan_.may_leave_host |= isDevice(decl->getType()) && !isLocalWithInit(decl);
    if (const auto *function = dyn_cast<FunctionDecl>(decl)) {
      noteMention(reference, function);
      if (isDeviceRuntime(function))
        scan_.names_device = scan_.may_leave_host = true;
      scan_.reads_host_memory |= name == "parallel_for" && isTorchDecl(function);
    } else if (const auto *field = dyn_cast<FieldDecl>(decl)) {
      scan_.set_otherwise.insert(field); // &Class::member
    } else if (isDeviceType(decl->getType())) {
      scan_.names_device |= !name.ends_with("CPU");
      scan_.may_leave_host |= !name.ends_with("CPU");
    } else {
      scan_.names_device |= isDevice(decl->getType());
    }
    return true;
  }

  bool VisitOverloadExpr(OverloadExpr *overloads) override {
    for (const NamedDecl *decl : overloads->decls())
      if (const FunctionDecl *function = decl->getUnderlyingDecl()->getAsFunction())
        noteMention(overloads, function);
    return true;
  }

  bool VisitCXXDependentScopeMemberExpr(CXXDependentScopeMemberExpr *member) override {
    if (member->getMember().isIdentifier())
      scan_.names_set_otherwise.insert(member->getMember().getAsIdentifierInfo()->getName());
    return true;
  }

  bool VisitInitListExpr(InitListExpr *list) override {
    const InitListExpr *meant = list->isSemanticForm() ? list : list->getSemanticForm();
    if (meant && meant->getType()->isRecordType())
      scan_.aggregates.emplace_back(function_, meant);
    return true;
  }

  bool VisitMemberExpr(MemberExpr *member) override {
    const ValueDecl *decl = member->getMemberDecl();
    if (const auto *field = dyn_cast<FieldDecl>(decl);
        field && (holdsTensor(field->getType()) || namesDevice(field->getType())) &&
        !isUseUnderstood(member, context_))
      scan_.set_otherwise.insert(field);
    if (const FunctionDecl *function = decl->getAsFunction())
      noteMention(member, function);
    if (const auto *method = dyn_cast<CXXMethodDecl>(decl);
        method && isTensor(member->getBase()->getType())) {
      llvm::StringRef name = nameOf(method);
      scan_.names_device |=
          name == "cuda" || name == "cpu" || name == "get_device" || name == "mps" || name == "xpu";
      scan_.may_leave_host |= name == "cuda" || name == "mps" || name == "xpu";
      scan_.reads_host_memory |= name == "accessor" || name == "is_cpu";
    } else if (isa<FieldDecl>(decl)) {
      scan_.names_device |= isDevice(decl->getType());
      scan_.may_leave_host |= isDevice(decl->getType());
    }
    return true;
  }

  // Device("cuda")
  bool VisitStringLiteral(StringLiteral *literal) override {
    if (literal->isOrdinary())
      if (std::optional<Place> place = Place::parse(literal->getString()))
        if (place->isSpelledDevice())
          scan_.names_device = scan_.may_leave_host = true;
    return true;
  }

  // Device(FLAGS_device): whatever the user says. What makes an object runs its constructor.
  bool VisitCXXConstructExpr(CXXConstructExpr *construct) override {
    const CXXConstructorDecl *constructor = construct->getConstructor();
    if (constructor->isUserProvided() && !isLibraryDecl(constructor)) {
      if (function_)
        scan_.callers[constructor->getCanonicalDecl()].push_back({function_, construct});
      else
        scan_.open.insert(writtenFunction(constructor));
    }
    if (isLibraryDecl(constructor))
      noteConversion(constructor);
    // It hands its arguments on.
    if (const CXXConstructorDecl *base = constructor->getInheritedConstructor().getConstructor())
      scan_.open.insert(writtenFunction(base));
    if (isDevice(construct->getType()) && construct->getNumArgs() > 0) {
      const Expr *given = strip(construct->getArg(0));
      scan_.may_leave_host |= !isDevice(given->getType()) && !isDeviceType(given->getType()) &&
                              !isa<StringLiteral>(given);
    }
    return true;
  }

  bool VisitCallExpr(CallExpr *call) override {
    const FunctionDecl *callee = call->getDirectCallee();
    if (callee && isLibraryDecl(callee))
      noteMaking(call, callee);
    if (callee && function_)
      callees_.insert(call->getCallee()->IgnoreParenImpCasts());
    if (function_ && !callee)
      noteUnresolved(call);
    if (!function_ || !callee)
      return true;
    scan_.trains |= nameOf(callee) == "backward" && isTorchDecl(callee);
    scan_.may_leave_host |= isDevice(call->getType()) && !isTorchDecl(callee) && !callee->hasBody();
    if (nameOf(callee) == "to" && isTorchDecl(callee))
      scan_.names_device |= llvm::any_of(call->arguments(), [](const Expr *argument) {
        return namesDevice(argument->getType()) && !isa<CXXDefaultArgExpr>(argument);
      });
    if (registersOperators(callee)) {
      llvm::SmallVector<const FunctionDecl *, 4> named;
      for (const Expr *argument : call->arguments())
        collectNamedFunctions(argument, named);
      for (const FunctionDecl *function : named)
        (registersForHost(function_) ? scan_.host_operators : scan_.operators)
            .insert(function->getCanonicalDecl());
    } else if (appliesAutogradFunction(callee)) {
      scan_.operators.insert(function_->getCanonicalDecl());
    } else if (!isLibraryDecl(callee)) {
      scan_.callers[callee->getCanonicalDecl()].push_back({function_, call});
    }
    return true;
  }

private:
  static bool isProgram(const Decl *decl) {
    const auto *space = cast<NamespaceDecl>(decl);
    static const llvm::StringRef kLibraries[] = {"std",  "at",     "c10",       "torch",
                                                 "c10d", "caffe2", "__gnu_cxx", "__cxxabiv1"};
    return space->getParent()->getRedeclContext()->isTranslationUnit()
               ? !llvm::is_contained(kLibraries, space->getName()) || !isInLibraryFile(decl)
               : true;
  }

  // `draw(image, scores)`, where the type of the image is in a header that is missing: it calls
  // what has that name and as many parameters.
  void noteUnresolved(const CallExpr *call) {
    const auto *overloads =
        dyn_cast<UnresolvedLookupExpr>(call->getCallee()->IgnoreParenImpCasts());
    if (!overloads || function_->isDependentContext())
      return;
    callees_.insert(overloads);
    for (const NamedDecl *decl : overloads->decls()) {
      const auto *function = dyn_cast<FunctionDecl>(decl->getUnderlyingDecl());
      if (function && !isLibraryDecl(function) &&
          call->getNumArgs() >= function->getMinRequiredArguments() &&
          call->getNumArgs() <= function->getNumParams())
        scan_.callers[function->getCanonicalDecl()].push_back({function_, call});
      else if (const FunctionDecl *other = decl->getUnderlyingDecl()->getAsFunction())
        noteMention(call, other);
    }
  }

  void noteMention(const Expr *mention, const FunctionDecl *function) {
    if (!callees_.contains(mention) && !isLibraryDecl(function))
      scan_.open.insert(writtenFunction(function));
  }

  // `samples.emplace_back(x, y)`, `std::make_shared<Sample>(x, y)`: the library calls a constructor
  // of the program with these arguments. Others of its functions may call any.
  void noteMaking(const CallExpr *call, const FunctionDecl *callee) {
    const llvm::StringRef name = nameOf(callee);
    const bool forwards = name == "emplace_back" || name == "emplace_front" ||
                          name == "make_shared" || name == "make_unique";
    const bool makes = name.starts_with("emplace") || name.starts_with("make") ||
                       name.starts_with("try_emplace") || name.starts_with("allocate") ||
                       name == "def" || name == "init";
    if (!forwards && !makes)
      return noteConversion(callee);
    const unsigned count = call->getNumArgs();
    for (const CXXRecordDecl *made : recordsNamedBy(callee)) {
      llvm::SmallVector<const CXXConstructorDecl *, 4> fitting = constructorsOf(made);
      if (forwards)
        llvm::erase_if(fitting, [&](const CXXConstructorDecl *constructor) {
          return count < constructor->getMinRequiredArguments() ||
                 count > constructor->getNumParams();
        });
      const bool is_known = forwards && function_ && fitting.size() == 1;
      for (const CXXConstructorDecl *constructor : fitting)
        if (is_known)
          scan_.callers[constructor->getCanonicalDecl()].push_back({function_, call});
        else
          scan_.open.insert(writtenFunction(constructor));
    }
  }

  // `std::optional<Sample> sample = x;`: the conversion is the library's.
  void noteConversion(const FunctionDecl *callee) {
    const auto *method = dyn_cast<CXXMethodDecl>(callee);
    if (!method || !callee->getPrimaryTemplate() ||
        !(isa<CXXConstructorDecl>(method) || method->getOverloadedOperator() == OO_Equal))
      return;
    for (const CXXRecordDecl *made : recordsNamedBy(callee))
      for (const CXXConstructorDecl *constructor : constructorsOf(made))
        if (constructor->isConvertingConstructor(/*AllowExplicit=*/true))
          scan_.open.insert(writtenFunction(constructor));
  }

  static llvm::SmallVector<const CXXConstructorDecl *, 4>
  constructorsOf(const CXXRecordDecl *record) {
    llvm::SmallVector<const CXXConstructorDecl *, 4> constructors;
    for (const CXXConstructorDecl *constructor : record->ctors())
      if (constructor->isUserProvided() && !constructor->isCopyOrMoveConstructor())
        constructors.push_back(constructor);
    return constructors;
  }

  // The program's classes among the arguments of the templates that it is an instance of.
  static llvm::SmallVector<const CXXRecordDecl *, 4> recordsNamedBy(const FunctionDecl *callee) {
    llvm::SmallVector<const CXXRecordDecl *, 4> records;
    const auto addAll = [&](const TemplateArgumentList *arguments) {
      if (!arguments)
        return;
      for (const TemplateArgument &argument : arguments->asArray())
        for (const TemplateArgument &part : argument.getKind() == TemplateArgument::Pack
                                                ? argument.getPackAsArray()
                                                : llvm::ArrayRef(argument))
          if (part.getKind() == TemplateArgument::Type)
            if (const CXXRecordDecl *record =
                    part.getAsType().getNonReferenceType()->getAsCXXRecordDecl();
                record && record->hasDefinition() && !isLibraryDecl(record))
              records.push_back(record->getDefinition());
    };
    addAll(callee->getTemplateSpecializationArgs());
    if (const auto *owner = dyn_cast_or_null<ClassTemplateSpecializationDecl>(ownerOf(callee)))
      addAll(&owner->getTemplateArgs());
    return records;
  }

  static bool isLocalWithInit(const ValueDecl *decl) {
    const auto *variable = dyn_cast<VarDecl>(decl);
    return variable && !isa<ParmVarDecl>(variable) && variable->getInit();
  }

  bool isDeviceRuntime(const FunctionDecl *function) const {
    if (scan_.names_device && scan_.may_leave_host)
      return true;
    std::string name = function->getQualifiedNameAsString();
    llvm::StringRef text = name;
    for (llvm::StringRef start : {"cuda", "hip", "c10::cuda::", "at::cuda::", "torch::cuda::",
                                  "c10::hip::", "at::hip::", "torch::mps::", "torch::xpu::"})
      if (text.starts_with(start))
        return true;
    return false;
  }

  FileScan &scan_;
  ASTContext &context_;
  const FunctionDecl *function_ = nullptr;
  llvm::DenseSet<const Expr *> callees_;
};

} // namespace

FileScan scanFile(ASTContext &context) {
  FileScan scan;
  Scanner scanner(scan, context);
  // The scope leaves out what lies in a precompiled header, which would be read from disk for
  // nothing.
  for (Decl *decl : context.getTraversalScope())
    scanner.TraverseDecl(decl);
  scan.reads_host_memory |= !scan.host_operators.empty();
  return scan;
}

} // namespace devsan::analyzer
