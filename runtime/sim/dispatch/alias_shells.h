// The objects behind the CPU aliases of dense tensors, a TensorImpl and a StorageImpl each, kept
// for the next operator of the thread: making and freeing them costs more than a small kernel does.
#pragma once

#include <ATen/core/Tensor.h>

namespace devsan::sim {

// A CPU tensor that is described as `tensor` is, but has the dispatch keys `keys`, over the memory
// of `tensor`: by the storage `shared`, or where that is null by one of its own. `tensor` is dense
// and no wrapper made in Python.
at::Tensor takeAlias(const at::Tensor &tensor, c10::DispatchKeySet keys, c10::StorageImpl *shared);

// A CPU storage over the memory of `device`, which it does not own. Where `device` is copy-on-write
// it is so, too: ATen gives it memory of its own on the first write.
c10::intrusive_ptr<c10::StorageImpl> makeCpuStorage(c10::StorageImpl &device);

// Keeps the objects behind `alias`, which takeAlias() may have made, for the next one if nobody
// else holds them.
void giveBackAlias(at::Tensor &alias);

} // namespace devsan::sim
