// Where tensors were made or last moved, for those that still exist: a table of fixed size that
// forgets when it is full. Any thread. Storages are held weakly: their memory is freed as ever,
// only the small header lives on for a while.
#pragma once

#include "runtime/protocol/event.h"

#include <ATen/core/Tensor.h>

namespace devsan::runtime {

struct TensorOrigin {
  StackId stack = 0; // 0 where unknown
  bool is_move = false;
  bool without_index = false; // made on a device of which the call named the kind alone
};

void noteOrigin(const at::Tensor &tensor, TensorOrigin origin);

TensorOrigin originOf(const at::Tensor &tensor);

// The same for the tensor whose memory begins at `data`; reads the whole table.
TensorOrigin originOfMemory(const void *data);

// Puts recording wrappers over the factories, as the options say.
void installFactoryHooks();

// For the child after fork, whose log has none of the stacks.
void forgetOrigins();

} // namespace devsan::runtime
