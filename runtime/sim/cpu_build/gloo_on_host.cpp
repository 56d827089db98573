// "gloo" on device tensors. What Gloo does with those is in LibTorch's libraries for CUDA where a
// sum is made, and a CPU build would call nothing: its kernels for CUDA are replaced by the same
// collective on host copies, whose results reach the tensors before the work is done. The rest of
// Gloo's collectives copies by itself in any build.
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "runtime/operators/operator_wrapper.h"
#include "runtime/sim/dispatch/tensor_alias.h"
#include "runtime/sim/distributed/without_gil.h"
#include "runtime/sim/operators/library.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

struct Copied {
  at::Tensor device, host;
};

// Copies are the transport's own: on its thread, of no stream that a program could order.
class UnrecordedScope {
public:
  UnrecordedScope() { noteAccessesOfThread(false); }
  ~UnrecordedScope() { noteAccessesOfThread(true); }
};

at::Tensor toHost(const at::Tensor &tensor) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  return tensor.layout() == at::kStrided
             ? cpuAlias(tensor).clone()
             : tensor.cpu(); // NOLINT(device-host-sync): Gloo works in host memory
}

void deliver(const std::vector<Copied> &results) {
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  UnrecordedScope transport;
  for (const Copied &result : results)
    if (result.device.layout() == at::kStrided)
      cpuAlias(result.device).copy_(result.host);
    else
      result.device.copy_(result.host);
}

// Nothing where the work has none: sums that are scattered.
c10::intrusive_ptr<c10::ivalue::Future> futureOf(c10d::Work &work) {
  try {
    return work.getFuture();
  } catch (const c10::Error &) {
    return {};
  }
}

// Of a collective on host copies. Its results are delivered on the transport's thread as soon as
// they are there, or by whoever waits.
class HostWork final : public c10d::Work {
public:
  HostWork(c10::intrusive_ptr<c10d::Work> carrier, std::vector<Copied> results)
      : Work(-1, carrier->retrieveOpType()), carrier_(std::move(carrier)),
        results_(std::move(results)) {
    for (const Copied &result : results_)
      outputs_.push_back(result.device);
    if (auto carried = futureOf(*carrier_))
      delivered_ = carried->then(
          [results = results_, outputs = outputs_](c10::ivalue::Future &carried) {
            if (carried.hasError())
              std::rethrow_exception(carried.exception_ptr());
            deliver(results);
            return c10::IValue(outputs);
          },
          c10::ListType::create(c10::TensorType::get()));
  }

  bool isCompleted() override {
    return delivered_ ? delivered_->completed() : carrier_->isCompleted();
  }
  bool isSuccess() const override {
    return delivered_ ? delivered_->completed() && !delivered_->hasError() : carrier_->isSuccess();
  }
  std::exception_ptr exception() const override {
    return delivered_ ? delivered_->exception_ptr() : carrier_->exception();
  }
  std::vector<at::Tensor> result() override { return outputs_; }
  bool wait(std::chrono::milliseconds timeout) override {
    WithoutGil free;
    carrier_->wait(timeout);
    if (delivered_)
      delivered_->waitAndThrow();
    else
      std::call_once(delivered_once_, [this] { deliver(results_); });
    return true;
  }
  void synchronize() override { wait(kNoTimeout); }
  void abort() override { carrier_->abort(); }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    return delivered_ ? delivered_ : carrier_->getFuture();
  }
  std::uint64_t getSequencenumber() const override { return carrier_->getSequencenumber(); }

private:
  c10::intrusive_ptr<c10d::Work> carrier_;
  std::vector<Copied> results_;
  std::vector<at::Tensor> outputs_;
  c10::intrusive_ptr<c10::ivalue::Future> delivered_;
  std::once_flag delivered_once_;
};

bool isOnGloo(const c10::IValue *arguments, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (arguments[i].isCustomClass() &&
        arguments[i].type()->str() == "__torch__.torch.classes.c10d.ProcessGroup")
      return arguments[i]
                 .toCustomClass<c10d::ProcessGroup>()
                 ->getBackend(c10::kCUDA)
                 ->getBackendName() == "gloo";
  return false;
}

c10::IValue toHost(const c10::IValue &value, std::vector<Copied> &copies) {
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().is_cuda()) {
    copies.push_back({value.toTensor(), toHost(value.toTensor())});
    return copies.back().host;
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor &tensor : value.toTensorVector())
      list.push_back(toHost(tensor, copies).toTensor());
    return list;
  }
  if (value.isList()) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue &element : value.toListRef())
      list.push_back(toHost(element, copies));
    return list;
  }
  return value;
}

// Where their first argument is written.
constexpr const char *kSums[] = {"c10d::allreduce_", "c10d::reduce_scatter_",
                                 "c10d::_reduce_scatter_base_",
                                 "c10d::reduce_scatter_tensor_coalesced_"};

class SumOnHost : public c10::OperatorKernel {
public:
  explicit SumOnHost(runtime::SafeKernelFunction own) : own_(std::move(own)) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    const std::size_t count = op.schema().arguments().size();
    c10::IValue *arguments = stack->data() + stack->size() - count;
    if (!isOnGloo(arguments, count)) {
      own_.callBoxed(op, keys, stack);
      return;
    }
    const c10::IValue written = arguments[0];
    std::vector<Copied> results, inputs;
    arguments[0] = toHost(arguments[0], results);
    for (std::size_t i = 1; i < count; ++i)
      arguments[i] = toHost(arguments[i], inputs);
    op.redispatchBoxed(c10::DispatchKeySet(keys.has(c10::DispatchKey::SparseCUDA)
                                               ? c10::DispatchKey::SparseCPU
                                               : c10::DispatchKey::CPU),
                       stack);
    c10::IValue &work = stack->back();
    work = c10::IValue(c10::intrusive_ptr<c10d::Work>(
        c10::make_intrusive<HostWork>(work.toCustomClass<c10d::Work>(), std::move(results))));
    if (op.schema().returns().size() > 1)
      (*stack)[stack->size() - 2] = written;
  }

private:
  runtime::SafeKernelFunction own_;
};

DEVSAN_SIM_AT_LOAD(DEVSAN_SIM_WRAPPERS) {
  for (const c10::DispatchKey key : {c10::DispatchKey::CUDA, c10::DispatchKey::SparseCUDA}) {
    runtime::KernelRegistrar registrar("c10d", key);
    for (const char *name : kSums)
      if (auto own = runtime::findKernel(name, "", key))
        registrar.wrap(*own, std::make_unique<SumOnHost>(own->kernel));
  }
}

} // namespace
} // namespace devsan::sim
