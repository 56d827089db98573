#include "nccl_backend.h"

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>
#include <unistd.h>

#include <ATen/EmptyTensor.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "host_copy.h"
#include "runtime/sim/devices/devices.h"
#include "runtime/sim/streams/host_wait.h"

namespace devsan::sim {
namespace {

using c10d::OpType;
using c10d::Work;
using Milliseconds = std::chrono::milliseconds;

// Which machine this is, as NCCL asks before it compares bus ids.
std::string hostId() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id") >> std::ws, boot);
  return std::string(name) + " " + boot;
}

std::vector<std::uint8_t> toValue(const std::string &text) {
  return {text.begin(), text.end()};
}

// A collective takes one tensor per process.
void checkOneTensor(const std::vector<at::Tensor> &tensors) {
  TORCH_CHECK(tensors.size() == 1, "Expecting one tensor only but got multiple");
}

std::int64_t numelOf(const std::vector<at::Tensor> &tensors) {
  std::int64_t total = 0;
  for (const at::Tensor &tensor : tensors)
    total += tensor.numel();
  return total;
}

bool sameSizes(const std::vector<at::Tensor> &tensors) {
  return std::all_of(tensors.begin(), tensors.end(), [&](const at::Tensor &tensor) {
    return tensor.sizes() == tensors.front().sizes();
  });
}

void append(Transfer &all, Transfer one) {
  for (auto &carrier : one.carriers)
    all.carriers.push_back(std::move(carrier));
  all.deliver = [first = std::move(all.deliver), second = std::move(one.deliver)] {
    if (first)
      first();
    if (second)
      second();
  };
}

void checkRoot(std::int64_t root, int size) {
  TORCH_CHECK_WITH(ValueError, root >= 0 && root < size, "invalid root rank: ", root);
}

} // namespace

NcclBackend::NcclBackend(c10::intrusive_ptr<c10d::Backend> carrier,
                         c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                         Milliseconds timeout, int global_rank)
    : Backend(rank, size), carrier_(std::move(carrier)), store_(std::move(store)),
      options_(c10::make_intrusive<Options>("nccl", timeout)), global_rank_(global_rank) {}

NcclBackend::~NcclBackend() {
  queue_->clear();
}

Milliseconds NcclBackend::timeoutOf(Milliseconds asked) const {
  return asked.count() > 0 ? asked : options_->timeout;
}

WorkDescription NcclBackend::describe(OpType op, const at::Tensor &tensor, std::int64_t numel_in,
                                      std::int64_t numel_out, Milliseconds timeout) {
  return {op, ++sequence_, numel_in, numel_out, timeoutOf(timeout), tensor.device()};
}

void NcclBackend::checkBound(c10::Device device) const {
  auto bound = getBoundDeviceId();
  if (bound && *bound != device)
    C10_THROW_ERROR(DistBackendError,
                    c10::str("Attempt to perform collective on tensor not on device passed to "
                             "init_process_group: tensor found on device ",
                             device, " but backend constrained to ", *bound));
}

void NcclBackend::exchangeDevices(const std::string &prefix, const std::vector<int> &ranks,
                                  c10::Device device) {
  auto keyOf = [&](int rank) { return prefix + "/" + std::to_string(rank); };
  const std::string own = hostId() + "\n" + std::to_string(physicalIndex(device.index()));
  std::vector<std::string> keys;
  for (int rank : ranks)
    keys.push_back(keyOf(rank));
  try {
    store_->set(keyOf(rank_), toValue(own));
    store_->wait(keys, options_->timeout);
  } catch (const c10::Error &error) {
    C10_THROW_ERROR(DistBackendError,
                    c10::str("[", rank_,
                             "] is setting up NCCL communicator and waits for the other "
                             "ranks via c10d key-value store by key '",
                             prefix, "', but got error: ", error.what_without_backtrace()));
  }
  for (int rank : ranks) {
    std::vector<std::uint8_t> value = store_->get(keyOf(rank));
    if (rank == rank_ || std::string(value.begin(), value.end()) != own)
      continue;
    std::ostringstream bus;
    bus << std::hex << (physicalIndex(device.index()) << 12);
    C10_THROW_ERROR(
        DistBackendError,
        c10::str("NCCL error, invalid usage (run with NCCL_DEBUG=WARN for details)\n"
                 "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."
                 "\nLast error:\nDuplicate GPU detected : rank ",
                 rank_, " and rank ", rank, " both on CUDA device ", bus.str()));
  }
}

void NcclBackend::connect(c10::Device device) {
  checkBound(device);
  markUsed(device.index());
  std::lock_guard<std::mutex> lock(connect_mutex_);
  const std::string name = std::to_string(device.index());
  if (!connected_.emplace(name, true).second)
    return;
  try {
    std::vector<int> everybody(size_);
    std::iota(everybody.begin(), everybody.end(), 0);
    if (size_ > 1)
      exchangeDevices("devsan_nccl/" + std::to_string(connections_++), everybody, device);
  } catch (...) {
    connected_.erase(name);
    throw;
  }
  std::lock_guard<std::mutex> state(state_mutex_);
  used_devices_.push_back(device.index());
}

int NcclBackend::nextMessage(std::map<int, int> &messages, int peer) {
  std::lock_guard<std::mutex> lock(state_mutex_);
  return messages[peer]++;
}

void NcclBackend::connectPair(c10::Device device, int peer) {
  checkBound(device);
  std::lock_guard<std::mutex> lock(connect_mutex_);
  // A communicator of all ranks serves pairs, too.
  if (connected_.count(std::to_string(device.index())))
    return;
  const std::string name =
      std::to_string(std::min(rank_, peer)) + ":" + std::to_string(std::max(rank_, peer));
  if (!connected_.emplace(name, true).second)
    return;
  try {
    exchangeDevices("devsan_nccl/" + name, {rank_, peer}, device);
  } catch (...) {
    connected_.erase(name);
    throw;
  }
}

c10::intrusive_ptr<Work> NcclBackend::issue(const WorkDescription &description, Transfer transfer,
                                            std::vector<at::Tensor> outputs, bool async,
                                            bool point_to_point) {
  auto work = c10::make_intrusive<NcclWork>(rank_, description, std::move(transfer),
                                            std::move(outputs), queue_);
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (coalescing_) {
      // The work of endCoalescing finishes it, and is what the queue holds.
      coalesced_.push_back(work);
      return work;
    }
  }
  queue_->push(work, !point_to_point);
  if (async)
    return work;
  work->wait(kNoTimeout);
  return nullptr;
}

// ---- reductions ----

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
  at::Tensor tensor = tensors.front();
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
    append(all,
           startReduction(tensor, options.reduceOp, std::nullopt, options.timeout,
                          [tensor](const at::Tensor &reduced) { deliverBytes(tensor, reduced); }));
  std::int64_t numel = numelOf(tensors);
  return issue(describe(OpType::COALESCED, tensors.front(), numel, numel, options.timeout),
               std::move(all), tensors, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::reduce(std::vector<at::Tensor> &tensors,
                                             const c10d::ReduceOptions &options) {
  checkOneTensor(tensors);
  at::Tensor tensor = tensors.front();
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

namespace {

void checkReduceScatter(const at::Tensor &output, const at::Tensor &input, int size) {
  if (input.dtype() != output.dtype())
    C10_THROW_ERROR(TypeError, "input tensor must be the same type as the output tensor.");
  if (input.numel() != output.numel() * size)
    C10_THROW_ERROR(ValueError,
                    "input tensor must be the same size as output size times world size");
}

void checkAllgather(const at::Tensor &output, const at::Tensor &input, int size) {
  if (input.dtype() != output.dtype())
    C10_THROW_ERROR(TypeError, "output tensor must have the same type as input tensor");
  if (input.numel() * size != output.numel())
    C10_THROW_ERROR(ValueError,
                    "output tensor size must be equal to world_size times input tensor size");
}

} // namespace

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
    append(all, startReduceScatter(outputs[i], inputs[i], options.reduceOp, options.timeout));
  }
  return issue(describe(OpType::REDUCE_SCATTER_TENSOR_COALESCED, outputs.front(), numelOf(inputs),
                        numelOf(outputs), options.timeout),
               std::move(all), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::reduce_scatter(std::vector<at::Tensor> &outputs,
                                                     std::vector<std::vector<at::Tensor>> &inputs,
                                                     const c10d::ReduceScatterOptions &options) {
  checkOneTensor(outputs);
  at::Tensor output = outputs.front();
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
    append(all, startReduction(inputs[0][rank], options.reduceOp, rank, options.timeout,
                               [output, receives](const at::Tensor &reduced) {
                                 if (receives)
                                   deliverBytes(output, reduced);
                               }));
  }
  return issue(
      describe(OpType::REDUCE_SCATTER, output, numelOf(inputs[0]), output.numel(), options.timeout),
      std::move(all), outputs, options.asyncOp);
}

// ---- one rank's values to others ----

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
    append(all, startAllgather(outputs[i], inputs[i], options.timeout));
  }
  return issue(describe(OpType::COALESCED, outputs.front(), numelOf(inputs), numelOf(outputs),
                        options.timeout),
               std::move(all), outputs, options.asyncOp);
}

c10::intrusive_ptr<Work> NcclBackend::allgather(std::vector<std::vector<at::Tensor>> &outputs,
                                                std::vector<at::Tensor> &inputs,
                                                const c10d::AllgatherOptions &options) {
  checkOneTensor(inputs);
  at::Tensor input = inputs.front();
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
      append(transfer, {{carrier_->broadcast(tensors, carried)},
                        [part, bytes] { deliverBytes(part, bytes); }});
    }
  }
  return issue(describe(OpType::ALLGATHER, input, input.numel(), numelOf(parts), options.timeout),
               std::move(transfer), parts, options.asyncOp);
}

// ---- every rank's own values to every rank ----

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

namespace {

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

} // namespace

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

namespace {

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

c10::intrusive_ptr<Work> NcclBackend::gather(std::vector<std::vector<at::Tensor>> &outputs,
                                             std::vector<at::Tensor> &inputs,
                                             const c10d::GatherOptions &options) {
  checkRoot(options.rootRank, size_);
  checkOneTensor(inputs);
  at::Tensor input = inputs.front();
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
  at::Tensor output = outputs.front();
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

// ---- pairs ----

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
  at::Tensor tensor = tensors.front();
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

// ---- the group ----

c10::intrusive_ptr<Work> NcclBackend::barrier(const c10d::BarrierOptions &options) {
  c10::DeviceIndex index, used = -1;
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    if (!used_devices_.empty())
      used = used_devices_.front();
  }
  if (!options.device_ids.empty())
    index = static_cast<c10::DeviceIndex>(options.device_ids.front());
  else if (getBoundDeviceId())
    index = getBoundDeviceId()->index();
  else if (used >= 0)
    index = used;
  else
    index = static_cast<c10::DeviceIndex>(global_rank_ % deviceCount());
  TORCH_CHECK_WITH(ValueError, index >= 0, "Failed to infer a GPU device id to perform barrier. ");
  checkDeviceIndex(index);
  c10::Device device(c10::kCUDA, index);
  connect(device);
  c10d::BarrierOptions carried;
  carried.timeout = timeoutOf(options.timeout);
  Transfer transfer;
  transfer.carriers = {carrier_->barrier(carried)};
  WorkDescription description{OpType::BARRIER, ++sequence_, 1, 1, timeoutOf(options.timeout),
                              device};
  auto work = c10::make_intrusive<NcclWork>(rank_, description, std::move(transfer),
                                            std::vector<at::Tensor>{}, queue_);
  work->makeBarrier();
  queue_->push(work, true);
  if (options.asyncOp)
    return work;
  work->wait(kNoTimeout);
  return nullptr;
}

void NcclBackend::startCoalescing() {
  std::vector<c10::intrusive_ptr<NcclWork>> forgotten; // goes after the lock
  std::lock_guard<std::mutex> lock(state_mutex_);
  coalescing_ = true;
  forgotten.swap(coalesced_);
}

c10::intrusive_ptr<Work> NcclBackend::endCoalescing() {
  std::vector<c10::intrusive_ptr<NcclWork>> works;
  {
    std::lock_guard<std::mutex> lock(state_mutex_);
    coalescing_ = false;
    works.swap(coalesced_);
  }
  if (works.empty())
    return nullptr;
  Transfer all;
  all.parts = works;
  WorkDescription description{OpType::COALESCED,      sequence_, 0, 0, options_->timeout,
                              works.front()->device()};
  std::vector<at::Tensor> outputs;
  for (const auto &work : works)
    for (const at::Tensor &output : work->result())
      outputs.push_back(output);
  bool pairs_only = std::all_of(works.begin(), works.end(), [](const auto &work) {
    return c10d::isP2POp(work->retrieveOpType());
  });
  return issue(description, std::move(all), std::move(outputs), true, pairs_only);
}

c10::intrusive_ptr<c10d::Backend> NcclBackend::split(const c10::intrusive_ptr<c10d::Store> &store,
                                                     const std::vector<int> &ranks,
                                                     const c10::intrusive_ptr<Options> &options) {
  auto own = std::find(ranks.begin(), ranks.end(), rank_);
  if (own == ranks.end())
    return nullptr;
  auto carrier_options = carrier_->getBackendOptions();
  carrier_options->timeout = options->timeout;
  carrier_options->group_name = options->group_name;
  auto carrier = carrier_->split(c10::make_intrusive<c10d::PrefixStore>("devsan_carrier", store),
                                 ranks, carrier_options);
  auto made = c10::make_intrusive<NcclBackend>(
      std::move(carrier), store, static_cast<int>(own - ranks.begin()),
      static_cast<int>(ranks.size()), options->timeout, global_rank_);
  made->setBoundDeviceId(getBoundDeviceId());
  return made;
}

void NcclBackend::shutdown() {
  queue_->finishAll(-1);
  queue_->clear();
}

} // namespace devsan::sim
