#include "analyzer/model/model.h"

#include "analyzer/ast/torch_api.h"

namespace devsan::analyzer {

using namespace clang;

namespace {

bool takesTensor(const FunctionDecl *function) {
  return llvm::any_of(function->parameters(),
                      [](const ParmVarDecl *p) { return holdsTensor(p->getType()); });
}

} // namespace

DeviceModel::DeviceModel(ASTContext &context) : context_(context) {}

std::shared_ptr<DeviceModel> DeviceModel::of(ASTContext &context) {
  thread_local std::weak_ptr<DeviceModel> shared;
  std::shared_ptr<DeviceModel> model = shared.lock();
  if (!model || &model->context_ != &context) {
    model = std::make_shared<DeviceModel>(context);
    shared = model;
  }
  return model;
}

const FunctionFacts *DeviceModel::facts(const FunctionDecl *function) {
  const FunctionFacts *own = ownFacts(function);
  if (!own)
    return nullptr;
  if (const auto known = facts_.find(function); known != facts_.end())
    return known->second ? known->second.get() : own;
  if (!host_data_)
    host_data_.emplace(*this);
  std::unique_ptr<FunctionFacts> better;
  if (std::vector<Path> host = host_data_->of(function); !host.empty()) {
    FlowOptions options = flowOptions(function);
    llvm::append_range(options.on_host, host);
    better = analyseFunction(function, context_, options);
  }
  const std::unique_ptr<FunctionFacts> &kept = facts_[function] = std::move(better);
  return kept ? kept.get() : own;
}

const FunctionFacts *DeviceModel::ownFacts(const FunctionDecl *function) {
  if (!function || isLibraryDecl(function) || !function->doesThisDeclarationHaveABody())
    return nullptr;
  if (const auto *method = dyn_cast<CXXMethodDecl>(function);
      method && method->getParent()->isLambda())
    return nullptr;
  if (auto found = own_facts_.find(function); found != own_facts_.end())
    return found->second.get();
  computing_.insert(function);
  std::unique_ptr<FunctionFacts> made = analyseFunction(function, context_, flowOptions(function));
  computing_.erase(function);
  return (own_facts_[function] = std::move(made)).get();
}

FlowOptions DeviceModel::flowOptions(const FunctionDecl *function) {
  FlowOptions options;
  options.constants = &constants_;
  options.replaced_by_callee = [this](const FunctionDecl *callee,
                                      std::optional<unsigned> argument) {
    return replacedByCallee(callee, argument);
  };
  options.returned_by_callee = [this](const FunctionDecl *callee) {
    return returnedByCallee(callee);
  };
  options.host_checked_by_callee = [this](const FunctionDecl *callee, unsigned parameter) {
    return hostCheckedByCallee(callee, parameter);
  };
  if (runsOnHost(function))
    for (const ParmVarDecl *parameter : function->parameters())
      if (holdsTensor(parameter->getType()))
        options.on_host.push_back({parameter, {}});
  return options;
}

const Expr *DeviceModel::replacedByCallee(const FunctionDecl *callee,
                                          std::optional<unsigned> argument) {
  const FunctionDecl *definition = nullptr;
  if (!callee->hasBody(definition) || isLibraryDecl(definition) || asking_.size() > 4 ||
      !asking_.insert(definition).second)
    return nullptr;
  FlowOptions options;
  options.constants = &constants_;
  options.assume_moved = argument ? Path{definition->getParamDecl(*argument), {}} : Path{};
  options.replaced_by_callee = [this](const FunctionDecl *inner, std::optional<unsigned> index) {
    return replacedByCallee(inner, index);
  };
  const Expr *found = nullptr;
  if (std::unique_ptr<FunctionFacts> facts = analyseFunction(definition, context_, options))
    for (const ReplacedPart &part : facts->exit.replaced)
      if (!found && !part.moved && !facts->moved_later.contains(part.expr))
        found = exprOf(part.expr);
  asking_.erase(definition);
  return found;
}

bool DeviceModel::isMetric(const CXXRecordDecl *record) {
  if (!record || !record->hasDefinition() || derivesFromModule(record))
    return false;
  return llvm::any_of(record->getDefinition()->methods(), [](const CXXMethodDecl *method) {
    return nameOf(method) == "update" && takesTensor(method);
  });
}

bool DeviceModel::isStateful(const CXXRecordDecl *record) {
  return derivesFromModule(record) || isMetric(record);
}

const FileScan &DeviceModel::scan() {
  if (!scan_)
    scan_ = scanFile(context_);
  return *scan_;
}

const FileData &DeviceModel::data() {
  if (!data_)
    data_ = collectData(*this);
  return *data_;
}

bool DeviceModel::knowsDevices() {
  return scan().names_device;
}

bool DeviceModel::programWithoutDevices() {
  return scan().has_main && !scan().may_leave_host;
}

bool DeviceModel::hostOnly() {
  return scan().reads_host_memory && !scan().names_device;
}

bool DeviceModel::isOperator(const FunctionDecl *function) {
  if (scan().operators.contains(function->getCanonicalDecl()))
    return true;
  if (function->isMain())
    return false;
  if (!cuda_)
    cuda_ = CudaProgram::of(context_);
  const CudaWork *work = cuda_->work(function);
  // Given tensors, or their memory: then it takes the stream that PyTorch's operators work on.
  const bool is_given = takesTensor(function) || (work && !work->current_streams.empty() &&
                                                  !isa<CXXConstructorDecl>(function));
  return work && is_given && llvm::any_of(work->launches, [](const Launch &launch) {
           return launch.kind == Launch::Kind::kKernel;
         });
}

bool DeviceModel::runsOnHost(const FunctionDecl *function) {
  const FunctionDecl *canonical = function->getCanonicalDecl();
  return scan().host_operators.contains(canonical) && !scan().operators.contains(canonical);
}

// Of the function that is called for sure; null where that is not known, or too deep a chain of
// calls away.
const FunctionFacts *DeviceModel::factsOfCallee(const FunctionDecl *callee) {
  constexpr std::size_t kMaxDepth = 8;
  const FunctionDecl *definition = nullptr;
  if (!callee->hasBody(definition) || isLibraryDecl(definition))
    return nullptr;
  if (const auto *method = dyn_cast<CXXMethodDecl>(definition); method && method->isVirtual())
    return nullptr;
  if (auto known = own_facts_.find(definition); known != own_facts_.end())
    return known->second.get();
  if (computing_.size() >= kMaxDepth || computing_.contains(definition))
    return nullptr;
  return ownFacts(definition);
}

// Joined over the callee's returns, in terms of its own parameters.
const Value *DeviceModel::returnedByCallee(const FunctionDecl *callee) {
  const FunctionFacts *facts = factsOfCallee(callee);
  if (!facts)
    return nullptr;
  auto known = returned_.find(functionOf(facts->function));
  if (known == returned_.end()) {
    std::optional<Value> returned;
    for (const Operation &operation : facts->operations)
      if (operation.kind == Operation::Kind::kReturn && !operation.in_lambda)
        returned = returned ? join(*returned, operation.result) : operation.result;
    if (returned && returned->place.is(Place::Kind::kNone))
      returned.reset();
    known = returned_.emplace(functionOf(facts->function), std::move(returned)).first;
  }
  return known->second ? &*known->second : nullptr;
}

// A helper that only checks: `TORCH_CHECK(t.is_cpu())`.
bool DeviceModel::hostCheckedByCallee(const FunctionDecl *callee, unsigned parameter) {
  const FunctionFacts *facts = factsOfCallee(callee);
  if (!facts || parameter >= functionOf(facts->function)->getNumParams())
    return false;
  const Path path{functionOf(facts->function)->getParamDecl(parameter), {}};
  auto left = facts->exit.values.find(path);
  // A parameter that is set has other data then.
  return left != facts->exit.values.end() && left->second.place.is(Place::Kind::kHost) &&
         llvm::none_of(facts->operations, [&](const Operation &operation) {
           return operation.kind == Operation::Kind::kAssign && operation.path == path;
         });
}

} // namespace devsan::analyzer
