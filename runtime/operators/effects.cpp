#include "runtime/operators/effects.h"

#include "runtime/protocol/event.h"
#include "runtime/protocol/staged_upload.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/IndexingUtils.h>
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

// The wait of a read: an item(), a nonzero(), a copy to the host.
Effect blockOn(const at::Tensor *tensor) {
  Effect effect;
  if (tensor && !isHost(*tensor)) {
    effect.blocks = effect.seen_by_sync_debug = true;
    effect.from = tensor->device();
  }
  return effect;
}

Effect blockOnNonEmpty(const at::Tensor *tensor) {
  return tensor && tensor->numel() > 0 ? blockOn(tensor) : Effect{};
}

// A wait inside of Thrust, cuSOLVER and their kind.
Effect unseen(Effect effect) {
  effect.seen_by_sync_debug = false;
  return effect;
}

void add(Effect &total, const Effect &one) {
  bool blocks = total.blocks || one.blocks;
  bool seen = total.seen_by_sync_debug || one.seen_by_sync_debug;
  std::uint64_t bytes = total.bytes + one.bytes;
  if (one.copies || !total.copies)
    total = one;
  total.blocks = blocks;
  total.seen_by_sync_debug = seen;
  total.bytes = bytes;
}

Effect stridedCopy(const at::Tensor &to, const at::Tensor &from, bool non_blocking) {
  Effect effect;
  if (to.device() == from.device() || to.is_meta() || from.is_meta() || to.numel() == 0)
    return effect;
  effect.copies = true;
  effect.from = from.device();
  effect.to = to.device();
  effect.bytes = std::uint64_t(to.numel()) * to.element_size();
  if (non_blocking)
    effect.flags |= kNonBlocking;
  if (!isHost(to) && !isHost(from))
    return effect;
  // What is copied with non_blocking has the source's type; what is not waits for its stream.
  const bool pinned = (isHost(to) ? to : from).is_pinned();
  if (pinned)
    effect.flags |= kPinned;
  const std::uint64_t sent = std::uint64_t(to.numel()) * from.element_size();
  effect.blocks = !non_blocking || !(pinned || isStaged(from.device(), to.device(), sent));
  effect.seen_by_sync_debug = !non_blocking;
  return effect;
}

const at::SparseTensorImpl *sparseAt(Arguments arguments, std::size_t index) {
  const at::Tensor *tensor = tensorAt(arguments, index);
  return tensor && tensor->is_sparse()
             ? static_cast<const at::SparseTensorImpl *>(tensor->unsafeGetTensorImpl())
             : nullptr;
}

// Not const: its accessors are not.
at::SparseCsrTensorImpl *compressedAt(Arguments arguments, std::size_t index) {
  const at::Tensor *tensor = tensorAt(arguments, index);
  if (!tensor)
    return nullptr;
  switch (tensor->layout()) {
  case at::kSparseCsr:
  case at::kSparseCsc:
  case at::kSparseBsr:
  case at::kSparseBsc:
    return static_cast<at::SparseCsrTensorImpl *>(tensor->unsafeGetTensorImpl());
  default:
    return nullptr;
  }
}

void addHostOperand(Effect &effect, const at::Tensor &operand, c10::Device device) {
  effect.copies = effect.blocks = effect.seen_by_sync_debug = true;
  effect.from = operand.device();
  effect.to = device;
  effect.bytes += operand.nbytes();
}

Effect copy(Arguments arguments) {
  const at::Tensor *to = tensorAt(arguments, 0), *from = tensorAt(arguments, 1);
  return to && from ? stridedCopy(*to, *from, arguments[2].toBool()) : Effect{};
}

// A sparse tensor gets new indices and values, as `source.to(device, non_blocking)` makes them; on
// the host those are pinned.
Effect movedPart(const at::Tensor &source, c10::Device to, bool non_blocking) {
  Effect effect;
  if (source.device() == to || source.numel() == 0)
    return effect;
  effect.copies = true;
  effect.from = source.device();
  effect.to = to;
  effect.bytes = source.nbytes();
  if (non_blocking)
    effect.flags |= kNonBlocking;
  if (!to.is_cpu() && !isHost(source))
    return effect;
  bool pinned = to.is_cpu() ? non_blocking : source.is_pinned();
  if (pinned)
    effect.flags |= kPinned;
  effect.blocks = !non_blocking || !(pinned || isStaged(source.device(), to, effect.bytes));
  effect.seen_by_sync_debug = !non_blocking;
  return effect;
}

Effect copySparse(Arguments arguments) {
  const at::SparseTensorImpl *to = sparseAt(arguments, 0), *from = sparseAt(arguments, 1);
  if (!to || !from)
    return {};
  c10::Device device = to->values().device();
  bool non_blocking = arguments[2].toBool();
  Effect effect = movedPart(from->indices(), device, non_blocking);
  add(effect, movedPart(from->values(), device, non_blocking));
  return effect;
}

Effect copyCompressed(Arguments arguments) {
  at::SparseCsrTensorImpl *to = compressedAt(arguments, 0), *from = compressedAt(arguments, 1);
  if (!to || !from)
    return {};
  c10::Device device = to->values().device();
  bool non_blocking = arguments[2].toBool();
  Effect effect = movedPart(from->compressed_indices(), device, non_blocking);
  add(effect, movedPart(from->plain_indices(), device, non_blocking));
  add(effect, movedPart(from->values(), device, non_blocking));
  return effect;
}

Effect foreachCopy(Arguments arguments) {
  Effect total;
  auto to = arguments[0].toTensorVector(), from = arguments[1].toTensorVector();
  bool non_blocking = arguments[2].toBool();
  for (std::size_t i = 0; i < to.size() && i < from.size(); ++i)
    if (Effect one = stridedCopy(to[i], from[i], non_blocking); one.copies)
      add(total, one);
  return total;
}

template <std::size_t position> Effect reads(Arguments arguments) {
  return blockOn(tensorAt(arguments, position));
}
template <std::size_t position> Effect readsNonEmpty(Arguments arguments) {
  return blockOnNonEmpty(tensorAt(arguments, position));
}
template <EffectFunction effect> Effect unseen(Arguments arguments) {
  return unseen(effect(arguments));
}

// From some release on the list that a mask on the host becomes is made in pinned memory. What
// tells is the function that makes it: it got a parameter then.
template <class T> constexpr bool masksArePinned() {
  return requires(const T &self, at::IOptTensorListRef indices) {
    at::native::expandTensors(self, indices, true);
  };
}

// Masks become index lists by nonzero, and indices on the host are copied over.
Effect indexEffect(const at::Tensor &self, const c10::IValue &indices, bool accumulate = false) {
  Effect effect;
  for (const std::optional<at::Tensor> &index : indices.toOptionalTensorVector()) {
    if (!index || !index->defined())
      continue;
    if (isHost(*index) && isMask(*index) && masksArePinned<at::Tensor>() && !accumulate) {
      Effect copied;
      copied.copies = true;
      copied.from = index->device();
      copied.to = self.device();
      copied.bytes = index->nbytes();
      copied.flags = kNonBlocking | kPinned;
      add(effect, copied);
    } else if (isHost(*index))
      addHostOperand(effect, *index, self.device());
    else if (isMask(*index) && !effect.blocks)
      effect = blockOn(&self);
  }
  return effect;
}

Effect index(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0);
  return self && !isHost(*self) ? indexEffect(*self, arguments[1]) : Effect{};
}

// `x[mask] = 1.0` is a masked_fill, which neither copies nor waits.
bool isMaskedFill(const c10::IValue &indices, const at::Tensor &values, bool accumulate) {
  if (accumulate || values.numel() != 1 || !isHost(values))
    return false;
  int masks = 0;
  for (const std::optional<at::Tensor> &index : indices.toOptionalTensorVector())
    if (index && index->defined()) {
      if (!isMask(*index))
        return false;
      ++masks;
    }
  return masks == 1;
}

Effect indexPut(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0), *values = tensorAt(arguments, 2);
  if (!self || !values || isHost(*self) ||
      isMaskedFill(arguments[1], *values, arguments[3].toBool()))
    return {};
  Effect effect = indexEffect(*self, arguments[1], arguments[3].toBool());
  if (isHost(*values) && values->numel() > 0)
    addHostOperand(effect, *values, self->device());
  return effect;
}

// A scalar in a tensor: one on another device than the result is read, one on the same is not.
Effect fillTensor(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0), *value = tensorAt(arguments, 1);
  return self && value && self->device() != value->device() ? blockOn(value) : Effect{};
}

// Scalars from the host are copied over, which binary operators do not need.
Effect where(Arguments arguments) {
  Effect effect;
  const at::Tensor *condition = tensorAt(arguments, 0);
  for (std::size_t i : {1, 2}) {
    const at::Tensor *value = tensorAt(arguments, i);
    if (condition && value && !isHost(*condition) && isHost(*value) && value->dim() == 0)
      addHostOperand(effect, *value, condition->device());
  }
  return effect;
}

bool isSameView(const at::Tensor &a, const at::Tensor &b) {
  return a.is_alias_of(b) && a.storage_offset() == b.storage_offset() && a.dtype() == b.dtype() &&
         a.strides() == b.strides() && a.is_neg() == b.is_neg() && a.is_conj() == b.is_conj();
}

Effect equal(Arguments arguments) {
  const at::Tensor *a = tensorAt(arguments, 0), *b = tensorAt(arguments, 1);
  return a && b && a->sizes() == b->sizes() && !isSameView(*a, *b) ? blockOnNonEmpty(a) : Effect{};
}

// The sum of the repeats, unless the caller knows it.
Effect repeatInterleave(Arguments arguments) {
  return arguments[1].isNone() ? readsNonEmpty<0>(arguments) : Effect{};
}

// A range that is not given is that of the values, which are read; the default 0 to 0 means that.
Effect histogram(Arguments arguments) {
  return arguments[2].toScalar().toDouble() == arguments[3].toScalar().toDouble()
             ? readsNonEmpty<0>(arguments)
             : Effect{};
}

// Lengths are checked on the host, offsets are not.
Effect segmentReduce(Arguments arguments) {
  constexpr std::size_t kLengths = 2, kUnsafe = 6;
  return arguments[kUnsafe].toBool() ? Effect{} : readsNonEmpty<kLengths>(arguments);
}

Effect uniqueConsecutive(Arguments arguments) {
  constexpr std::size_t kDim = 3;
  Effect effect = readsNonEmpty<0>(arguments);
  return arguments[kDim].isNone() ? effect : unseen(effect);
}

// Long slices are sorted one by one.
Effect mode(Arguments arguments) {
  constexpr std::int64_t kOneBlock = 2048;
  const at::Tensor *self = tensorAt(arguments, 0);
  return self && self->dim() > 0 && self->size(arguments[1].toInt()) > kOneBlock
             ? blockOnNonEmpty(self)
             : Effect{};
}

template <std::size_t position> Effect checksIntegers(Arguments arguments) {
  const at::Tensor *points = tensorAt(arguments, position);
  return points && !at::isFloatingType(points->scalar_type()) ? blockOn(points) : Effect{};
}

template <std::size_t size> Effect needsSize(Arguments arguments) {
  return arguments[size].isNone() ? reads<0>(arguments) : Effect{};
}

template <std::size_t condition, std::size_t position> Effect readsIf(Arguments arguments) {
  return arguments[condition].toBool() ? reads<position>(arguments) : Effect{};
}

Effect quantizeByTensors(Arguments arguments) {
  Effect effect = reads<1>(arguments);
  return effect.any() ? effect : reads<2>(arguments);
}

// Sorts the indices with Thrust.
bool needsSort(const at::SparseTensorImpl *tensor) {
  return tensor && !tensor->coalesced() && tensor->nnz() >= 2;
}

template <std::size_t position> Effect coalesces(Arguments arguments) {
  return needsSort(sparseAt(arguments, position)) ? unseen(reads<position>(arguments)) : Effect{};
}

// The transposed indices are not in order.
Effect sortsTransposed(Arguments arguments) {
  const at::SparseTensorImpl *self = sparseAt(arguments, 0);
  return self && self->nnz() >= 2 ? unseen(reads<0>(arguments)) : Effect{};
}

Effect sparseMatmul(Arguments arguments) {
  if (sparseAt(arguments, 0) && sparseAt(arguments, 1))
    return unseen(reads<0>(arguments));
  return coalesces<0>(arguments);
}

Effect sparseBatchedMatmul(Arguments arguments) {
  const at::SparseTensorImpl *self = sparseAt(arguments, 0);
  return self && self->nnz() > 0 ? unseen(reads<0>(arguments)) : Effect{};
}

// Takes `tensor` apart along a sparse dimension, by the values of its indices.
bool isSparseDimension(const at::SparseTensorImpl &tensor, const c10::IValue &dimension) {
  std::int64_t dim = dimension.toInt();
  if (dim < 0)
    dim += tensor.sparse_dim() + tensor.dense_dim();
  return dim < tensor.sparse_dim();
}

// Over a sparse dimension, values are gathered in pools whose number is read.
Effect sparseSoftmax(Arguments arguments) {
  const at::SparseTensorImpl *self = sparseAt(arguments, 0);
  if (!self || self->nnz() == 0)
    return {};
  return isSparseDimension(*self, arguments[1]) ? unseen(reads<0>(arguments))
                                                : coalesces<0>(arguments);
}

// The gradient's indices are compared with the output's.
Effect sparseSoftmaxBackward(Arguments arguments) {
  const at::SparseTensorImpl *output = sparseAt(arguments, 1);
  if (!output || output->nnz() == 0)
    return {};
  Effect effect = reads<1>(arguments);
  return isSparseDimension(*output, arguments[2]) ? unseen(effect) : effect;
}

Effect sparseIndexSelect(Arguments arguments) {
  const at::SparseTensorImpl *self = sparseAt(arguments, 0);
  return self && self->nnz() > 0 && isSparseDimension(*self, arguments[1])
             ? readsNonEmpty<2>(arguments)
             : Effect{};
}

Effect sparseNarrowCopy(Arguments arguments) {
  const at::SparseTensorImpl *self = sparseAt(arguments, 0);
  return self && isSparseDimension(*self, arguments[1]) ? reads<0>(arguments) : Effect{};
}

// A row or a column, which begins and ends where the compressed indices say.
Effect compressedSelect(Arguments arguments) {
  at::SparseCsrTensorImpl *self = compressedAt(arguments, 0);
  if (!self)
    return {};
  const std::int64_t batch = self->compressed_indices().dim() - 1;
  std::int64_t dim = arguments[1].toInt();
  if (dim < 0)
    dim += self->dim();
  return dim >= batch && dim < batch + 2 ? reads<0>(arguments) : Effect{};
}

// Dense plus CSR goes row by row through Thrust.
template <std::size_t position> Effect addsCompressed(Arguments arguments) {
  at::SparseCsrTensorImpl *tensor = compressedAt(arguments, position);
  const at::Tensor *other = position == 1 ? tensorAt(arguments, 0) : nullptr;
  bool to_dense = position == 0 || (other && other->layout() == at::kStrided);
  return tensor && to_dense && tensor->layout() == at::kSparseCsr && tensor->nnz() > 0
             ? unseen(reads<position>(arguments))
             : Effect{};
}

// cuSPARSE multiplies by what is compressed by rows from the left, and by columns from the right;
// to convert one into the other takes numbers from the host.
template <std::size_t position> Effect multipliesCompressed(Arguments arguments) {
  const at::Tensor *left = tensorAt(arguments, position);
  const at::Tensor *right = tensorAt(arguments, position + 1);
  if (!left || !right || left->numel() == 0 || right->numel() == 0)
    return {};
  for (std::size_t one : {position, position + 1})
    if (at::SparseCsrTensorImpl *compressed = compressedAt(arguments, one);
        compressed && compressed->nnz() == 0)
      return {};
  const bool converts = left->layout() == at::kSparseCsc ||
                        (left->layout() == at::kSparseCsr && right->layout() == at::kSparseCsc) ||
                        (left->layout() == at::kStrided && right->layout() == at::kSparseCsr);
  return converts ? blockOn(left) : Effect{};
}

Effect reduceCompressed(Arguments arguments) {
  at::SparseCsrTensorImpl *self = compressedAt(arguments, 0);
  return self && self->nnz() > 0 && arguments[1].toIntVector().size() == 1 ? reads<0>(arguments)
                                                                           : Effect{};
}

// Of LU factorisations, MAGMA takes what cuSOLVER and cuBLAS are thought to be slower at, and
// waits.
Effect lu(Arguments arguments) {
  const at::Tensor *matrix = tensorAt(arguments, 0);
  if (!matrix || matrix->dim() < 2)
    return {};
  const std::int64_t rows = matrix->size(-2), columns = matrix->size(-1);
  const std::int64_t batch = rows * columns == 0 ? 0 : matrix->numel() / (rows * columns);
  bool others = rows == columns && (batch <= 1 || rows <= 16 || (rows <= 128 && batch <= 16));
  return others ? Effect{} : unseen(blockOnNonEmpty(matrix));
}

// MAGMA takes batches, and waits; cuSOLVER takes single matrices.
Effect choleskyOfBatch(Arguments arguments) {
  const at::Tensor *matrix = tensorAt(arguments, 0);
  const bool is_batch =
      matrix && matrix->dim() > 2 && matrix->numel() > matrix->size(-2) * matrix->size(-1);
  return is_batch ? unseen(blockOnNonEmpty(matrix)) : Effect{};
}

// Factorisations that look at their error codes before they return, where they are asked to.
template <std::size_t position> Effect checksErrors(Arguments arguments) {
  return arguments[position].toBool() ? reads<0>(arguments) : Effect{};
}

// cuSOLVER waits inside, and MAGMA, which takes the Hermitian ones.
Effect ldlFactor(Arguments arguments) {
  Effect effect = checksErrors<2>(arguments);
  return effect.any() ? effect : unseen(readsNonEmpty<0>(arguments));
}

template <std::size_t position> Effect luChecksErrors(Arguments arguments) {
  Effect effect = checksErrors<position>(arguments);
  return effect.any() ? effect : lu(arguments);
}

// Polynomials with coefficients from the host; a number needs none.
Effect matrixExp(Arguments arguments) {
  const at::Tensor *self = tensorAt(arguments, 0);
  return self && self->dim() >= 2 && self->size(-1) > 1 ? blockOnNonEmpty(self) : Effect{};
}

// Many test elements are looked up by sorting, which begins with a unique().
Effect isIn(Arguments arguments) {
  const at::Tensor *elements = tensorAt(arguments, 0), *tests = tensorAt(arguments, 1);
  if (!elements || !tests || arguments[2].toBool())
    return {};
  bool sorts = tests->numel() >= std::int64_t(10.0 * std::pow(double(elements->numel()), 0.145));
  return sorts ? blockOnNonEmpty(elements) : Effect{};
}

constexpr OperatorEffect kEffects[] = {
    {"aten::copy_", "", kDense | kQuantized | kNested, copy},
    {"aten::copy_", "", kSparse, copySparse},
    {"aten::copy_", "", kSparseCompressed, copyCompressed},
    {"aten::_foreach_copy_", "", kDense, foreachCopy},
    {"aten::_local_scalar_dense", "", kDense, reads<0>},
    {"aten::nonzero", "", kDense, reads<0>},
    {"aten::nonzero", "out", kDense, reads<0>},
    {"aten::masked_select", "", kDense, reads<0>},
    {"aten::masked_select", "out", kDense, reads<0>},
    {"aten::_unique", "", kDense, readsNonEmpty<0>},
    {"aten::_unique2", "", kDense, readsNonEmpty<0>},
    {"aten::unique_dim", "", kDense, unseen<readsNonEmpty<0>>},
    {"aten::unique_consecutive", "", kDense, uniqueConsecutive},
    {"aten::unique_dim_consecutive", "", kDense, unseen<readsNonEmpty<0>>},
    {"aten::bincount", "", kDense, readsNonEmpty<0>},
    // It reads the offsets to multiply one by one: for any type but bfloat16, and for that where
    // the device is none of compute capability 9.0, which simulated ones are not.
    {"aten::_grouped_mm", "", kDense, reads<2>},
    {"aten::equal", "", kDense, equal},
    {"aten::mode", "", kDense, mode},
    {"aten::index", "Tensor", kDense, index},
    {"aten::index", "Tensor_out", kDense, index},
    {"aten::_unsafe_index", "Tensor", kDense, index},
    {"aten::_index_put_impl_", "", kDense | kQuantized, indexPut},
    {"aten::masked_fill_", "Tensor", kDense | kQuantized, reads<2>},
    {"aten::index_fill_", "int_Tensor", kDense, reads<3>},
    {"aten::fill_", "Tensor", kDense, fillTensor},
    {"aten::fill_", "Tensor", kQuantized, reads<1>},
    {"aten::where", "self", kDense, where},
    {"aten::where", "self_out", kDense, where},
    {"aten::repeat_interleave", "Tensor", kDense, repeatInterleave},
    {"aten::histc", "", kDense, histogram},
    {"aten::histc", "out", kDense, histogram},
    {"aten::searchsorted", "Tensor", kDense, readsNonEmpty<5>},
    {"aten::searchsorted", "Tensor_out", kDense, readsNonEmpty<5>},
    {"aten::searchsorted", "Scalar", kDense, readsNonEmpty<5>},
    {"aten::searchsorted", "Scalar_out", kDense, readsNonEmpty<5>},
    {"aten::segment_reduce", "", kDense, segmentReduce},
    {"aten::isin", "Tensor_Tensor", kDense, isIn},
    {"aten::isin", "Tensor_Tensor_out", kDense, isIn},
    {"aten::normal", "float_Tensor", kDense, readsNonEmpty<1>},
    {"aten::normal", "float_Tensor_out", kDense, readsNonEmpty<1>},
    {"aten::normal", "Tensor_Tensor", kDense, readsNonEmpty<1>},
    {"aten::normal", "Tensor_Tensor_out", kDense, readsNonEmpty<1>},
    {"aten::_ctc_loss", "", kDense, readsNonEmpty<0>},
    {"aten::_ctc_loss", "Tensor", kDense, readsNonEmpty<0>},
    {"aten::_ctc_loss_backward", "", kDense, readsNonEmpty<0>},
    {"aten::_ctc_loss_backward", "Tensor", kDense, readsNonEmpty<0>},
    {"aten::_padded_dense_to_jagged_forward", "", kDense, needsSize<2>},

    {"aten::_linalg_svd", "", kDense, readsNonEmpty<0>},
    {"aten::_linalg_svd", "U", kDense, readsNonEmpty<0>},
    {"aten::linalg_eig", "", kDense, reads<0>},
    {"aten::linalg_eig", "out", kDense, reads<0>},
    {"aten::_linalg_eigvals", "", kDense, reads<0>},
    {"aten::_linalg_eigh", "", kDense, readsNonEmpty<0>},
    {"aten::_linalg_eigh", "eigenvalues", kDense, readsNonEmpty<0>},
    {"aten::cholesky", "", kDense, readsNonEmpty<0>},
    {"aten::cholesky", "out", kDense, readsNonEmpty<0>},
    {"aten::cholesky_inverse", "", kDense, choleskyOfBatch},
    {"aten::cholesky_inverse", "out", kDense, choleskyOfBatch},
    {"aten::_cholesky_solve_helper", "", kDense, choleskyOfBatch},
    {"aten::linalg_cholesky_ex", "", kDense, checksErrors<2>},
    {"aten::linalg_cholesky_ex", "L", kDense, checksErrors<2>},
    {"aten::linalg_inv_ex", "", kDense, luChecksErrors<1>},
    {"aten::linalg_inv_ex", "inverse", kDense, luChecksErrors<1>},
    {"aten::linalg_ldl_factor_ex", "", kDense, ldlFactor},
    {"aten::linalg_ldl_factor_ex", "out", kDense, ldlFactor},
    {"aten::linalg_ldl_solve", "", kDense, unseen<readsNonEmpty<0>>},
    {"aten::linalg_ldl_solve", "out", kDense, unseen<readsNonEmpty<0>>},
    {"aten::linalg_lstsq", "", kDense, reads<0>},
    {"aten::linalg_lstsq", "out", kDense, reads<0>},
    {"aten::linalg_lu", "", kDense, lu},
    {"aten::linalg_lu", "out", kDense, lu},
    {"aten::linalg_lu_factor_ex", "", kDense, luChecksErrors<2>},
    {"aten::linalg_lu_factor_ex", "out", kDense, luChecksErrors<2>},
    {"aten::_linalg_det", "", kDense, lu},
    {"aten::_linalg_det", "result", kDense, lu},
    {"aten::_linalg_slogdet", "", kDense, lu},
    {"aten::_linalg_slogdet", "sign", kDense, lu},
    {"aten::_linalg_solve_ex", "", kDense, luChecksErrors<3>},
    {"aten::_linalg_solve_ex", "result", kDense, luChecksErrors<3>},
    {"aten::linalg_matrix_exp", "", kDense, matrixExp},

    {"aten::_to_sparse", "", kDense, reads<0>},
    {"aten::_to_sparse", "sparse_dim", kDense, reads<0>},
    {"aten::_to_sparse_csr", "", kDense, reads<0>},
    {"aten::_to_sparse_csc", "", kDense, reads<0>},
    {"aten::_to_sparse_bsr", "", kDense, reads<0>},
    {"aten::_to_sparse_bsc", "", kDense, reads<0>},
    {"aten::_to_sparse_semi_structured", "", kDense, reads<0>},
    {"aten::_coalesce", "", kSparse, coalesces<0>},
    {"aten::_to_sparse_csr", "", kSparse, coalesces<0>},
    {"aten::_to_sparse_bsr", "", kSparse, coalesces<0>},
    {"aten::_to_sparse_csc", "", kSparse, sortsTransposed},
    {"aten::_to_sparse_bsc", "", kSparse, sortsTransposed},
    {"aten::sparse_mask", "", kSparse, coalesces<1>},
    {"aten::mm", "", kSparse, sparseMatmul},
    {"aten::mm", "out", kSparse, sparseMatmul},
    {"aten::_sparse_sparse_matmul", "", kSparse, sparseMatmul},
    {"aten::addmm", "", kSparse, coalesces<1>},
    {"aten::addmm", "out", kSparse, coalesces<1>},
    {"aten::addmm_", "", kSparse, coalesces<1>},
    {"aten::bmm", "", kSparse, sparseBatchedMatmul},
    {"aten::bmm", "out", kSparse, sparseBatchedMatmul},
    {"aten::hspmm", "", kSparse, coalesces<0>},
    {"aten::hspmm", "out", kSparse, coalesces<0>},
    {"aten::_sparse_softmax", "", kSparse, sparseSoftmax},
    {"aten::_sparse_log_softmax", "", kSparse, sparseSoftmax},
    {"aten::_sparse_softmax_backward_data", "", kSparse, sparseSoftmaxBackward},
    {"aten::_sparse_log_softmax_backward_data", "", kSparse, sparseSoftmaxBackward},
    {"aten::index_select", "", kSparse, sparseIndexSelect},
    {"aten::narrow_copy", "", kSparse, sparseNarrowCopy},
    {"aten::select", "int", kSparseCompressed, compressedSelect},
    {"aten::select_copy", "int", kSparseCompressed, compressedSelect},
    {"aten::_to_dense", "", kSparseCompressed, addsCompressed<0>},
    {"aten::add", "Tensor", kSparseCompressed, addsCompressed<1>},
    {"aten::add", "out", kSparseCompressed, addsCompressed<1>},
    {"aten::add_", "Tensor", kSparseCompressed, addsCompressed<1>},
    {"aten::mm", "", kSparseCompressed, multipliesCompressed<0>},
    {"aten::mm", "out", kSparseCompressed, multipliesCompressed<0>},
    {"aten::addmm", "", kSparseCompressed, multipliesCompressed<1>},
    {"aten::addmm", "out", kSparseCompressed, multipliesCompressed<1>},
    {"aten::_sparse_csr_sum", "dim_dtype", kSparseCompressed, reduceCompressed},
    {"aten::_sparse_csr_prod", "dim_dtype", kSparseCompressed, reduceCompressed},

    {"aten::quantize_per_tensor", "tensor_qparams", kDense, quantizeByTensors},
    {"aten::quantize_per_tensor_dynamic", "", kDense, readsNonEmpty<0>},
    {"aten::quantize_per_channel", "", kDense, checksIntegers<2>},
    {"aten::fake_quantize_per_channel_affine_cachemask", "", kDense, checksIntegers<2>},
    {"aten::_fake_quantize_learnable_per_tensor_affine", "", kDense, reads<1>},
    {"aten::_fake_quantize_learnable_per_tensor_affine_backward", "", kDense, reads<2>},
    {"aten::_fake_quantize_learnable_per_channel_affine", "", kDense, reads<2>},
    {"aten::_fake_quantize_learnable_per_channel_affine_backward", "", kDense, reads<3>},
    {"aten::_fused_moving_avg_obs_fq_helper", "", kDense, readsIf<11, 2>},

    {"aten::_nested_from_padded", "", kDense, unseen<reads<0>>},
    {"aten::_nested_tensor_from_mask", "", kDense, reads<1>},
    {"aten::_nested_tensor_from_mask_left_aligned", "", kDense, reads<1>},
    {"aten::to_padded_tensor", "", kNested, readsNonEmpty<0>},
};

} // namespace

std::span<const OperatorEffect> operatorEffects() {
  return kEffects;
}

EffectFunction findEffect(std::string_view name, std::string_view overload, Layouts layout) {
  for (const OperatorEffect &row : kEffects)
    if ((row.layouts & layout) && name == row.name && overload == row.overload)
      return row.effect;
  return nullptr;
}

Effect copyEffect(const at::Tensor &to, const at::Tensor &from, bool non_blocking) {
  return stridedCopy(to, from, non_blocking);
}

Effect readEffect(const at::Tensor &tensor) {
  return blockOn(&tensor);
}

bool isStaged(c10::Device from, c10::Device to, std::uint64_t bytes) {
  return from.is_cpu() && !to.is_cpu() && bytes <= kDevSanStagedUpload;
}

} // namespace devsan::runtime
