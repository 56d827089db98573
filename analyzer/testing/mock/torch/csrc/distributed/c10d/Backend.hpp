#pragma once
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace c10d {
class Backend {
public:
  virtual ~Backend();
  int getRank() const;
  int getSize() const;
  virtual c10::intrusive_ptr<Work> allgather(std::vector<std::vector<at::Tensor>> &outputTensors,
                                             std::vector<at::Tensor> &inputTensors,
                                             const AllgatherOptions &opts = AllgatherOptions());
};
} // namespace c10d
