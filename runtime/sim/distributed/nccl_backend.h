// The "nccl" back end of torch.distributed on simulated devices: NCCL's rules, order and errors,
// carried by another c10d::Backend (Gloo) on host copies. Python makes it through
// devsan_sim_make_nccl_backend (devsan/sim/nccl.py); one per process group, any thread that issues
// collectives.
//
// The carrier never sees device memory, so protected device addresses do not reach its sockets.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "nccl_work.h"

namespace devsan::sim {

class NcclBackend final : public c10d::Backend {
public:
  // `global_rank` is the process's rank in the world, which chooses a barrier's device.
  NcclBackend(c10::intrusive_ptr<c10d::Backend> carrier, c10::intrusive_ptr<c10d::Store> store,
              int rank, int size, std::chrono::milliseconds timeout, int global_rank);
  ~NcclBackend() override;

  const std::string getBackendName() const override { return "nccl"; }
  c10::intrusive_ptr<Options> getBackendOptions() DEVSAN_OVERRIDE_SINCE_2_9 { return options_; }
  bool supportsSplitting() const override { return DEVSAN_TORCH_SINCE(2, 9); }
  bool supportsCoalescing() const override { return true; }
  void setTimeout(std::chrono::milliseconds timeout) DEVSAN_OVERRIDE_SINCE_2_9 {
    options_->timeout = timeout;
  }

  c10::intrusive_ptr<c10d::Work> broadcast(std::vector<at::Tensor> &tensors,
                                           const c10d::BroadcastOptions &options) override;
  c10::intrusive_ptr<c10d::Work> allreduce(std::vector<at::Tensor> &tensors,
                                           const c10d::AllreduceOptions &options) override;
  c10::intrusive_ptr<c10d::Work>
  allreduce_coalesced(std::vector<at::Tensor> &tensors,
                      const c10d::AllreduceCoalescedOptions &options) override;
  c10::intrusive_ptr<c10d::Work> reduce(std::vector<at::Tensor> &tensors,
                                        const c10d::ReduceOptions &options) override;
  c10::intrusive_ptr<c10d::Work> allgather(std::vector<std::vector<at::Tensor>> &outputs,
                                           std::vector<at::Tensor> &inputs,
                                           const c10d::AllgatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work> _allgather_base(at::Tensor &output, at::Tensor &input,
                                                 const c10d::AllgatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work>
  allgather_into_tensor_coalesced(std::vector<at::Tensor> &outputs, std::vector<at::Tensor> &inputs,
                                  const c10d::AllgatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work> gather(std::vector<std::vector<at::Tensor>> &outputs,
                                        std::vector<at::Tensor> &inputs,
                                        const c10d::GatherOptions &options) override;
  c10::intrusive_ptr<c10d::Work> scatter(std::vector<at::Tensor> &outputs,
                                         std::vector<std::vector<at::Tensor>> &inputs,
                                         const c10d::ScatterOptions &options) override;
  c10::intrusive_ptr<c10d::Work> reduce_scatter(std::vector<at::Tensor> &outputs,
                                                std::vector<std::vector<at::Tensor>> &inputs,
                                                const c10d::ReduceScatterOptions &options) override;
  c10::intrusive_ptr<c10d::Work>
  _reduce_scatter_base(at::Tensor &output, at::Tensor &input,
                       const c10d::ReduceScatterOptions &options) override;
  c10::intrusive_ptr<c10d::Work>
  reduce_scatter_tensor_coalesced(std::vector<at::Tensor> &outputs, std::vector<at::Tensor> &inputs,
                                  const c10d::ReduceScatterOptions &options) override;
  c10::intrusive_ptr<c10d::Work> alltoall_base(at::Tensor &output, at::Tensor &input,
                                               std::vector<int64_t> &output_splits,
                                               std::vector<int64_t> &input_splits,
                                               const c10d::AllToAllOptions &options) override;
  c10::intrusive_ptr<c10d::Work> alltoall(std::vector<at::Tensor> &outputs,
                                          std::vector<at::Tensor> &inputs,
                                          const c10d::AllToAllOptions &options) override;
  c10::intrusive_ptr<c10d::Work> send(std::vector<at::Tensor> &tensors, int destination,
                                      int tag) override;
  c10::intrusive_ptr<c10d::Work> recv(std::vector<at::Tensor> &tensors, int source,
                                      int tag) override;
  c10::intrusive_ptr<c10d::Work> barrier(const c10d::BarrierOptions &options) override;

  void startCoalescing() override;
  c10::intrusive_ptr<c10d::Work> endCoalescing() override;

  void setSequenceNumberForGroup() override {}
  uint64_t getSequenceNumberForGroup() override { return sequence_; }
  c10d::ErrorType getError() override { return c10d::ErrorType::SUCCESS; }
  void eagerConnectSingleDevice(at::Device device) override { connect(device); }
#if DEVSAN_TORCH_SINCE(2, 9)
  c10::intrusive_ptr<c10d::Backend> split(const c10::intrusive_ptr<c10d::Store> &store,
                                          const std::vector<int> &ranks,
                                          const c10::intrusive_ptr<Options> &options) override;
#endif
  void abort() override { queue_->clear(); }
  void shutdown() override;

private:
  std::chrono::milliseconds timeoutOf(std::chrono::milliseconds asked) const;
  WorkDescription describe(c10d::OpType op, const at::Tensor &tensor, std::int64_t numel_in,
                           std::int64_t numel_out, std::chrono::milliseconds timeout);

  // Starts the communicator of `device`, once: refuses ranks that share a device.
  void connect(c10::Device device);
  void connectPair(c10::Device device, int peer);
  void exchangeDevices(const std::string &prefix, const std::vector<int> &ranks,
                       c10::Device device);
  void checkBound(c10::Device device) const;

  // The Work for the program; nullptr where the call itself has waited.
  c10::intrusive_ptr<c10d::Work> issue(const WorkDescription &description, Transfer transfer,
                                       std::vector<at::Tensor> outputs, bool async,
                                       bool point_to_point = false);
  Transfer startReduction(const at::Tensor &tensor, const c10d::ReduceOp &op,
                          std::optional<int> root, std::chrono::milliseconds timeout,
                          std::function<void(const at::Tensor &reduced)> deliver);
  Transfer startAllgather(const at::Tensor &output, const at::Tensor &input,
                          std::chrono::milliseconds timeout);
  Transfer startReduceScatter(const at::Tensor &output, const at::Tensor &input,
                              const c10d::ReduceOp &op, std::chrono::milliseconds timeout);
  // Every rank sends inputs[r] to rank r and receives outputs[r] from it; undefined tensors are
  // empty.
  Transfer startExchange(const std::vector<at::Tensor> &outputs,
                         const std::vector<at::Tensor> &inputs, std::chrono::milliseconds timeout);

  c10::intrusive_ptr<c10d::Backend> carrier_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<Options> options_;
  int global_rank_;
  std::shared_ptr<WorkQueue> queue_ = WorkQueue::make();
  std::atomic<std::uint64_t> sequence_{0};

  std::mutex connect_mutex_;              // held while ranks meet
  std::map<std::string, bool> connected_; // by device, or by pair of ranks
  int connections_ = 0;

  std::mutex state_mutex_; // of all below; nothing waits and no work is dropped under it
  std::vector<c10::DeviceIndex> used_devices_;

  // Between startCoalescing and endCoalescing nothing waits; the works become one.
  std::atomic<bool> coalescing_{false}; // written under state_mutex_
  std::vector<c10::intrusive_ptr<NcclWork>> coalesced_;

  // Messages of a pair of ranks are matched in order, whatever their tags.
  std::map<int, int> sent_, received_;
  int nextMessage(std::map<int, int> &messages, int peer);
};

} // namespace devsan::sim
