#include "metrics/distributed/packing.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

namespace devsan::metrics {

int64_t PackedShape::nbytes() const {
  return std::accumulate(sizes.begin(), sizes.end(), static_cast<int64_t>(c10::elementSize(dtype)),
                         std::multiplies<>());
}

void PackedShape::write(int64_t *numbers) const {
  numbers[0] = static_cast<int64_t>(sizes.size());
  numbers[1] = static_cast<int64_t>(dtype);
  std::copy(sizes.begin(), sizes.end(), numbers + 2);
}

PackedShape PackedShape::read(const int64_t *numbers) {
  return {std::vector<int64_t>(numbers + 2, numbers + 2 + numbers[0]),
          static_cast<at::ScalarType>(numbers[1])};
}

void agree_on_rows(std::vector<PackedShape *> of_ranks, const std::string &what) {
  const auto has_rows = [](const PackedShape *shape) {
    return !shape->sizes.empty() && shape->sizes[0] != 0;
  };
  const auto first = std::find_if(of_ranks.begin(), of_ranks.end(), has_rows);
  if (first == of_ranks.end()) {
    for (PackedShape *shape : of_ranks)
      *shape = {{0}, at::kFloat};
    return;
  }
  at::ScalarType dtype = (*first)->dtype;
  for (auto shape = first; shape != of_ranks.end(); ++shape) {
    if (!has_rows(*shape))
      continue;
    TORCH_CHECK(
        at::IntArrayRef((*shape)->sizes).slice(1) == at::IntArrayRef((*first)->sizes).slice(1),
        what, " has shape ", at::IntArrayRef((*shape)->sizes), " on rank ",
        shape - of_ranks.begin(), ", but ", at::IntArrayRef((*first)->sizes), " on rank ",
        first - of_ranks.begin(), "; the ranks' tensors may differ in the first dimension only");
    dtype = c10::promoteTypes(dtype, (*shape)->dtype);
  }
  for (PackedShape *shape : of_ranks) {
    if (!has_rows(shape))
      shape->sizes = {0};
    shape->dtype = dtype;
  }
}

at::Tensor pack(const std::vector<at::Tensor> &tensors, int64_t length) {
  std::vector<at::Tensor> pieces;
  for (const at::Tensor &tensor : tensors) {
    pieces.push_back(tensor.reshape(-1).view(at::kByte));
    const PackedShape shape = PackedShape::of(tensor);
    if (const int64_t gap = shape.packed_bytes() - shape.nbytes())
      pieces.push_back(at::zeros({gap}, pieces.back().options()));
    length -= shape.packed_bytes();
  }
  if (length > 0)
    pieces.push_back(at::zeros({length}, pieces.front().options()));
  return at::cat(pieces);
}

std::vector<at::Tensor> unpack(const at::Tensor &bytes, const std::vector<PackedShape> &shapes) {
  std::vector<at::Tensor> tensors;
  int64_t offset = 0;
  for (const PackedShape &shape : shapes) {
    // Nothing has no place that would be aligned.
    tensors.push_back(
        shape.nbytes() == 0
            ? at::empty(shape.sizes, bytes.options().dtype(shape.dtype))
            : bytes.narrow(0, offset, shape.nbytes()).view(shape.dtype).view(shape.sizes));
    offset += shape.packed_bytes();
  }
  return tensors;
}

void pack_on_host(const std::vector<at::Tensor> &tensors, void *to) {
  auto *next = static_cast<std::byte *>(to);
  for (const at::Tensor &tensor : tensors) {
    const at::Tensor dense = tensor.contiguous();
    const PackedShape shape = PackedShape::of(dense);
    if (shape.nbytes() != 0)
      std::memcpy(next, dense.const_data_ptr(), shape.nbytes());
    next += shape.packed_bytes();
  }
}

std::vector<at::Tensor> unpack_on_host(const void *from, const std::vector<PackedShape> &shapes) {
  const auto *next = static_cast<const std::byte *>(from);
  std::vector<at::Tensor> tensors;
  for (const PackedShape &shape : shapes) {
    tensors.push_back(at::detail::empty_cpu(shape.sizes, shape.dtype));
    if (shape.nbytes() != 0)
      std::memcpy(tensors.back().mutable_data_ptr(), next, shape.nbytes());
    next += shape.packed_bytes();
  }
  return tensors;
}

} // namespace devsan::metrics
