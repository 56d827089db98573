#include "graph.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "captures.h"
#include "recording.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/devices/generators.h"
#include "runtime/sim/memory/arena.h"
#include "runtime/sim/operators/operator_facts.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/pending_copies.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {

// All graphs have the same of a state, until the last one is gone.
struct SeedAndOffset {
  at::Generator state; // its address is given to no other
  at::Tensor seed, offset;
};

namespace {

constexpr const char *kNotPermitted = "operation not permitted when stream is capturing";
constexpr const char *kInvalidated = "operation failed due to a previous error during capture";

std::atomic<Graph *> captured_graph{nullptr};
std::atomic<bool> is_debugged{false};

const char *nameOf(c10::Layout layout) {
  switch (layout) {
  case c10::kSparse:
    return "torch.sparse_coo";
  case c10::kSparseCsr:
    return "torch.sparse_csr";
  case c10::kSparseCsc:
    return "torch.sparse_csc";
  case c10::kSparseBsr:
    return "torch.sparse_bsr";
  case c10::kSparseBsc:
    return "torch.sparse_bsc";
  case c10::kMkldnn:
    return "torch._mkldnn";
  default:
    return "torch.jagged";
  }
}

// Of tensors that have one: sparse ones have not, and a graph holds no operator on them.
const c10::Storage &storageOf(const at::Tensor &tensor) {
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided, "not simulated: tensors of layout ",
                              nameOf(tensor.layout()), " in a CUDA graph; run this on a real GPU");
  return tensor.unsafeGetTensorImpl()->unsafe_storage();
}

void addTensors(std::vector<at::Tensor> &tensors, const c10::IValue &value) {
  if (value.isTensor() && value.toTensor().defined())
    tensors.push_back(value.toTensor());
  else if (value.isTensorList() || value.isOptionalTensorList())
    for (const c10::IValue &element : value.toListRef())
      addTensors(tensors, element);
}

std::vector<at::Tensor> tensorsOf(std::span<const c10::IValue> values) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue &value : values)
    addTensors(tensors, value);
  return tensors;
}

std::vector<at::Tensor> changedTensors(const c10::OperatorHandle &op,
                                       std::span<const c10::IValue> arguments) {
  std::vector<at::Tensor> changed;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (isChanged(op.schema().arguments()[i]))
      addTensors(changed, arguments[i]);
  return changed;
}

bool isView(const c10::FunctionSchema &schema) {
  return !schema.returns().empty() && std::ranges::none_of(schema.arguments(), isChanged) &&
         std::ranges::all_of(schema.returns(), [](const c10::Argument &result) {
           return result.alias_info() != nullptr;
         });
}

// Tensors whose content no one has asked for.
bool computesNothing(std::string_view name) {
  return name == "aten::empty" || name == "aten::empty_strided";
}

// As CPU kernels reach it, with what late copies bring.
char *hostAddressOf(const c10::Storage &storage) {
  void *address = storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get();
  if (storage.device().is_cuda())
    finishCopiesTo(address);
  else
    finishCopiesAround(address, storage.nbytes());
  return static_cast<char *>(kernelAddress(address));
}

bool hasBytes(const c10::Storage &storage) {
  return (storage.device().is_cuda() || storage.device().is_cpu()) && storage.nbytes() != 0 &&
         storage.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks().get() != nullptr;
}

// What a graph does is invisible to autograd (no graph, no version counters), to autocast and to
// modes of Python.
c10::impl::LocalDispatchKeySet belowTheProgram() {
  using c10::DispatchKey;
  c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
  keys.included_ =
      keys.included_ - c10::DispatchKeySet({DispatchKey::Python, DispatchKey::PythonTLSSnapshot});
  keys.excluded_ = keys.excluded_ | c10::autograd_dispatch_keyset_with_ADInplaceOrView |
                   c10::DispatchKeySet({DispatchKey::AutocastCPU, DispatchKey::AutocastCUDA});
  return keys;
}

// The error of a function of CUDA's.
[[noreturn]] void failAsCuda(const char *what) {
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<std::uint32_t>(__LINE__)}, 900,
      std::string("CUDA error: ") + what +
          "\nCUDA kernel errors might be asynchronously reported at some other API call, so the "
          "stacktrace below might be incorrect.\nFor debugging consider passing "
          "CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable device-side "
          "assertions.\n");
}

class SilentScope { // nothing that it covers is work of the program's
public:
  SilentScope() { noteAccessesOfThread(false); }
  ~SilentScope() { noteAccessesOfThread(true); }
  SilentScope(const SilentScope &) = delete;
  SilentScope &operator=(const SilentScope &) = delete;
};

} // namespace

void refuseToWait() {
  if (Graph *graph = Graph::captured()) {
    graph->invalidate();
    failAsCuda(kNotPermitted);
  }
}

void refuseToWait(c10::Stream stream) {
  if (isCapturing(stream))
    refuseToWait();
}

void refuseToWait(const runtime::Effect &effect) {
  if (isAnythingCaptured() && effect.blocks && effect.waitsFor().is_cuda())
    refuseToWait(currentStream(withIndex(effect.waitsFor()).index()));
}

PoolId newPool() {
  static std::atomic<std::uint64_t> count{0};
  return {0, ++count};
}

void RecordedCall::replay() const {
  torch::jit::Stack stack = arguments;
  op.redispatchBoxed(keys, &stack);
  const std::vector<at::Tensor> again = tensorsOf(stack);
  for (const auto &[number, result] : fills)
    result.copy_(again[number]);
}

Graph *Graph::captured() {
  return captured_graph.load(std::memory_order_acquire);
}

Graph::~Graph() {
  if (captured() == this)
    stopCapture();
  forget();
}

void Graph::forget() {
  calls_.clear();
  made_.clear();
  written_.clear();
  content_.clear();
  states_.clear();
  if (std::exchange(holds_pool_, false))
    releasePool(pool_.second);
  captured_ = instantiated_ = invalid_ = false;
}

void Graph::registerGenerator(const at::Generator &generator) {
  generators_.push_back(generator);
  holdSeedAndOffset(generator);
}

void Graph::holdSeedAndOffset(const at::Generator &generator) {
  if (!hasPools())
    return;
  static std::mutex mutex;
  static auto *const of_states = new std::map<std::uint64_t, std::weak_ptr<SeedAndOffset>>;
  std::lock_guard lock(mutex);
  std::weak_ptr<SeedAndOffset> &known = (*of_states)[stateOfGenerator(generator)];
  std::shared_ptr<SeedAndOffset> held = known.lock();
  if (!held) {
    const auto number = [] {
      return at::empty({1}, at::TensorOptions(c10::kLong).device(c10::kCUDA));
    };
    held = std::make_shared<SeedAndOffset>(generator.graphsafe_get_state(), number(), number());
    known = held;
  }
  seeds_and_offsets_.insert(std::move(held));
}

void Graph::beginCapture(PoolId pool) {
  TORCH_CHECK(!captured_, "This CUDAGraph instance already owns a captured graph. To capture a new "
                          "graph, create a new instance.");
  const c10::Stream stream = currentStream(currentDevice());
  TORCH_CHECK(stream.id() != 0,
              "CUDA graphs must be captured on a non-default stream. (However, after capture, it's "
              "ok to replay them on the default stream.)");
  refuseToWait();
  holdSeedAndOffset(defaultGenerator(stream.device_index()));
  recordOwnKernels();
  const auto keepState = [this](at::Generator generator) {
    std::lock_guard lock(generator.mutex());
    states_.emplace_back(generator, generator.get_state());
  };
  for (c10::DeviceIndex i = 0; i < deviceCount(); ++i)
    keepState(defaultGenerator(i));
  std::ranges::for_each(generators_, keepState);
  pool_ = pool == PoolId{0, 0} ? newPool() : pool;
  if (hasPools()) {
    holdPool(pool_.second);
    holds_pool_ = true;
  }
  stream_ = stream;
  captured_graph.store(this, std::memory_order_release);
  enterCapture(stream);
}

void Graph::stopCapture() {
  captured_graph.store(nullptr, std::memory_order_release);
  invalid_ |= !leaveCapture();
  restore();
}

bool Graph::endCapture() {
  if (captured() != this)
    failAsCuda("operation not permitted");
  stopCapture();
  if (invalid_) {
    forget();
    failAsCuda(kInvalidated);
  }
  TORCH_CHECK(currentStream(currentDevice()) == *stream_,
              "Capture must end on the same stream it began on.");
  captured_ = true;
  return !calls_.empty();
}

void Graph::instantiate() {
  TORCH_CHECK(captured_, "capture_end() must have been called before calling instantiate");
  TORCH_CHECK(keep_ || !instantiated_,
              "instantiate() is intended to be called by the user only when keep_graph=true");
  instantiated_ = true;
}

void Graph::replay() {
  TORCH_CHECK(captured_, "Called CUDAGraph::replay without a preceding successful capture.");
  refuseToWait();
  instantiated_ = true;
  const c10::impl::ForceDispatchKeyGuard below(belowTheProgram());
  const c10::DeviceGuard guard(stream_->device());
  for (const RecordedCall &call : calls_)
    call.replay();
}

void Graph::reset() {
  if (captured() == this)
    stopCapture();
  forget();
}

PoolId Graph::pool() const {
  TORCH_CHECK(captured_, "Called CUDAGraph::pool() without a preceding successful capture.");
  return pool_;
}

void Graph::enableDebugging() {
  is_debugged.store(true, std::memory_order_relaxed);
}

std::optional<std::string> Graph::dot() const {
  if (!is_debugged.load(std::memory_order_relaxed) && !keep_)
    return std::nullopt;
  std::string nodes, edges;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const c10::OperatorName &name = calls_[i].op.operator_name();
    std::string label = name.name;
    label.replace(label.find("::"), 2, ".");
    label += "." + (name.overload_name.empty() ? "default" : name.overload_name);
    const std::string node = "node_" + std::to_string(i);
    nodes += node + " [label=\"" + label + "\"];\n";
    edges += (edges.empty() ? "" : " -> ") + node;
  }
  return "digraph cuda_graph {\n" + nodes + edges + "\n}\n";
}

bool Graph::isMade(const at::Tensor &tensor) const {
  return made_.contains(storageOf(tensor).unsafeGetStorageImpl());
}

// What a recorded call holds of an argument or a result: nothing that the program changes later.
at::Tensor Graph::asItIs(const at::Tensor &tensor) const {
  c10::TensorImpl *impl = tensor.unsafeGetTensorImpl();
  const bool by_address = hasPools() && tensor.is_cuda() && !tensor.is_quantized() &&
                          !tensor.is_nested() && impl->has_storage() &&
                          poolOf(impl->unsafe_storage().data()) == pool_.second;
  if (!by_address)
    return at::Tensor(impl->shallow_copy_and_detach(c10::VariableVersion(0), true));
  const c10::Storage &storage = impl->unsafe_storage();
  c10::Storage known(c10::Storage::use_byte_size_t(), storage.nbytes(),
                     c10::DataPtr(const_cast<void *>(storage.data()), storage.device()));
  at::Tensor copy =
      at::detail::make_tensor<c10::TensorImpl>(std::move(known), impl->key_set(), impl->dtype());
  copy.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
                                                    tensor.storage_offset());
  return copy;
}

c10::IValue Graph::asItIs(const c10::IValue &value) const {
  if (value.isTensor())
    return value.toTensor().defined() ? c10::IValue(asItIs(value.toTensor())) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const c10::IValue &element : value.toListRef())
      list.push_back(asItIs(element).toTensor());
    return list;
  }
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const c10::IValue &element : value.toListRef())
      list.push_back(asItIs(element).toOptional<at::Tensor>());
    return list;
  }
  // A generator may be given another state later.
  if (value.isGenerator() && value.toGenerator().device().is_cuda())
    return value.toGenerator().graphsafe_get_state();
  return value;
}

void Graph::keepContent(const c10::OperatorHandle &op, std::span<const c10::IValue> arguments) {
  std::lock_guard lock(recording_);
  for (const at::Tensor &tensor : changedTensors(op, arguments)) {
    const c10::Storage &storage = storageOf(tensor);
    const c10::StorageImpl *key = storage.unsafeGetStorageImpl();
    if (isMade(tensor) || content_.contains(key))
      continue;
    Content &content = content_[key];
    content.storage = storage;
    if (!hasBytes(storage))
      continue;
    const char *bytes = hostAddressOf(storage);
    content.bytes.assign(bytes, bytes + storage.nbytes());
  }
}

void Graph::record(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                   std::vector<c10::IValue> arguments, std::span<const c10::IValue> results) {
  if (isView(op.schema()))
    return;
  std::lock_guard lock(recording_);
  RecordedCall call{op, keys, {}, {}};
  std::set<const c10::StorageImpl *> given;
  for (const at::Tensor &tensor : tensorsOf(arguments))
    given.insert(storageOf(tensor).unsafeGetStorageImpl());
  for (const at::Tensor &tensor : changedTensors(op, arguments))
    if (isMade(tensor))
      written_.push_back(asItIs(tensor));
  const std::vector<at::Tensor> outputs = tensorsOf(results);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const c10::StorageImpl *storage = storageOf(outputs[i]).unsafeGetStorageImpl();
    if (given.contains(storage))
      continue;
    made_.insert(storage);
    if (computesNothing(op.operator_name().name) || outputs[i]._is_zerotensor())
      continue;
    call.fills.emplace_back(i, asItIs(outputs[i]));
    written_.push_back(call.fills.back().second);
  }
  if (computesNothing(op.operator_name().name))
    return;
  for (const c10::IValue &argument : arguments)
    call.arguments.push_back(asItIs(argument));
  calls_.push_back(std::move(call));
}

// Nothing has been computed yet.
void Graph::restore() {
  const SilentScope silent;
  const c10::impl::ForceDispatchKeyGuard below(belowTheProgram());
  for (const auto &[key, content] : content_)
    if (!content.bytes.empty() && hasBytes(content.storage))
      std::memcpy(hostAddressOf(content.storage), content.bytes.data(),
                  std::min(content.bytes.size(), content.storage.nbytes()));
  content_.clear();
  for (auto &[generator, state] : std::exchange(states_, {})) {
    std::lock_guard lock(generator.mutex());
    at::Generator(generator).set_state(state);
  }
  // Indices stay valid: the capture of a backward pass reads them.
  for (const at::Tensor &tensor : std::exchange(written_, {}))
    if (tensor.is_cuda())
      tensor.fill_(tensor.is_floating_point() || tensor.is_complex()
                       ? at::Scalar(std::numeric_limits<double>::quiet_NaN())
                       : at::Scalar(0));
  made_.clear();
}

} // namespace devsan::sim
