// Tensors of several dtypes and shapes as one buffer of bytes, for exchanges that are one
// collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace devsan::metrics {

// How a tensor lies in the buffer.
struct PackedShape {
  std::vector<int64_t> sizes;
  at::ScalarType dtype;

  static PackedShape of(const at::Tensor &tensor) {
    return {tensor.sizes().vec(), tensor.scalar_type()};
  }
  int64_t nbytes() const;
  // The same with what follows, so that the next one is aligned for any dtype.
  int64_t packed_bytes() const { return (nbytes() + kAlignment - 1) / kAlignment * kAlignment; }
  static constexpr int64_t kAlignment = 16;

  // As so many numbers of a header, for tensors of up to kMaxDims dimensions.
  static constexpr size_t kMaxDims = 7;
  static constexpr size_t kNumbers = 2 + kMaxDims;
  void write(int64_t *numbers) const;
  static PackedShape read(const int64_t *numbers);
};

// Makes shapes of tensors [N, ...], one of each rank, those in which they are to travel: in the
// dtype that holds them all. Throws an error that begins
// with `what` where the rows of two ranks differ in size.
void agree_on_rows(std::vector<PackedShape *> of_ranks, const std::string &what);

// uint8 [length], filled up with zeros. `tensors` is not empty and lies on one device.
at::Tensor pack(const std::vector<at::Tensor> &tensors, int64_t length);

// The tensors in such a buffer, of which they are views.
std::vector<at::Tensor> unpack(const at::Tensor &bytes, const std::vector<PackedShape> &shapes);

// The same of tensors on the host, copied to and from any memory: for small ones, of which an
// operator each would take longer than all else.
void pack_on_host(const std::vector<at::Tensor> &tensors, void *to);
std::vector<at::Tensor> unpack_on_host(const void *from, const std::vector<PackedShape> &shapes);

} // namespace devsan::metrics
