// Sparse tensors own no storage: they are translated part by part (indices and values, or
// compressed and plain indices and values). Used by Translation alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

namespace devsan::sim {

using TranslatePart = c10::function_ref<at::Tensor(const at::Tensor &)>;

bool isSparse(const at::Tensor &tensor);

// The sparse tensor on `device` that has the translated parts of `tensor`.
at::Tensor translateSparse(const at::Tensor &tensor, c10::Device device, TranslatePart translate);

// Gives `to` the shape of `from` and its translated parts: what an operator did to the alias of an
// argument.
void assignSparse(const at::Tensor &to, const at::Tensor &from, TranslatePart translate);

} // namespace devsan::sim
