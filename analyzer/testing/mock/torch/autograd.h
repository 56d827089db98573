#pragma once
#include <torch/types.h>

#include <vector>

namespace torch {
namespace autograd {

using variable_list = std::vector<at::Tensor>;

struct AutogradContext {
  void save_for_backward(variable_list to_save);
  variable_list get_saved_variables() const;
};

template <class T> struct Function {
  template <typename... Args> static variable_list apply(Args &&...args);
};

} // namespace autograd
} // namespace torch
