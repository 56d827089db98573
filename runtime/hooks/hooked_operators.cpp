#include "runtime/hooks/hooked_operators.h"

#include "runtime/event.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <cmath>

namespace devsan::runtime {
namespace {

bool isHost(const at::Tensor &tensor) {
  return tensor.device().is_cpu();
}

bool isMask(const at::Tensor &tensor) {
  return tensor.scalar_type() == at::kBool || tensor.scalar_type() == at::kByte;
}

// Null for None and undefined tensors.
const at::Tensor *tensorAt(Arguments arguments, std::size_t index) {
  if (index >= arguments.size() || !arguments[index].isTensor())
    return nullptr;
  const at::Tensor &tensor = arguments[index].toTensor();
  return tensor.defined() ? &tensor : nullptr;
}

Effect blockOn(const at::Tensor *tensor) {
  Effect effect;
  if (tensor && !isHost(*tensor)) {
    effect.blocks = true;
    effect.from = tensor->device();
  }
  return effect;
}

Effect blockOnNonEmpty(const at::Tensor *tensor) {
  return tensor && tensor->numel() > 0 ? blockOn(tensor) : Effect{};
}

Effect copyEffect(const at::Tensor &to, const at::Tensor &from, bool non_blocking) {
  Effect effect;
  if (to.device() == from.device() || to.numel() == 0 || to.is_meta() || from.is_meta())
    return effect;
  effect.copies = true;
  effect.from = from.device();
  effect.to = to.device();
  effect.bytes = std::uint64_t(to.numel()) * to.element_size();
  if (non_blocking)
    effect.flags |= kNonBlocking;
  if (!isHost(to) && !isHost(from))
    return effect;
  // A copy from or to pageable memory waits, whatever the caller asked for.
  bool pinned = non_blocking && (isHost(to) ? to : from).is_pinned();
  if (pinned)
    effect.flags |= kPinned;
  effect.blocks = !pinned;
  return effect;
}

void addHostOperand(Effect &effect, const at::Tensor &operand, c10::Device device) {
  effect.copies = effect.blocks = true;
  effect.from = operand.device();
  effect.to = device;
  effect.bytes += operand.nbytes();
}

Effect copy(Arguments arguments) {
  const at::Tensor *to = tensorAt(arguments, 0), *from = tensorAt(arguments, 1);
  return to && from ? copyEffect(*to, *from, arguments[2].toBool()) : Effect{};
}

Effect foreachCopy(Arguments arguments) {
  Effect total;
  auto to = arguments[0].toTensorVector(), from = arguments[1].toTensorVector();
  bool non_blocking = arguments[2].toBool();
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i) {
    Effect one = copyEffect(to[i], from[i], non_blocking);
    if (!one.copies)
      continue;
    one.blocks |= total.blocks;
    one.bytes += total.bytes;
    total = one;
  }
  return total;
}

Effect first(Arguments arguments) {
  return blockOn(tensorAt(arguments, 0));
}
Effect firstNonEmpty(Arguments arguments) {
  return blockOnNonEmpty(tensorAt(arguments, 0));
}
Effect secondNonEmpty(Arguments arguments) {
  return blockOnNonEmpty(tensorAt(arguments, 1));
}

// Masks become index lists by nonzero, and indices on the host are copied over.
Effect indexEffect(const at::Tensor &self, const c10::IValue &indices, bool *only_masks) {
  Effect effect;
  *only_masks = true;
  for (const std::optional<at::Tensor> &index : indices.toOptionalTensorVector()) {
    if (!index || !index->defined())
      continue;
    *only_masks &= isMask(*index);
    if (isHost(*index))
      addHostOperand(effect, *index, self.device());
    else if (isMask(*index) && !effect.blocks)
      effect = blockOn(&self);
  }
  return effect;
}

Effect index(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0);
  bool only_masks;
  return self && !isHost(*self) ? indexEffect(*self, arguments[1], &only_masks) : Effect{};
}

Effect indexPut(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0), *values = tensorAt(arguments, 2);
  if (!self || !values || isHost(*self))
    return {};
  bool only_masks;
  Effect effect = indexEffect(*self, arguments[1], &only_masks);
  bool host_value = isHost(*values);
  // `x[mask] = 1.0` is a masked_fill, which neither copies nor waits.
  if (only_masks && host_value && values->numel() == 1)
    return effect.copies ? effect : Effect{};
  if (host_value && values->numel() > 0)
    addHostOperand(effect, *values, self->device());
  return effect;
}

Effect maskedFillTensor(Arguments arguments) {
  return blockOn(tensorAt(arguments, 2));
}

Effect equal(Arguments arguments) {
  const at::Tensor *a = tensorAt(arguments, 0), *b = tensorAt(arguments, 1);
  return a && b && a->sizes() == b->sizes() ? blockOnNonEmpty(a) : Effect{};
}

Effect repeatInterleave(Arguments arguments) {
  return arguments[1].isNone() ? first(arguments) : Effect{};
}

// A range that is given is read back from the device; one that is computed stays there.
Effect histogram(Arguments arguments) {
  return arguments[2].toScalar().toDouble() != arguments[3].toScalar().toDouble()
             ? firstNonEmpty(arguments)
             : Effect{};
}

// Lengths are checked on the host, offsets are not.
Effect segmentReduce(Arguments arguments) {
  constexpr std::size_t kLengths = 2, kUnsafe = 6;
  return tensorAt(arguments, kLengths) && !arguments[kUnsafe].toBool() ? firstNonEmpty(arguments)
                                                                       : Effect{};
}

Effect indexFillTensor(Arguments arguments) {
  return blockOn(tensorAt(arguments, 3));
}

// Factorisations that look at their error codes before they return, where they are asked to.
template <std::size_t position> Effect checksErrors(Arguments arguments) {
  return arguments[position].toBool() ? first(arguments) : Effect{};
}

// MAGMA, which waits, takes the matrices that are not square.
Effect lu(Arguments arguments) {
  const at::Tensor *matrix = tensorAt(arguments, 0);
  return matrix && matrix->dim() >= 2 && matrix->size(-1) != matrix->size(-2)
             ? blockOnNonEmpty(matrix)
             : Effect{};
}

Effect luFactor(Arguments arguments) {
  Effect effect = lu(arguments);
  return effect.any() ? effect : checksErrors<2>(arguments);
}

// Many test elements are looked up by sorting, which begins with a unique().
Effect isIn(Arguments arguments) {
  const at::Tensor *elements = tensorAt(arguments, 0), *tests = tensorAt(arguments, 1);
  if (!elements || !tests || arguments[2].toBool())
    return {};
  bool sorts = double(tests->numel()) >= 10.0 * std::pow(double(elements->numel()), 0.145);
  return sorts ? blockOnNonEmpty(elements) : Effect{};
}

constexpr HookedOperator kHooked[] = {
    {"aten::copy_", "", copy},
    {"aten::_foreach_copy_", "", foreachCopy},
    {"aten::_local_scalar_dense", "", first},
    {"aten::nonzero", "", first},
    {"aten::nonzero", "out", first},
    {"aten::masked_select", "", first},
    {"aten::masked_select", "out", first},
    {"aten::_unique", "", firstNonEmpty},
    {"aten::_unique2", "", firstNonEmpty},
    {"aten::unique_dim", "", firstNonEmpty},
    {"aten::unique_consecutive", "", firstNonEmpty},
    {"aten::unique_dim_consecutive", "", firstNonEmpty},
    {"aten::bincount", "", firstNonEmpty},
    {"aten::equal", "", equal},
    {"aten::index", "Tensor", index},
    {"aten::index", "Tensor_out", index},
    {"aten::_unsafe_index", "Tensor", index},
    {"aten::_index_put_impl_", "", indexPut},
    {"aten::masked_fill_", "Tensor", maskedFillTensor},
    {"aten::index_fill_", "int_Tensor", indexFillTensor},
    {"aten::repeat_interleave", "Tensor", repeatInterleave},
    {"aten::histc", "", histogram},
    {"aten::histc", "out", histogram},
    {"aten::segment_reduce", "", segmentReduce},
    {"aten::isin", "Tensor_Tensor", isIn},
    {"aten::isin", "Tensor_Tensor_out", isIn},
    {"aten::normal", "float_Tensor", secondNonEmpty},
    {"aten::normal", "float_Tensor_out", secondNonEmpty},
    {"aten::normal", "Tensor_Tensor", secondNonEmpty},
    {"aten::normal", "Tensor_Tensor_out", secondNonEmpty},
    {"aten::_to_sparse", "", first},
    {"aten::_to_sparse", "sparse_dim", first},
    {"aten::_linalg_svd", "", firstNonEmpty},
    {"aten::_linalg_svd", "U", firstNonEmpty},
    {"aten::linalg_eig", "", first},
    {"aten::linalg_eig", "out", first},
    {"aten::_linalg_eigvals", "", first},
    {"aten::_linalg_eigh", "", firstNonEmpty},
    {"aten::_linalg_eigh", "eigenvalues", firstNonEmpty},
    {"aten::linalg_cholesky_ex", "", checksErrors<2>},
    {"aten::linalg_inv_ex", "", checksErrors<1>},
    {"aten::linalg_ldl_factor_ex", "", checksErrors<2>},
    {"aten::linalg_ldl_solve", "", first},
    {"aten::linalg_lu", "", lu},
    {"aten::linalg_lu_factor_ex", "", luFactor},
    {"aten::_linalg_solve_ex", "", checksErrors<3>},
    {"aten::linalg_matrix_exp", "", firstNonEmpty},
    {"aten::_ctc_loss", "", firstNonEmpty},
    {"aten::_ctc_loss", "Tensor", firstNonEmpty},
};

} // namespace

std::span<const HookedOperator> hookedOperators() {
  return kHooked;
}

} // namespace devsan::runtime
