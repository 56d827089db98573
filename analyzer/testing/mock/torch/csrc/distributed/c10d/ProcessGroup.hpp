#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>

namespace c10d {

struct AllgatherOptions {
  std::chrono::milliseconds timeout;
  bool asyncOp = true;
};
struct AllreduceOptions {};
struct BroadcastOptions {};
struct GatherOptions {};

class Work {
public:
  bool isCompleted();
  bool wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0));
};

class ProcessGroup {
public:
  virtual ~ProcessGroup();
  virtual int getRank() const;
  virtual int getSize() const;
  virtual c10::intrusive_ptr<Work> broadcast(std::vector<at::Tensor> &tensors,
                                             const BroadcastOptions &opts = BroadcastOptions());
  virtual c10::intrusive_ptr<Work> allreduce(std::vector<at::Tensor> &tensors,
                                             const AllreduceOptions &opts = AllreduceOptions());
  virtual c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>> &outputTensors,
                                             std::vector<at::Tensor> &inputTensors,
                                             const AllgatherOptions &opts = AllgatherOptions());
  virtual c10::intrusive_ptr<Work> all_gather_single(at::Tensor &outputBuffer, at::Tensor &inputBuffer,
                                                     const AllgatherOptions &opts = AllgatherOptions());
  virtual c10::intrusive_ptr<Work> _allgather_base(at::Tensor &outputBuffer, at::Tensor &inputBuffer,
                                                   const AllgatherOptions &opts = AllgatherOptions());
  virtual c10::intrusive_ptr<Work> gather(std::vector<std::vector<at::Tensor>> &outputTensors,
                                          std::vector<at::Tensor> &inputTensors,
                                          const GatherOptions &opts = GatherOptions());
};

} // namespace c10d
