#pragma once

#include <utility>

// TORCH_ARG for a base class of options: the setter returns the options themselves (`Self`, the
// template parameter), so that the arguments of all bases chain in any order.
#define DEVSAN_SHARED_ARG(T, name)                                                                 \
public:                                                                                            \
  Self &name(T new_##name) {                                                                       \
    name##_ = std::move(new_##name);                                                               \
    return static_cast<Self &>(*this);                                                             \
  }                                                                                                \
  const T &name() const noexcept {                                                                 \
    return name##_;                                                                                \
  }                                                                                                \
                                                                                                   \
private:                                                                                           \
  T name##_
