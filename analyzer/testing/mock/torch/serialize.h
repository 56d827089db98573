#pragma once
#include <torch/types.h>

#include <istream>
#include <memory>
#include <string>
#include <vector>

namespace c10 {
namespace ivalue {
struct Tuple;
}
struct IValue {
  IValue(at::Tensor tensor);
  at::Tensor toTensor() &&;
  at::Tensor &toTensor() &;
  const at::Tensor &toTensor() const &;
  std::shared_ptr<ivalue::Tuple> toTuple() const;
  bool isTensor() const;
};
namespace ivalue {
struct Tuple {
  const std::vector<IValue> &elements() const;
};
} // namespace ivalue
} // namespace c10

namespace torch {
using c10::IValue;

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

torch::IValue pickle_load(const std::vector<char> &data);

namespace jit {
using c10::IValue;
struct CompilationUnit;
class Module {
public:
  void to(at::Device device, bool non_blocking = false);
  void eval();
  IValue forward(std::vector<IValue> inputs);
};
Module import_ir_module(std::shared_ptr<CompilationUnit> cu, const std::string &filename,
                        std::optional<c10::Device> device = std::nullopt, bool load_debug_files = true);
Module load(std::istream &in, std::optional<c10::Device> device = std::nullopt, bool load_debug_files = true);
Module load(const std::string &filename, std::optional<c10::Device> device = std::nullopt,
            bool load_debug_files = true);
} // namespace jit

} // namespace torch
