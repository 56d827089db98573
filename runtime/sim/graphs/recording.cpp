#include "recording.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/operators/operator_facts.h"
#include "runtime/sim/streams/capturing.h"

namespace devsan::sim {
namespace {

using torch::jit::Stack;

thread_local bool is_recording = false;

class RecordingScope {
public:
  RecordingScope() { is_recording = true; }
  ~RecordingScope() { is_recording = false; }
  RecordingScope(const RecordingScope &) = delete;
  RecordingScope &operator=(const RecordingScope &) = delete;
};

bool isOnCapturedStream(c10::Device device) {
  return device.is_cuda() && isCapturing(currentStream(withIndex(device).index()));
}

bool isOnCapturedStream(const at::Tensor &tensor) {
  return tensor.defined() && isOnCapturedStream(tensor.device());
}

bool goesToCapturedStream(const c10::IValue &value) {
  if (value.isTensor())
    return isOnCapturedStream(value.toTensor());
  if (value.isDevice())
    return isOnCapturedStream(value.toDevice());
  if (value.isTensorList() || value.isOptionalTensorList())
    return std::ranges::any_of(value.toListRef(), [](const c10::IValue &element) {
      return element.isTensor() && isOnCapturedStream(element.toTensor());
    });
  return false;
}

class RecordedKernel : public c10::OperatorKernel {
public:
  explicit RecordedKernel(runtime::SafeKernelFunction kernel) : kernel_(std::move(kernel)) {}
  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
    runRecorded(op, keys, stack, [&] { kernel_.callBoxed(op, keys, stack); });
  }

private:
  runtime::SafeKernelFunction kernel_;
};

} // namespace

void runRecorded(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack,
                 c10::function_ref<void()> run) {
  Graph *graph = isAnythingCaptured() && !is_recording ? Graph::captured() : nullptr;
  if (C10_LIKELY(graph == nullptr))
    return run();
  const std::size_t count = op.schema().arguments().size();
  const std::size_t below = stack->size() - count;
  const std::span<const c10::IValue> given(stack->data() + below, count);
  if (std::ranges::none_of(given, goesToCapturedStream))
    return run();
  std::vector<c10::IValue> arguments(given.begin(), given.end());
  const RecordingScope recording;
  graph->keepContent(op, arguments);
  run();
  graph->record(op, keys, std::move(arguments), {stack->data() + below, stack->size() - below});
}

// Those that are ready while the library is loaded would cost every call in programs without
// graphs, and others come later.
void recordOwnKernels() {
  static std::mutex mutex;
  static auto *const done = new std::set<std::pair<c10::DispatchKey, std::string>>;
  std::lock_guard lock(mutex);
  for (const c10::DispatchKey key : kCudaKeys)
    for (const c10::OperatorName &name :
         c10::Dispatcher::singleton().getRegistrationsForDispatchKey(key)) {
      if (!done->insert({key, toString(name)}).second)
        continue;
      if (const auto own = runtime::findKernel(name.name.c_str(), name.overload_name.c_str(), key))
        runtime::KernelRegistrar(name.name.substr(0, name.name.find("::")).c_str(), key)
            .wrap(*own, std::make_unique<RecordedKernel>(own->kernel));
    }
}

} // namespace devsan::sim
