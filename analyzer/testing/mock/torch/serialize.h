#pragma once
#include <torch/types.h>

#include <istream>

namespace torch {

namespace serialize {
class InputArchive final {
public:
  void load_from(const std::string &filename, std::optional<torch::Device> device = std::nullopt);
};
} // namespace serialize

template <typename Value, typename... SaveToArgs>
void save(const Value &value, SaveToArgs &&...args);
template <typename... SaveToArgs>
void save(const std::vector<torch::Tensor> &tensor_vec, SaveToArgs &&...args);
template <typename Value, typename... LoadFromArgs>
void load(Value &value, LoadFromArgs &&...args);
template <typename... LoadFromArgs>
void load(std::vector<torch::Tensor> &tensor_vec, LoadFromArgs &&...args);

namespace jit {
class Module {
public:
  void to(at::Device device, bool non_blocking = false);
  void eval();
};
Module load(const std::string &filename, std::optional<c10::Device> device = std::nullopt,
            bool load_debug_files = true);
} // namespace jit

} // namespace torch
