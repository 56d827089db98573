// The TensorImpl objects behind the CPU aliases of dense tensors, kept for the next operator of the
// thread: making and freeing one costs more than a small kernel does.
#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::sim {

// A CPU tensor that is described as `tensor` is, but has the dispatch keys `keys`, over `storage`.
// `tensor` is dense and no wrapper made in Python.
at::Tensor takeAlias(const at::Tensor &tensor, c10::DispatchKeySet keys, c10::Storage storage);

// Keeps the object behind `alias`, which takeAlias() may have made, for the next one if nobody else
// holds it.
void giveBackAlias(at::Tensor &alias);

} // namespace devsan::sim
