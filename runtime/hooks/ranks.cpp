#include "runtime/hooks/ranks.h"
#include "runtime/operators/operator_wrapper.h"
#include "runtime/record/device_keys.h"
#include "runtime/record/recorder.h"

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include <atomic>
#include <cstdlib>
#include <vector>

namespace devsan::runtime {
namespace {

// Those that programs call first: DDP and FSDP compare and hand out the parameters, others reduce.
constexpr const char *kCollectiveNames[] = {
    "c10d::allreduce_", "c10d::broadcast_",       "c10d::barrier",
    "c10d::allgather_", "c10d::_allgather_base_", "c10d::_reduce_scatter_base_",
};

// Of the largest group seen: its ranks are those of the job.
std::atomic<int> largest_group{0};

class RankHook : public c10::OperatorKernel {
public:
  RankHook(WrappedKernel wrapped, std::size_t group_argument)
      : kernel_(std::move(wrapped.kernel)), group_argument_(group_argument) {}

  void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys,
                  torch::jit::Stack *stack) {
    try {
      const std::size_t arguments = op.schema().arguments().size();
      note(stack->at(stack->size() - arguments + group_argument_));
    } catch (...) {
    }
    kernel_.callBoxed(op, keys, stack);
  }

private:
  static void note(const c10::IValue &argument) {
    const auto group = argument.toCustomClass<c10d::ProcessGroup>();
    const int size = group->getSize();
    if (size <= largest_group.load(std::memory_order_relaxed))
      return;
    largest_group.store(size, std::memory_order_relaxed);
    recorder().noteRank(group->getRank());
  }

  SafeKernelFunction kernel_;
  std::size_t group_argument_;
};

// The operator's argument that is the process group; none where this LibTorch has another form.
std::optional<std::size_t> groupArgument(const c10::OperatorHandle &op) {
  const std::vector<c10::Argument> &arguments = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].type()->str().ends_with(".ProcessGroup"))
      return i;
  return std::nullopt;
}

} // namespace

void observeRanks() {
  const char *rank = std::getenv("RANK");
  if ((rank && *rank) || !recorder().recording())
    return;
  std::vector<c10::DispatchKey> keys(deviceKeys().begin(), deviceKeys().end());
  keys.push_back(c10::DispatchKey::CPU);
  for (const c10::DispatchKey key : keys)
    for (const char *name : kCollectiveNames)
      if (auto wrapped = findKernel(name, "", key))
        if (const auto argument = groupArgument(wrapped->op)) {
          auto *registrar = new KernelRegistrar("c10d", key);
          registrar->wrap(*wrapped, std::make_unique<RankHook>(*wrapped, *argument));
        }
}

} // namespace devsan::runtime
