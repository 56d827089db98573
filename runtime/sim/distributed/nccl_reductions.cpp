// NcclBackend: what sums, or reduces otherwise.
#include "nccl_backend.h"

#include "host_copy.h"

namespace devsan::sim {
namespace {

// LibTorch before 2.12 has no name for it.
template <typename Op> constexpr Op reduceScatterCoalesced() {
  if constexpr (requires { Op::REDUCE_SCATTER_TENSOR_COALESCED; })
    return Op::REDUCE_SCATTER_TENSOR_COALESCED;
  else
    return Op::_REDUCE_SCATTER_BASE;
}

using c10d::OpType;
using c10d::Work;
using Milliseconds = std::chrono::milliseconds;

void checkReduceScatter(const at::Tensor &output, const at::Tensor &input, int size) {
  if (input.dtype() != output.dtype())
    C10_THROW_ERROR(TypeError, "input tensor must be the same type as the output tensor.");
  if (input.numel() != output.numel() * size)
    C10_THROW_ERROR(ValueError,
                    "input tensor must be the same size as output size times world size");
}

} // namespace

Transfer NcclBackend::startReduction(const at::Tensor &tensor, const c10d::ReduceOp &op,
                                     std::optional<int> root, Milliseconds timeout,
                                     std::function<void(const at::Tensor &)> deliver) {
  HostReduction reduction = prepareReduction(tensor, op, size_);
  std::vector<at::Tensor> values{reduction.values};
  Transfer transfer;
  if (root) {
    c10d::ReduceOptions options;
    options.reduceOp = reduction.op;
    options.rootRank = *root;
    options.timeout = timeoutOf(timeout);
    transfer.carriers = {carrier_->reduce(values, options)};
  } else {
    c10d::AllreduceOptions options;
    options.reduceOp = reduction.op;
    options.timeout = timeoutOf(timeout);
    transfer.carriers = {carrier_->allreduce(values, options)};
  }
  transfer.deliver = [reduction, deliver = std::move(deliver)]() mutable {
    reduction.complete();
    deliver(reduction.values);
  };
  return transfer;
}

c10::intrusive_ptr<Work> NcclBackend::allreduce(std::vector<at::Tensor> &tensors,
                                                const c10d::AllreduceOptions &options) {
  checkOneTensor(tensors);
  const at::Tensor &tensor = tensors.front();
  TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_sparse(),
                              "not simulated: all_reduce of a sparse tensor with NCCL");
  checkSingle(tensor);
  connect(tensor.device());
  Transfer transfer =
      startReduction(tensor, options.reduceOp, std::nullopt, options.timeout,
                     [tensor](const at::Tensor &reduced) { deliverBytes(tensor, reduced); });
  return issue(describe(OpType::ALLREDUCE, tensor, tensor.numel(), tensor.numel(), options.timeout),
               std::move(transfer), tensors, options.asyncOp);
}

c10::intrusive_ptr<Work>
NcclBackend::allreduce_coalesced(std::vector<at::Tensor> &tensors,
                                 const c10d::AllreduceCoalescedOptions &options) {
  checkSameDevice(tensors);
  connect(tensors.front().device());
  Transfer all;
  for (const at::Tensor &tensor : tensors)
    all.append(
        startReduction(tensor, options.reduceOp, std::nullopt, options.timeout,
                       [tensor](const at::Tensor &reduced) { deliverBytes(tensor, reduced); }));
  std::int64_t numel = numelOf(tensors);
  return issue(describe(OpType::COALESCED, tensors.front(), numel, numel, options.timeout),
               std::move(all), tensors, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::reduce(std::vector<at::Tensor> &tensors,
                                             const c10d::ReduceOptions &options) {
  checkOneTensor(tensors);
  const at::Tensor &tensor = tensors.front();
  checkSingle(tensor);
  checkRoot(options.rootRank, size_);
  connect(tensor.device());
  int root = static_cast<int>(options.rootRank);
  bool receives = root == rank_;
  Transfer transfer = startReduction(tensor, options.reduceOp, root, options.timeout,
                                     [tensor, receives](const at::Tensor &reduced) {
                                       if (receives)
                                         deliverBytes(tensor, reduced);
                                     });
  return issue(describe(OpType::REDUCE, tensor, tensor.numel(), tensor.numel(), options.timeout),
               std::move(transfer), tensors, options.asyncOp);
}

// Reduces the whole input everywhere; each rank keeps its part.
Transfer NcclBackend::startReduceScatter(const at::Tensor &output, const at::Tensor &input,
                                         const c10d::ReduceOp &op, Milliseconds timeout) {
  std::size_t offset = output.nbytes() * static_cast<std::size_t>(rank_);
  return startReduction(
      input, op, std::nullopt, timeout,
      [output, offset](const at::Tensor &reduced) { deliverBytes(output, reduced, offset); });
}

c10::intrusive_ptr<Work>
NcclBackend::_reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                                  const c10d::ReduceScatterOptions &options) {
  checkReduceScatter(output, input, size_);
  checkSingle(output);
  checkSingle(input);
  checkSameDevice({output, input});
  connect(output.device());
  return issue(describe(OpType::_REDUCE_SCATTER_BASE, output, input.numel(), output.numel(),
                        options.timeout),
               startReduceScatter(output, input, options.reduceOp, options.timeout), {output},
               options.asyncOp);
}

c10::intrusive_ptr<Work>
NcclBackend::reduce_scatter_tensor_coalesced(std::vector<at::Tensor> &outputs,
                                             std::vector<at::Tensor> &inputs,
                                             const c10d::ReduceScatterOptions &options) {
  TORCH_CHECK_WITH(ValueError, outputs.size() == inputs.size(),
                   "reduce_scatter_tensor_coalesced: ", inputs.size(), " inputs but ",
                   outputs.size(), " outputs");
  checkSameDevice(outputs);
  checkSameDevice(inputs);
  connect(outputs.front().device());
  Transfer all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checkReduceScatter(outputs[i], inputs[i], size_);
    all.append(startReduceScatter(outputs[i], inputs[i], options.reduceOp, options.timeout));
  }
  return issue(describe(reduceScatterCoalesced<OpType>(), outputs.front(), numelOf(inputs),
                        numelOf(outputs), options.timeout),
               std::move(all), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::reduce_scatter(std::vector<at::Tensor> &outputs,
                                                     std::vector<std::vector<at::Tensor>> &inputs,
                                                     const c10d::ReduceScatterOptions &options) {
  checkOneTensor(outputs);
  const at::Tensor &output = outputs.front();
  checkSingle(output);
  TORCH_CHECK_WITH(ValueError, inputs.size() == 1 && inputs[0].size() == std::size_t(size_),
                   "Tensor list input to scatter/gather must match number of collective "
                   "participants");
  checkSameDevice(inputs[0]);
  connect(output.device());
  // Parts of different sizes, too: each is reduced to its rank.
  Transfer all;
  for (int rank = 0; rank < size_; ++rank) {
    bool receives = rank == rank_;
    all.append(startReduction(inputs[0][rank], options.reduceOp, rank, options.timeout,
                              [output, receives](const at::Tensor &reduced) {
                                if (receives)
                                  deliverBytes(output, reduced);
                              }));
  }
  return issue(
      describe(OpType::REDUCE_SCATTER, output, numelOf(inputs[0]), output.numel(), options.timeout),
      std::move(all), outputs, options.asyncOp);
}

} // namespace devsan::sim
