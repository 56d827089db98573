// NcclBackend: what brings values to other ranks as they are.
#include "nccl_backend.h"

#include <algorithm>
#include <numeric>

#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "host_copy.h"

namespace devsan::sim {
namespace {

using c10d::OpType;
using c10d::Work;
using Milliseconds = std::chrono::milliseconds;

bool sameSizes(const std::vector<at::Tensor> &tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor &tensor) {
    return tensor.sizes() == tensors.front().sizes();
  });
}

void checkAllgather(const at::Tensor &output, const at::Tensor &input, int size) {
  if (input.dtype() != output.dtype())
    C10_THROW_ERROR(TypeError, "output tensor must have the same type as input tensor");
  if (input.numel() * size != output.numel())
    C10_THROW_ERROR(ValueError,
                    "output tensor size must be equal to world_size times input tensor size");
}

// The rows of `tensor` for each rank, as views.
std::vector<at::Tensor> rowsPerRank(const at::Tensor &tensor, std::vector<std::int64_t> splits,
                                    int size) {
  c10d::checkSplitSizes(splits, tensor, size);
  if (splits.empty())
    splits.assign(static_cast<std::size_t>(size), tensor.size(0) / size);
  at::AutoDispatchBelowADInplaceOrView below_autograd;
  std::vector<at::Tensor> rows;
  std::int64_t row = 0;
  for (std::int64_t count : splits) {
    rows.push_back(tensor.narrow(0, row, count));
    row += count;
  }
  return rows;
}

// What the root gives or receives: one tensor for each rank.
void checkListOfRanks(const std::vector<std::vector<at::Tensor>> &lists, const char *what,
                      int size) {
  TORCH_CHECK_WITH(ValueError, lists.size() == 1, "requires a single-element ", what,
                   " list containing a list with ", size, " tensors.");
  TORCH_CHECK_WITH(ValueError, lists[0].size() == std::size_t(size), "Incorrect ", what,
                   " list size ", lists[0].size(), ". ", what[0] == 'o' ? "Output" : "Input",
                   " list size should be ", size, ", same as size of the process group.");
}

} // namespace

c10::intrusive_ptr<Work> NcclBackend::broadcast(std::vector<at::Tensor> &tensors,
                                                const c10d::BroadcastOptions &options) {
  checkOneTensor(tensors);
  at::Tensor tensor = tensors.front();
  if (tensor.is_complex())
    tensor = at::view_as_real(tensor);
  checkSingle(tensor);
  checkType(tensor);
  checkRoot(options.rootRank, size_);
  connect(tensor.device());
  bool sends = options.rootRank == rank_;
  at::Tensor bytes = sends ? bytesOf(tensor) : hostBytes(tensor.nbytes());
  c10d::BroadcastOptions carried;
  carried.rootRank = options.rootRank;
  carried.timeout = timeoutOf(options.timeout);
  std::vector<at::Tensor> carried_tensors{bytes};
  Transfer transfer;
  transfer.carriers = {carrier_->broadcast(carried_tensors, carried)};
  if (!sends)
    transfer.deliver = [tensor, bytes] { deliverBytes(tensor, bytes); };
  return issue(describe(OpType::BROADCAST, tensor, tensor.numel(), tensor.numel(), options.timeout),
               std::move(transfer), tensors, options.asyncOp);
}

Transfer NcclBackend::startAllgather(const at::Tensor &output, const at::Tensor &input,
                                     Milliseconds timeout) {
  checkType(input);
  at::Tensor sent = bytesOf(input);
  at::Tensor received = hostBytes(input.nbytes() * static_cast<std::size_t>(size_));
  c10d::AllgatherOptions options;
  options.timeout = timeoutOf(timeout);
  Transfer transfer;
  transfer.carriers = {carrier_->_allgather_base(received, sent, options)};
  transfer.deliver = [output, received] { deliverBytes(output, received); };
  return transfer;
}

c10::intrusive_ptr<Work> NcclBackend::_allgather_base(at::Tensor &output, at::Tensor &input,
                                                      const c10d::AllgatherOptions &options) {
  checkSingle(input);
  checkSingle(output);
  checkAllgather(output, input, size_);
  checkSameDevice({output, input});
  connect(output.device());
  return issue(
      describe(OpType::_ALLGATHER_BASE, output, input.numel(), output.numel(), options.timeout),
      startAllgather(output, input, options.timeout), {output}, options.asyncOp);
}

c10::intrusive_ptr<Work>
NcclBackend::allgather_into_tensor_coalesced(std::vector<at::Tensor> &outputs,
                                             std::vector<at::Tensor> &inputs,
                                             const c10d::AllgatherOptions &options) {
  TORCH_CHECK_WITH(ValueError, outputs.size() == inputs.size(),
                   "allgather_into_tensor_coalesced: ", inputs.size(), " inputs but ",
                   outputs.size(), " outputs");
  checkSameDevice(outputs);
  checkSameDevice(inputs);
  connect(outputs.front().device());
  Transfer all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    checkAllgather(outputs[i], inputs[i], size_);
    all.append(startAllgather(outputs[i], inputs[i], options.timeout));
  }
  return issue(describe(OpType::COALESCED, outputs.front(), numelOf(inputs), numelOf(outputs),
                        options.timeout),
               std::move(all), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::allgather(std::vector<std::vector<at::Tensor>> &outputs,
                                                std::vector<at::Tensor> &inputs,
                                                const c10d::AllgatherOptions &options) {
  checkOneTensor(inputs);
  const at::Tensor &input = inputs.front();
  checkSingle(input);
  checkType(input);
  TORCH_CHECK_WITH(ValueError, outputs.size() == 1 && outputs[0].size() == std::size_t(size_),
                   "Tensor list input to scatter/gather must match number of collective "
                   "participants");
  std::vector<at::Tensor> &parts = outputs[0];
  checkSameDevice(parts);
  connect(input.device());
  Transfer transfer;
  if (sameSizes(parts)) {
    TORCH_CHECK_WITH(
        ValueError, input.numel() == parts[0].numel(),
        "Tensor list operands to scatter/gather must have the same number of elements");
    at::Tensor sent = bytesOf(input);
    at::Tensor received = hostBytes(input.nbytes() * static_cast<std::size_t>(size_));
    c10d::AllgatherOptions carried;
    carried.timeout = timeoutOf(options.timeout);
    transfer.carriers = {carrier_->_allgather_base(received, sent, carried)};
    transfer.deliver = [parts, received] {
      std::size_t offset = 0;
      for (const at::Tensor &part : parts)
        offset = deliverBytes(part, received, offset);
    };
  } else {
    // As NCCL: parts of different sizes are broadcast, one by one.
    for (int rank = 0; rank < size_; ++rank) {
      const at::Tensor &part = parts[rank];
      at::Tensor bytes = rank == rank_ ? bytesOf(input) : hostBytes(part.nbytes());
      TORCH_CHECK_WITH(ValueError, bytes.nbytes() == part.nbytes(),
                       "Tensor list operands to scatter/gather must have the same number of "
                       "elements");
      c10d::BroadcastOptions carried;
      carried.rootRank = rank;
      carried.timeout = timeoutOf(options.timeout);
      std::vector<at::Tensor> tensors{bytes};
      transfer.append(
          {{carrier_->broadcast(tensors, carried)}, [part, bytes] { deliverBytes(part, bytes); }});
    }
  }
  return issue(describe(OpType::ALLGATHER, input, input.numel(), numelOf(parts), options.timeout),
               std::move(transfer), parts, options.asyncOp);
}

Transfer NcclBackend::startExchange(const std::vector<at::Tensor> &outputs,
                                    const std::vector<at::Tensor> &inputs, Milliseconds timeout) {
  auto sizesOf = [](const std::vector<at::Tensor> &tensors) {
    std::vector<std::int64_t> sizes;
    for (const at::Tensor &tensor : tensors)
      sizes.push_back(tensor.defined() ? static_cast<std::int64_t>(tensor.nbytes()) : 0);
    return sizes;
  };
  std::vector<std::int64_t> received_sizes = sizesOf(outputs), sent_sizes = sizesOf(inputs);
  at::Tensor sent = bytesOf(inputs);
  at::Tensor received = hostBytes(static_cast<std::size_t>(
      std::accumulate(received_sizes.begin(), received_sizes.end(), std::int64_t{0})));
  c10d::AllToAllOptions options;
  options.timeout = timeoutOf(timeout);
  Transfer transfer;
  transfer.carriers = {
      carrier_->alltoall_base(received, sent, received_sizes, sent_sizes, options)};
  transfer.deliver = [outputs, received] {
    std::size_t offset = 0;
    for (const at::Tensor &output : outputs)
      offset = deliverBytes(output, received, offset);
  };
  return transfer;
}

c10::intrusive_ptr<Work> NcclBackend::alltoall(std::vector<at::Tensor> &outputs,
                                               std::vector<at::Tensor> &inputs,
                                               const c10d::AllToAllOptions &options) {
  TORCH_CHECK_WITH(ValueError,
                   outputs.size() == std::size_t(size_) && inputs.size() == std::size_t(size_),
                   "Number of input and output tensors must be the group size");
  for (const auto *list : {&outputs, &inputs})
    for (const at::Tensor &tensor : *list) {
      checkSingle(tensor, true);
      checkType(tensor);
      TORCH_CHECK_WITH(ValueError, tensor.device() == outputs.front().device(),
                       "Tensors must be on the same device");
    }
  connect(outputs.front().device());
  return issue(describe(OpType::ALLTOALL, outputs.front(), numelOf(inputs), numelOf(outputs),
                        options.timeout),
               startExchange(outputs, inputs, options.timeout), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::alltoall_base(at::Tensor &output, at::Tensor &input,
                                                    std::vector<int64_t> &output_splits,
                                                    std::vector<int64_t> &input_splits,
                                                    const c10d::AllToAllOptions &options) {
  checkSingle(output);
  checkSingle(input);
  checkType(input);
  checkSameDevice({output, input});
  auto outputs = rowsPerRank(output, output_splits, size_);
  auto inputs = rowsPerRank(input, input_splits, size_);
  connect(output.device());
  return issue(
      describe(OpType::ALLTOALL_BASE, output, input.numel(), output.numel(), options.timeout),
      startExchange(outputs, inputs, options.timeout), {output}, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::gather(std::vector<std::vector<at::Tensor>> &outputs,
                                             std::vector<at::Tensor> &inputs,
                                             const c10d::GatherOptions &options) {
  checkRoot(options.rootRank, size_);
  checkOneTensor(inputs);
  const at::Tensor &input = inputs.front();
  checkSingle(input);
  checkType(input);
  int root = static_cast<int>(options.rootRank);
  std::vector<at::Tensor> received(size_), sent(size_);
  sent[root] = input;
  if (rank_ == root) {
    checkListOfRanks(outputs, "output", size_);
    received = outputs[0];
    checkSameDevice(received);
  } else {
    TORCH_CHECK_WITH(ValueError, outputs.empty(), "requires empty output on non-root");
  }
  connect(input.device());
  std::vector<at::Tensor> results = rank_ == root ? received : std::vector<at::Tensor>{};
  return issue(
      describe(OpType::GATHER, input, input.numel(), input.numel() * size_, options.timeout),
      startExchange(received, sent, options.timeout), results, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::scatter(std::vector<at::Tensor> &outputs,
                                              std::vector<std::vector<at::Tensor>> &inputs,
                                              const c10d::ScatterOptions &options) {
  checkRoot(options.rootRank, size_);
  checkOneTensor(outputs);
  const at::Tensor &output = outputs.front();
  checkSingle(output);
  checkType(output);
  int root = static_cast<int>(options.rootRank);
  std::vector<at::Tensor> received(size_), sent(size_);
  received[root] = output;
  if (rank_ == root) {
    checkListOfRanks(inputs, "input", size_);
    sent = inputs[0];
    checkSameDevice(sent);
  } else {
    TORCH_CHECK_WITH(ValueError, inputs.empty(), "requires empty input on non-root");
  }
  connect(output.device());
  return issue(
      describe(OpType::SCATTER, output, output.numel() * size_, output.numel(), options.timeout),
      startExchange(received, sent, options.timeout), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::send(std::vector<at::Tensor> &tensors, int destination, int) {
  checkOneTensor(tensors);
  const at::Tensor &tensor = tensors.front();
  checkSingle(tensor, true);
  checkType(tensor);
  if (!coalescing_)
    connectPair(tensor.device(), destination);
  std::vector<at::Tensor> bytes{bytesOf(tensor)};
  Transfer transfer;
  transfer.carriers = {carrier_->send(bytes, destination, nextMessage(sent_, destination))};
  transfer.deliver = [bytes] {}; // the carrier does not keep them
  return issue(describe(OpType::SEND, tensor, tensor.numel(), tensor.numel(), kNoTimeout),
               std::move(transfer), tensors, true, true);
}

c10::intrusive_ptr<Work> NcclBackend::recv(std::vector<at::Tensor> &tensors, int source, int) {
  checkOneTensor(tensors);
  const at::Tensor &tensor = tensors.front();
  checkSingle(tensor, true);
  checkType(tensor);
  if (!coalescing_)
    connectPair(tensor.device(), source);
  std::vector<at::Tensor> bytes{hostBytes(tensor.nbytes())};
  Transfer transfer;
  transfer.carriers = {carrier_->recv(bytes, source, nextMessage(received_, source))};
  transfer.deliver = [tensor, bytes] { deliverBytes(tensor, bytes.front()); };
  return issue(describe(OpType::RECV, tensor, tensor.numel(), tensor.numel(), kNoTimeout),
               std::move(transfer), tensors, true, true);
}

} // namespace devsan::sim
