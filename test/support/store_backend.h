// A c10d::Backend whose only transport is a c10d::Store, so that tests and sample programs have
// process groups without Gloo, NCCL or a network: a HashStore joins the threads of one process, a
// FileStore joins processes.
//
// Every collective runs to its end in the calling thread; the Work it returns is complete. Ranks of
// one HashStore read each other's memory directly (a device tensor never visits the host, as with
// NCCL); every other store carries bytes, which costs a device tensor a copy to the host and back.
// Each message starts with what its rank is doing, and ranks that disagree on operation, dtype or
// size all throw instead of waiting for each other. One thread per rank.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

namespace devsan::test {

class StoreBackend : public c10d::Backend {
public:
  // `timeout` bounds the wait for any other rank; a rank that never comes is an error naming it.
  StoreBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
               std::chrono::milliseconds timeout = std::chrono::seconds(30));

  const std::string getBackendName() const override { return "store"; }

  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>> &outputs,
                                           std::vector<at::Tensor> &inputs,
                                           const c10d::AllgatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor &output, at::Tensor &input,
                                                 const c10d::AllgatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor> &tensors,
                                           const c10d::BroadcastOptions &options) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor> &tensors,
                                           const c10d::AllreduceOptions &options) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions &options) override;

private:
  struct Message;

  // Publishes `own` and hands every rank's tensor to `receive` in rank order. The tensor handed out
  // is valid during the call only. Returns once every rank has received everything.
  void exchange(c10d::OpType op, const at::Tensor &own,
                const std::function<void(int rank, const at::Tensor &)> &receive);
  std::vector<uint8_t> awaitMessage(const std::string &key, int from, c10d::OpType op);
  void awaitReaders(const std::string &prefix, c10d::OpType op);

  c10::intrusive_ptr<c10d::Store> store_;
  std::chrono::milliseconds timeout_;
  bool one_process_;
  uint64_t sequence_ = 0;
};

// A process group whose CPU and CUDA collectives both go over `store`.
c10::intrusive_ptr<c10d::ProcessGroup>
makeStoreGroup(const c10::intrusive_ptr<c10d::Store> &store, int rank, int size,
               std::chrono::milliseconds timeout = std::chrono::seconds(30));

// Runs `body` once per rank, each in its own thread with its own process group over a common
// HashStore, and joins. Throws the first rank's exception, prefixed by nothing: all ranks have
// ended by then.
void runRanks(int size,
              const std::function<void(const c10::intrusive_ptr<c10d::ProcessGroup> &)> &body,
              std::chrono::milliseconds timeout = std::chrono::seconds(30));

} // namespace devsan::test
