#include "test/support/store_backend.h"

#include <cstring>
#include <exception>
#include <thread>

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>

namespace devsan::test {
namespace {

class CompletedWork : public c10d::Work {
public:
  CompletedWork(int rank, c10d::OpType op, std::vector<at::Tensor> outputs)
      : Work(rank, op), outputs_(std::move(outputs)) {
    finish();
  }

  std::vector<at::Tensor> result() override { return outputs_; }

  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override {
    auto future =
        c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
    future->markCompleted(c10::IValue(outputs_));
    return future;
  }

private:
  std::vector<at::Tensor> outputs_;
};

at::Tensor reduced(const at::Tensor &total, const at::Tensor &next, c10d::ReduceOp::RedOpType op) {
  switch (op) {
  case c10d::ReduceOp::SUM:
  case c10d::ReduceOp::AVG:
    return total + next;
  case c10d::ReduceOp::PRODUCT:
    return total * next;
  case c10d::ReduceOp::MIN:
    return at::minimum(total, next);
  case c10d::ReduceOp::MAX:
    return at::maximum(total, next);
  case c10d::ReduceOp::BAND:
    return at::bitwise_and(total, next);
  case c10d::ReduceOp::BOR:
    return at::bitwise_or(total, next);
  case c10d::ReduceOp::BXOR:
    return at::bitwise_xor(total, next);
  case c10d::ReduceOp::PREMUL_SUM:
  case c10d::ReduceOp::UNUSED:
    break;
  }
  TORCH_CHECK(
      false,
      "store backend: allreduce knows sum, avg, product, min, max and the bitwise operations, not "
      "reduce operation ",
      static_cast<int>(op));
}

} // namespace

// What a rank publishes: this header, then `nbytes` of contiguous data, or in one process nothing
// more.
struct StoreBackend::Message {
  c10d::OpType op;
  at::ScalarType dtype;
  uint64_t nbytes;
  const at::Tensor *tensor; // one process only; the owner keeps it until every rank has read it
};

StoreBackend::StoreBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                           std::chrono::milliseconds timeout)
    : Backend(rank, size), store_(std::move(store)), timeout_(timeout),
      one_process_(dynamic_cast<c10d::HashStore *>(store_.get()) != nullptr) {
  TORCH_CHECK(rank >= 0 && rank < size, "store backend: rank ", rank, " is not in [0, ", size, ")");
}

std::vector<uint8_t> StoreBackend::awaitMessage(const std::string &key, int from, c10d::OpType op) {
  try {
    store_->wait({key}, timeout_);
  } catch (const std::exception &error) {
    TORCH_CHECK(false, "store backend: rank ", rank_, " waited ", timeout_.count(), " ms in ",
                c10d::opTypeToString(op), " number ", sequence_, " for rank ", from,
                ": does every rank make the same calls? (", error.what(), ")");
  }
  return store_->get(key);
}

void StoreBackend::awaitReaders(const std::string &prefix, c10d::OpType op) {
  // The last reader opens the gate. Its messages may go only now: a rank reads all of them before
  // it counts itself.
  const std::string gate = prefix + "gate";
  if (store_->add(prefix + "readers", 1) == size_) {
    for (int rank = 0; rank < size_; ++rank)
      store_->deleteKey(prefix + std::to_string(rank));
    store_->deleteKey(prefix + "readers");
    store_->set(gate, std::vector<uint8_t>{1});
  } else {
    awaitMessage(gate, -1, op);
  }
  // Everyone has passed the gate of the collective before this one, because everyone has reached
  // this one.
  if (sequence_ > 0 && rank_ == 0)
    store_->deleteKey(std::to_string(sequence_ - 1) + "/gate");
}

void StoreBackend::exchange(c10d::OpType op, const at::Tensor &own,
                            const std::function<void(int, const at::Tensor &)> &receive) {
  at::AutoDispatchBelowAutograd
      below_autograd; // as with any back end, autograd does not see the transport
  const at::Tensor source = own.contiguous();
  const at::Tensor payload = one_process_ ? source : source.to(at::kCPU);

  const Message header{op, source.scalar_type(), source.nbytes(), &payload};
  std::vector<uint8_t> bytes(sizeof(header) + (one_process_ ? 0 : source.nbytes()));
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!one_process_ && source.nbytes() != 0)
    std::memcpy(bytes.data() + sizeof(header), payload.const_data_ptr(), source.nbytes());

  const std::string prefix = std::to_string(sequence_) + "/";
  store_->set(prefix + std::to_string(rank_), bytes);

  std::string complaint;
  for (int rank = 0; rank < size_; ++rank) {
    std::vector<uint8_t> received = awaitMessage(prefix + std::to_string(rank), rank, op);
    Message peer;
    std::memcpy(&peer, received.data(), sizeof(peer));
    if (peer.op != op || peer.dtype != header.dtype || peer.nbytes != header.nbytes) {
      complaint =
          c10::str("store backend: rank ", rank_, " does ", c10d::opTypeToString(op), " with ",
                   header.nbytes, " bytes of ", header.dtype, ", rank ", rank, " does ",
                   c10d::opTypeToString(peer.op), " with ", peer.nbytes, " bytes of ", peer.dtype,
                   ": every rank must make the same call with the same dtype and size");
      continue;
    }
    if (!complaint.empty())
      continue;
    if (one_process_)
      receive(rank, *peer.tensor);
    else
      receive(rank, at::from_blob(received.data() + sizeof(peer), source.sizes(),
                                  source.options().device(at::kCPU)));
  }
  awaitReaders(prefix, op);
  ++sequence_;
  TORCH_CHECK(complaint.empty(), complaint);
}

c10::intrusive_ptr<c10d::Work>
StoreBackend::allgather(std::vector<std::vector<at::Tensor>> &outputs,
                        std::vector<at::Tensor> &inputs, const c10d::AllgatherOptions &) {
  TORCH_CHECK(inputs.size() == 1 && outputs.size() == 1,
              "store backend: allgather takes one tensor and one output list per rank, not ",
              inputs.size(), " and ", outputs.size());
  TORCH_CHECK(outputs[0].size() == static_cast<size_t>(size_), "store backend: allgather over ",
              size_, " ranks needs as many outputs, not ", outputs[0].size());
  for (const at::Tensor &output : outputs[0])
    TORCH_CHECK(output.sizes() == inputs[0].sizes() &&
                    output.scalar_type() == inputs[0].scalar_type(),
                "store backend: allgather's outputs must have the input's shape ",
                inputs[0].sizes(), " and dtype ", inputs[0].scalar_type(), ", not ", output.sizes(),
                " and ", output.scalar_type());
  exchange(c10d::OpType::ALLGATHER, inputs[0], [&](int rank, const at::Tensor &tensor) {
    outputs[0][rank].copy_(tensor.view(outputs[0][rank].sizes()));
  });
  return c10::make_intrusive<CompletedWork>(rank_, c10d::OpType::ALLGATHER, outputs[0]);
}

c10::intrusive_ptr<c10d::Work> StoreBackend::_allgather_base(at::Tensor &output, at::Tensor &input,
                                                             const c10d::AllgatherOptions &) {
  TORCH_CHECK(output.numel() == input.numel() * size_ &&
                  output.scalar_type() == input.scalar_type() && output.is_contiguous(),
              "store backend: the gathered buffer must be contiguous with ", size_,
              " times the input's ", input.numel(), " elements of ", input.scalar_type(), ", not ",
              output.numel(), " of ", output.scalar_type());
  exchange(c10d::OpType::_ALLGATHER_BASE, input, [&](int rank, const at::Tensor &tensor) {
    output.view(-1).narrow(0, rank * input.numel(), input.numel()).copy_(tensor.view(-1));
  });
  return c10::make_intrusive<CompletedWork>(rank_, c10d::OpType::_ALLGATHER_BASE,
                                            std::vector<at::Tensor>{output});
}

c10::intrusive_ptr<c10d::Work> StoreBackend::broadcast(std::vector<at::Tensor> &tensors,
                                                       const c10d::BroadcastOptions &options) {
  TORCH_CHECK(tensors.size() == 1, "store backend: broadcast takes one tensor per rank, not ",
              tensors.size());
  exchange(c10d::OpType::BROADCAST, tensors[0], [&](int rank, const at::Tensor &tensor) {
    if (rank == options.rootRank && rank != rank_)
      tensors[0].copy_(tensor.view(tensors[0].sizes()));
  });
  return c10::make_intrusive<CompletedWork>(rank_, c10d::OpType::BROADCAST, tensors);
}

c10::intrusive_ptr<c10d::Work> StoreBackend::allreduce(std::vector<at::Tensor> &tensors,
                                                       const c10d::AllreduceOptions &options) {
  TORCH_CHECK(tensors.size() == 1, "store backend: allreduce takes one tensor per rank, not ",
              tensors.size());
  at::AutoDispatchBelowAutograd below_autograd;
  const c10d::ReduceOp::RedOpType op = options.reduceOp.op_;
  at::Tensor total; // ranks are summed in rank order, so every rank gets the same bits
  exchange(c10d::OpType::ALLREDUCE, tensors[0], [&](int, const at::Tensor &tensor) {
    const at::Tensor next = tensor.view(tensors[0].sizes()).to(tensors[0].device());
    total = total.defined() ? reduced(total, next, op) : next.clone();
  });
  if (op == c10d::ReduceOp::AVG)
    total.div_(size_);
  tensors[0].copy_(total);
  return c10::make_intrusive<CompletedWork>(rank_, c10d::OpType::ALLREDUCE, tensors);
}

c10::intrusive_ptr<c10d::Work> StoreBackend::barrier(const c10d::BarrierOptions &) {
  exchange(c10d::OpType::BARRIER, at::empty({0}), [](int, const at::Tensor &) {});
  return c10::make_intrusive<CompletedWork>(rank_, c10d::OpType::BARRIER,
                                            std::vector<at::Tensor>{});
}

c10::intrusive_ptr<c10d::ProcessGroup> makeStoreGroup(const c10::intrusive_ptr<c10d::Store> &store,
                                                      int rank, int size,
                                                      std::chrono::milliseconds timeout) {
  auto group = c10::make_intrusive<c10d::ProcessGroup>(store, rank, size);
  const auto backend = c10::make_intrusive<StoreBackend>(store, rank, size, timeout);
  for (const auto device_type : {at::kCPU, at::kCUDA})
    group->setBackend(device_type, c10d::ProcessGroup::CUSTOM,
                      c10::intrusive_ptr<c10d::Backend>(backend));
  group->setDefaultBackend(c10d::ProcessGroup::CUSTOM);
  return group;
}

void runRanks(int size,
              const std::function<void(const c10::intrusive_ptr<c10d::ProcessGroup> &)> &body,
              std::chrono::milliseconds timeout) {
  const c10::intrusive_ptr<c10d::Store> store = c10::make_intrusive<c10d::HashStore>();
  std::vector<std::exception_ptr> failures(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      try {
        body(makeStoreGroup(store, rank, size, timeout));
      } catch (...) {
        failures[rank] = std::current_exception();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::exception_ptr &failure : failures)
    if (failure)
      std::rethrow_exception(failure);
}

} // namespace devsan::test
