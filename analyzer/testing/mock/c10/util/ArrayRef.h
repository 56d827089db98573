#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace c10 {

template <typename T> class ArrayRef final {
public:
  ArrayRef();
  ArrayRef(const T &one);
  ArrayRef(const T *data, size_t length);
  ArrayRef(const std::vector<T> &values);
  ArrayRef(const std::initializer_list<T> &values);
  const T *begin() const;
  const T *end() const;
  size_t size() const;
  const T &operator[](size_t index) const;
  std::vector<T> vec() const;
};
using IntArrayRef = ArrayRef<int64_t>;

} // namespace c10

namespace at {
using c10::ArrayRef;
using c10::IntArrayRef;
} // namespace at
