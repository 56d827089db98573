// Gathering a tensor from every rank of any c10d process group: uneven shapes, empty ranks,
// autograd kept.
#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

namespace c10d {
class ProcessGroup;
}

namespace devsan::metrics {

// What the gathered tensors give back in the backward pass.
enum class GatherGrad {
  // The own slice is the input itself and carries its graph, the others are constants. Each rank's
  // gradient is that of
  // its own loss by its own samples; no communication in backward.
  kOwnSlice,
  // The adjoint of the gather: the gradient of the own input is the sum, over all ranks, of their
  // gradients by this
  // rank's slice. Backward communicates (one allreduce), so every rank must run it; where one
  // rank's input requires grad,
  // the results require grad on all ranks.
  kAdjoint,
};

// The tensors of all ranks in rank order, each with its own shape, on the device of `own`. Every
// rank must call it.
//
// own     any strided tensor of up to 16 dimensions and any dtype but quantised ones; shapes may
// differ in every
//         dimension, also in their number, and may have no elements. The dtype and the device type
//         must be the same on all ranks, otherwise every rank throws an error naming the two ranks;
//         no rank is left waiting.
// result  result[rank of this process] is `own` itself (kOwnSlice) or an alias of it (kAdjoint): no
// copy is made.
//
// Two or more collectives: first shapes and dtypes (see exchange_headers(): this is the only wait
// for a device, and only in groups without a CPU back end), then the data as bytes. Even shapes
// travel in one collective, uneven ones padded to the longest, and where padding would more than
// double the data, in one broadcast per rank.
//
// Peak memory beside `own`: with s the bytes of all ranks together and m those of the largest, at
// most 2s + m: the buffer that the results are views of, and one padded or contiguous copy of the
// own tensor.
std::vector<at::Tensor> gather_all_tensors(const at::Tensor &own,
                                           const c10::intrusive_ptr<c10d::ProcessGroup> &group,
                                           GatherGrad grad = GatherGrad::kOwnSlice);

} // namespace devsan::metrics
