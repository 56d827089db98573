// Between device tensors and the host copies that a transport carries. NCCL sees memory, not
// tensors: as many values as the tensor has, from its first on, so a dense tensor of any memory
// format travels as it lies. Also NCCL's requirements on tensors, with its errors. Any thread.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/csrc/distributed/c10d/Types.hpp>

namespace devsan::sim {

// A collective takes one tensor per process.
void checkOneTensor(const std::vector<at::Tensor> &tensors);
void checkRoot(std::int64_t root, int size);
// One dense CUDA tensor with contiguous memory.
void checkSingle(const at::Tensor &tensor, bool point_to_point = false);
// All of them, and all on one device.
void checkSameDevice(const std::vector<at::Tensor> &tensors);
// A type that NCCL can send.
void checkType(const at::Tensor &tensor);

std::int64_t numelOf(const std::vector<at::Tensor> &tensors);

// Bytes on the host, unset.
at::Tensor hostBytes(std::size_t bytes);
// A copy of the tensor's memory, as bytes. Undefined tensors are empty.
at::Tensor bytesOf(const at::Tensor &tensor);
// One after the other.
at::Tensor bytesOf(const std::vector<at::Tensor> &tensors);
// Writes what bytesOf() read, from `offset` on; returns where the next tensor's bytes begin.
std::size_t deliverBytes(const at::Tensor &tensor, const at::Tensor &bytes, std::size_t offset = 0);

// A reduction as the transport has it: which operator, on which values, and what is left to do with
// the sum. Throws NCCL's errors for operators that NCCL lacks.
struct HostReduction {
  c10d::ReduceOp op;
  at::Tensor values;             // one-dimensional, the tensor's type (bool: bytes)
  std::int64_t divide_after = 1; // integers: divided after the sum

  void complete();
};
HostReduction prepareReduction(const at::Tensor &tensor, const c10d::ReduceOp &op, int size);

} // namespace devsan::sim
