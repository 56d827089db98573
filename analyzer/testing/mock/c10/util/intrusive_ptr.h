#pragma once

namespace c10 {

template <typename T> class intrusive_ptr {
public:
  intrusive_ptr();
  T *get() const noexcept;
  T *operator->() const noexcept;
  T &operator*() const noexcept;
  explicit operator bool() const noexcept;
};
template <typename T, typename... Args> intrusive_ptr<T> make_intrusive(Args &&...args);

} // namespace c10
