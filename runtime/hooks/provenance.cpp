#include "runtime/hooks/provenance.h"

#include "runtime/hooks/observation.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/protocol/options.h"
#include "runtime/record/device_keys.h"
#include "runtime/record/recorder.h"

#include <algorithm>
#include <c10/core/GradMode.h>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::runtime {
namespace {

using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// Gathered tensors, waiting to be combined: one for each rank, or one that holds them all.
struct Gather {
  std::uint32_t id = 0;
  std::size_t outputs = 0;
  std::int64_t elements = 0; // of the first
};

// A storage that is followed: host data that came from a device, or what was made of outputs of a
// gather.
struct Followed {
  c10::StorageImpl *key; // kept from reuse by `storage`
  WeakStorage storage;
  DeviceId source;
  StackId stack = 0;
  std::uint32_t gather = 0;  // Gather::id, 0 for host data
  std::vector<bool> parts{}; // the outputs of the gather that are in it

  bool holdsAll() const { return std::ranges::find(parts, false) == parts.end(); }
  void add(const Followed &other) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = parts[i] || other.parts[i];
  }
};

WeakStorage noStorage() {
  return WeakStorage(c10::intrusive_ptr<c10::StorageImpl>());
}

constexpr std::size_t kMaxFollowed = 256;
constexpr std::size_t kMaxGathers = 16;
// How many operators after its last reason a thread is observed. What was gathered may wait until
// another model has run.
constexpr unsigned kMaxOperators = 256;
constexpr unsigned kMaxOperatorsAfterGather = 8192;
constexpr unsigned kPurgeInterval = 64;

class Follower {
public:
  void followHostData(const at::Tensor &tensor, DeviceId source, StackId stack);
  void followGather(const std::vector<at::Tensor> &outputs, StackId stack);
  // They have been overwritten.
  void forgetGathered(const std::vector<at::Tensor> &outputs);
  const Followed *find(const at::Tensor &tensor, bool gathered) const;

  std::unique_ptr<at::ObserverContext> onStart(const at::RecordFunction &function);
  void onEnd(const at::RecordFunction &function, at::ObserverContext *context);
  void stopWatching();
  // For a forked child.
  void forget();

private:
  struct Context : at::ObserverContext {
    std::vector<Followed> inputs;
  };

  void add(const at::Tensor &tensor, const Followed &like);
  void watch(unsigned operators);
  bool consume(const at::RecordFunction &function, const Followed &all, std::size_t inputs);
  void forgetDead();
  const Gather *gather(std::uint32_t id) const;
  bool isSliceOfAll(const at::Tensor &tensor, const Followed &input) const;
  void forgetOverwritten(const at::RecordFunction &function);
  void forget(const at::Tensor &tensor, bool gathered);
  void forgetAll(const Followed &of_gather);

  std::vector<Followed> followed_;
  std::vector<Gather> gathers_;
  std::uint32_t next_gather_ = 1;
  unsigned operators_left_ = 0;
};

// True on threads that follow anything.
thread_local bool watching = false;

void stopWatchingThread() {
  if (std::exchange(watching, false))
    leaveThread();
}

// A thread's follower goes with the thread; operators may still run in destructors that come later.
struct ThreadFollower {
  std::unique_ptr<Follower> instance;
  static thread_local bool gone;
  ~ThreadFollower() {
    gone = true;
    watching = false;
  }
};
thread_local bool ThreadFollower::gone = false;
thread_local ThreadFollower thread_follower;

// Null while the thread is torn down.
Follower *follower() {
  if (ThreadFollower::gone)
    return nullptr;
  if (!thread_follower.instance)
    thread_follower.instance = std::make_unique<Follower>();
  return thread_follower.instance.get();
}

// Operators that make one value of what they take: of a list, or of a tensor that holds all ranks'
// parts.
bool isCombining(std::string_view op) {
  static constexpr std::string_view kNames[] = {"aten::cat",
                                                "aten::concat",
                                                "aten::concatenate",
                                                "aten::stack",
                                                "aten::hstack",
                                                "aten::vstack",
                                                "aten::sum",
                                                "aten::mean",
                                                "aten::max",
                                                "aten::min",
                                                "aten::amax",
                                                "aten::amin",
                                                "aten::prod",
                                                "aten::norm",
                                                "aten::logsumexp",
                                                "aten::var",
                                                "aten::std",
                                                "aten::linalg_vector_norm",
                                                "aten::mm",
                                                "aten::matmul",
                                                "aten::mse_loss",
                                                "aten::linear",
                                                "aten::cross_entropy_loss",
                                                "aten::nll_loss_nd"};
  return std::find(std::begin(kNames), std::end(kNames), op) != std::end(kNames);
}

template <typename Visit> void forEachTensor(const c10::IValue &value, Visit visit) {
  if (value.isTensor()) {
    if (value.toTensor().defined())
      visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor &tensor : value.toTensorVector())
      if (tensor.defined())
        visit(tensor);
  } else if (value.isList()) {
    for (const c10::IValue &element : value.toListRef())
      forEachTensor(element, visit);
  } else if (value.isTuple()) {
    for (const c10::IValue &element : value.toTupleRef().elements())
      forEachTensor(element, visit);
  }
}

// Operators that put other values in the place of all those of their first argument.
bool isOverwriting(std::string_view op) {
  static constexpr std::string_view kNames[] = {
      "aten::copy_",   "aten::fill_",   "aten::zero_",        "aten::uniform_",
      "aten::normal_", "aten::random_", "aten::exponential_", "aten::bernoulli_"};
  return std::find(std::begin(kNames), std::end(kNames), op) != std::end(kNames);
}

bool fillsItsStorage(const at::Tensor &tensor) {
  return tensor.is_non_overlapping_and_dense() && tensor.nbytes() == tensor.storage().nbytes();
}

std::unique_ptr<at::ObserverContext> operatorStarts(const at::RecordFunction &function) {
  if (!watching) {
    leaveThread();
    return nullptr;
  }
  if (InsideRuntime::active())
    return nullptr;
  InsideRuntime inside;
  operatorObserved();
  try {
    return follower()->onStart(function);
  } catch (...) {
    return nullptr;
  }
}

void operatorEnds(const at::RecordFunction &function, at::ObserverContext *context) {
  if (!context || !watching)
    return;
  InsideRuntime inside;
  try {
    follower()->onEnd(function, context);
  } catch (...) {
  }
}

void Follower::watch(unsigned operators) {
  operators_left_ = std::max(operators_left_, operators);
  watching = true;
  observeThread();
}

void Follower::forget() {
  followed_.clear();
  gathers_.clear();
}

void Follower::stopWatching() {
  stopWatchingThread();
  operators_left_ = 0;
  followed_.clear();
  gathers_.clear();
}

const Followed *Follower::find(const at::Tensor &tensor, bool gathered) const {
  if (!tensor.has_storage())
    return nullptr;
  auto *key = tensor.storage().unsafeGetStorageImpl();
  for (auto entry = followed_.rbegin(); entry != followed_.rend(); ++entry)
    if (entry->key == key && (entry->gather != 0) == gathered)
      return &*entry;
  return nullptr;
}

void Follower::add(const at::Tensor &tensor, const Followed &like) {
  if (!tensor.has_storage())
    return;
  auto *key = tensor.storage().unsafeGetStorageImpl();
  std::erase_if(followed_, [&](const Followed &entry) {
    return entry.storage.use_count() == 0 ||
           (entry.key == key && (entry.gather != 0) == (like.gather != 0));
  });
  if (followed_.size() == kMaxFollowed)
    followed_.erase(followed_.begin());
  Followed entry = like;
  entry.key = key;
  entry.storage = tensor.storage().getWeakStorageImpl();
  followed_.push_back(std::move(entry));
}

void Follower::followHostData(const at::Tensor &tensor, DeviceId source, StackId stack) {
  watch(kMaxOperators);
  add(tensor, Followed{nullptr, noStorage(), source, stack});
}

void Follower::followGather(const std::vector<at::Tensor> &outputs, StackId stack) {
  if (outputs.empty())
    return; // of a gather to another rank
  watch(kMaxOperatorsAfterGather);
  if (gathers_.size() == kMaxGathers)
    gathers_.erase(gathers_.begin());
  const Gather made{next_gather_++, outputs.size(), outputs.front().numel()};
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Followed entry{nullptr, noStorage(), toDeviceId(outputs[i].device()),
                   stack,   made.id,     std::vector<bool>(outputs.size())};
    entry.parts[i] = true;
    add(outputs[i], entry);
  }
  gathers_.push_back(made);
}

void Follower::forgetGathered(const std::vector<at::Tensor> &outputs) {
  for (const at::Tensor &output : outputs)
    forget(output, true);
}

const Gather *Follower::gather(std::uint32_t id) const {
  for (const Gather &candidate : gathers_)
    if (candidate.id == id)
      return &candidate;
  return nullptr;
}

void Follower::forgetDead() {
  std::erase_if(followed_, [](const Followed &entry) { return entry.storage.use_count() == 0; });
}

// Reports a gather of which an operator combines all parts, the own one among them, while none of
// its inputs carries the graph. What lacks a part may yet meet the own slice.
bool Follower::consume(const at::RecordFunction &function, const Followed &all,
                       std::size_t inputs) {
  if (!all.holdsAll() || (inputs < 2 && !isCombining(function.name())))
    return false;
  Event event;
  event.kind = EventKind::kGatherCombined;
  event.op = recorder().string(function.name());
  event.from = event.to = all.source;
  event.related = all.stack;
  recorder().record(event);
  forgetAll(all);
  return true;
}

void Follower::forgetAll(const Followed &of_gather) {
  const std::uint32_t id = of_gather.gather;
  std::erase_if(gathers_, [&](const Gather &candidate) { return candidate.id == id; });
  std::erase_if(followed_, [&](const Followed &entry) { return entry.gather == id; });
}

// A slice of a tensor that holds all ranks' parts holds some of them.
bool Follower::isSliceOfAll(const at::Tensor &tensor, const Followed &input) const {
  const Gather *made = gather(input.gather);
  return made && made->outputs == 1 && tensor.has_storage() &&
         tensor.storage().unsafeGetStorageImpl() == input.key && tensor.numel() < made->elements;
}

void Follower::forget(const at::Tensor &tensor, bool gathered) {
  if (!find(tensor, gathered) || !fillsItsStorage(tensor))
    return;
  const auto *key = tensor.storage().unsafeGetStorageImpl();
  std::erase_if(followed_, [&](const Followed &entry) {
    return entry.key == key && (entry.gather != 0) == gathered;
  });
}

// Before the operator runs: what it copies in from a device or from other followed data is followed
// from then on.
void Follower::forgetOverwritten(const at::RecordFunction &function) {
  const auto inputs = function.inputs();
  if (inputs.empty())
    return;
  if (isOverwriting(function.name())) {
    if (inputs.front().isTensor() && inputs.front().toTensor().defined())
      for (bool gathered : {false, true})
        forget(inputs.front().toTensor(), gathered);
    return;
  }
  // `out` comes last; where it is an operand too, the data is still there in what it becomes.
  const c10::IValue &out = inputs.back();
  if (!out.isTensor() || !out.toTensor().defined() || !find(out.toTensor(), false))
    return;
  const std::optional<c10::OperatorName> name = function.operator_name();
  if (!name || !name->overload_name.ends_with("out"))
    return;
  bool is_operand = false;
  for (const c10::IValue &argument : inputs.slice(0, inputs.size() - 1))
    forEachTensor(argument, [&](const at::Tensor &tensor) {
      is_operand |= tensor.is_alias_of(out.toTensor());
    });
  if (!is_operand)
    forget(out.toTensor(), false);
}

std::unique_ptr<at::ObserverContext> Follower::onStart(const at::RecordFunction &function) {
  if (operators_left_ % kPurgeInterval == 0)
    forgetDead();
  if (operators_left_ == 0 || followed_.empty()) {
    stopWatching();
    return nullptr;
  }
  --operators_left_;
  forgetOverwritten(function);
  const Followed *host = nullptr;
  std::optional<Followed> gathered; // of the first gather, all that the inputs hold
  std::optional<Followed> touched;
  std::size_t gathered_inputs = 0;
  bool requires_grad = false;
  for (const c10::IValue &argument : function.inputs())
    forEachTensor(argument, [&](const at::Tensor &tensor) {
      if (const Followed *entry = find(tensor, false); entry && !host)
        host = entry;
      const Followed *part = find(tensor, true);
      if (part)
        touched = *part;
      if (part && isSliceOfAll(tensor, *part))
        part = nullptr;
      // What a collective returns may require grad, of a node that only warns in the backward.
      requires_grad |= !part && tensor.requires_grad();
      if (!part || !gather(part->gather) || (gathered && gathered->gather != part->gather))
        return;
      ++gathered_inputs;
      if (gathered)
        gathered->add(*part);
      else
        gathered = *part;
    });
  auto context = std::make_unique<Context>();
  if (host)
    context->inputs.push_back(*host);
  // The own slice is put into the tensor that holds all.
  if (touched && requires_grad && std::string_view(function.name()).ends_with('_'))
    forgetAll(*touched);
  // What takes a tensor that carries the graph, or is made where no graph is wanted, is no concern.
  if (gathered && !requires_grad && c10::GradMode::is_enabled() &&
      !consume(function, *gathered, gathered_inputs))
    context->inputs.push_back(*gathered);
  return context->inputs.empty() ? nullptr : std::move(context);
}

void Follower::onEnd(const at::RecordFunction &function, at::ObserverContext *context) {
  for (const Followed &input : static_cast<Context *>(context)->inputs)
    for (const c10::IValue &output : function.outputs())
      forEachTensor(output, [&](const at::Tensor &tensor) {
        const bool is_gathered = input.gather != 0;
        if (!is_gathered) {
          if (tensor.device().is_cpu() && !find(tensor, false))
            add(tensor, input);
          return;
        }
        // Integers have no gradient.
        if (!gather(input.gather) || !(tensor.is_floating_point() || tensor.is_complex()))
          return;
        Followed made = input;
        if (const Followed *known = find(tensor, true); known && known->gather == input.gather)
          made.add(*known);
        add(tensor, made);
      });
}

class CollectiveHook : public c10::OperatorKernel {
public:
  explicit CollectiveHook(WrappedKernel wrapped, bool functional)
      : kernel_(std::move(wrapped.kernel)), functional_(functional) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    bool drops_grad = false;
    std::vector<at::Tensor> outputs;
    if ((watching || c10::GradMode::is_enabled()) && !InsideRuntime::active()) {
      InsideRuntime inside;
      try {
        const c10::IValue *arguments =
            stack->data() + (stack->size() - op.schema().arguments().size());
        forEachTensor(arguments[functional_ ? 0 : 1],
                      [&](const at::Tensor &tensor) { drops_grad |= tensor.requires_grad(); });
        drops_grad &= c10::GradMode::is_enabled();
        if (!functional_ && (drops_grad || watching))
          forEachTensor(arguments[0], [&](const at::Tensor &tensor) { outputs.push_back(tensor); });
        if (!drops_grad && !outputs.empty())
          follower()->forgetGathered(outputs);
      } catch (...) {
        drops_grad = false;
      }
    }
    kernel_.callBoxed(op, keys, stack);
    if (!drops_grad)
      return;
    InsideRuntime inside;
    try {
      if (functional_)
        forEachTensor(stack->back(), [&](const at::Tensor &tensor) { outputs.push_back(tensor); });
      if (Follower *own = follower())
        own->followGather(outputs, recorder().currentStack());
    } catch (...) {
    }
  }

private:
  SafeKernelFunction kernel_;
  bool functional_;
};

struct Collective {
  const char *name_space;
  const char *name;
  bool functional; // returns its result instead of taking it as first argument
};

constexpr Collective kCollectives[] = {
    {"c10d", "c10d::allgather_", false},
    {"c10d", "c10d::_allgather_base_", false},
    {"c10d", "c10d::allgather_coalesced_", false},
    {"c10d", "c10d::allgather_into_tensor_coalesced_", false},
    {"c10d", "c10d::gather_", false},
    {"_c10d_functional", "_c10d_functional::all_gather_into_tensor", true},
};

} // namespace

void noteCopy(const at::Tensor &to, const at::Tensor &from, const Effect &effect, StackId stack) {
  if (!options().provenance)
    return;
  if (!effect.from.is_cpu() && effect.to.is_cpu()) {
    if (Follower *own = follower())
      own->followHostData(to, toDeviceId(effect.from), stack);
    return;
  }
  if (!watching || !effect.from.is_cpu())
    return;
  const Followed *entry = follower()->find(from, false);
  if (!entry)
    return;
  Event event;
  event.kind = EventKind::kRoundTrip;
  event.op = recorder().string("aten::copy_");
  event.flags = effect.flags | (effect.blocks ? kBlocks : 0);
  event.bytes = effect.bytes;
  event.from = toDeviceId(effect.from);
  event.to = toDeviceId(effect.to);
  event.origin = entry->source;
  event.stack = stack;
  event.related = entry->stack;
  recorder().record(event);
}

void forgetProvenance() {
  watching = false;
  forgetObservation();
  if (!ThreadFollower::gone && thread_follower.instance)
    thread_follower.instance->forget();
}

void installProvenance() {
  if (!options().provenance || !recorder().recording())
    return;
  prepareObservation(operatorStarts, operatorEnds);
  std::vector<c10::DispatchKey> keys(deviceKeys().begin(), deviceKeys().end());
  keys.push_back(c10::DispatchKey::CPU);
  for (c10::DispatchKey key : keys)
    for (const Collective &collective : kCollectives)
      if (auto wrapped = findKernel(collective.name, "", key)) {
        auto *registrar = new KernelRegistrar(collective.name_space, key);
        registrar->wrap(*wrapped,
                        std::make_unique<CollectiveHook>(*wrapped, collective.functional));
      }
}

} // namespace devsan::runtime
