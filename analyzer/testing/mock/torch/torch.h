#pragma once
#include <torch/nn.h>
#include <torch/serialize.h>
#include <torch/types.h>

namespace torch {

std::tuple<at::Tensor, at::Tensor, at::Tensor> _unique2(const at::Tensor &self, bool sorted = true,
                                                        bool return_inverse = false,
                                                        bool return_counts = false);

namespace data {
template <typename Data = Tensor, typename Target = Tensor> struct Example {
  Data data;
  Target target;
};
template <typename Batch> class Iterator {
public:
  Batch &operator*();
  Batch *operator->();
  Iterator &operator++();
  bool operator!=(const Iterator &other) const;
};
class DataLoader {
public:
  Iterator<Example<>> begin();
  Iterator<Example<>> end();
};
} // namespace data

namespace optim {
class Optimizer {
public:
  void step();
  void zero_grad(bool set_to_none = true);
  void add_parameters(const std::vector<Tensor> &parameters);
};
struct SGDOptions {
  SGDOptions(double lr);
  SGDOptions &momentum(double value);
};
class SGD : public Optimizer {
public:
  SGD(std::vector<Tensor> params, SGDOptions options);
};
struct AdamOptions {
  AdamOptions(double lr = 1e-3);
};
class Adam : public Optimizer {
public:
  Adam(std::vector<Tensor> params, AdamOptions options = {});
};
} // namespace optim

} // namespace torch
