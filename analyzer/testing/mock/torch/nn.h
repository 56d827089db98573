#pragma once
#include <torch/types.h>

#include <map>
#include <memory>
#include <string>

namespace torch {
template <typename Key, typename Value> class OrderedDict {
public:
  class Item {
  public:
    Value &value();
    const Key &key() const;
  };
  Item *begin();
  Item *end();
  Value &operator[](const Key &key);
};

namespace serialize {
class OutputArchive;
class InputArchive;
} // namespace serialize

namespace nn {

template <typename Contained> class ModuleHolder;

class Module : public std::enable_shared_from_this<Module> {
public:
  explicit Module(std::string name);
  Module();
  Module(const Module &) = default;
  virtual ~Module() = default;
  virtual std::shared_ptr<Module> clone(const std::optional<Device> &device = std::nullopt) const;
  std::vector<Tensor> parameters(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_parameters(bool recurse = true) const;
  std::vector<Tensor> buffers(bool recurse = true) const;
  OrderedDict<std::string, Tensor> named_buffers(bool recurse = true) const;
  std::vector<std::shared_ptr<Module>> modules(bool include_self = true) const;
  std::vector<std::shared_ptr<Module>> children() const;
  virtual void train(bool on = true);
  void eval();
  virtual bool is_training() const noexcept;
  virtual void to(torch::Device device, torch::Dtype dtype, bool non_blocking = false);
  virtual void to(torch::Dtype dtype, bool non_blocking = false);
  virtual void to(torch::Device device, bool non_blocking = false);
  virtual void zero_grad(bool set_to_none = true);
  virtual void save(serialize::OutputArchive &archive) const;
  virtual void load(serialize::InputArchive &archive);
  template <typename ModuleType> ModuleType *as() noexcept;

  Tensor &register_parameter(std::string name, Tensor tensor, bool requires_grad = true);
  Tensor &register_buffer(std::string name, Tensor tensor);
  template <typename ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name, std::shared_ptr<ModuleType> module);
  template <typename ModuleType>
  std::shared_ptr<ModuleType> register_module(std::string name,
                                              ModuleHolder<ModuleType> module_holder);
  template <typename ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string &name,
                                             std::shared_ptr<ModuleType> module);
  template <typename ModuleType>
  std::shared_ptr<ModuleType> replace_module(const std::string &name,
                                             ModuleHolder<ModuleType> module_holder);
  void unregister_module(const std::string &name);

protected:
  OrderedDict<std::string, Tensor> parameters_;
};

template <typename Derived> class Cloneable : public Module {
public:
  using Module::Module;
  virtual void reset() = 0;
};

template <typename Contained> class ModuleHolder {
protected:
  std::shared_ptr<Contained> impl_;

public:
  using ContainedType = Contained;
  ModuleHolder();
  ModuleHolder(std::nullptr_t);
  template <
      typename Head, typename... Tail,
      typename = std::enable_if_t<!((std::is_base_of_v<ModuleHolder, std::decay_t<Head>> ||
                                     std::is_convertible_v<Head, std::shared_ptr<Contained>>) &&
                                    sizeof...(Tail) == 0)>>
  explicit ModuleHolder(Head &&head, Tail &&...tail)
      : impl_(new Contained(std::forward<Head>(head), std::forward<Tail>(tail)...)) {}
  ModuleHolder(std::shared_ptr<Contained> module);
  explicit operator bool() const noexcept;
  Contained *operator->();
  const Contained *operator->() const;
  Contained &operator*();
  const std::shared_ptr<Contained> &ptr() const;
  Contained *get();
  template <typename... Args> auto operator()(Args &&...args) -> Tensor;
  bool is_empty() const noexcept;
};

#define TORCH_MODULE_IMPL(Name, ImplType)                                                          \
  class Name : public torch::nn::ModuleHolder<ImplType> {                                          \
  public:                                                                                          \
    using torch::nn::ModuleHolder<ImplType>::ModuleHolder;                                         \
    using Impl [[maybe_unused]] = ImplType;                                                        \
  }
#define TORCH_MODULE(Name) TORCH_MODULE_IMPL(Name, Name##Impl)

struct LinearOptions {
  LinearOptions(int64_t in_features, int64_t out_features);
  LinearOptions &bias(bool value);
};
class LinearImpl : public Cloneable<LinearImpl> {
public:
  LinearImpl(int64_t in_features, int64_t out_features);
  explicit LinearImpl(const LinearOptions &options);
  void reset() override;
  Tensor forward(const Tensor &input);
  Tensor weight;
  Tensor bias;
};
TORCH_MODULE(Linear);

struct Conv2dOptions {
  Conv2dOptions(int64_t in_channels, int64_t out_channels, int64_t kernel_size);
};
class Conv2dImpl : public Cloneable<Conv2dImpl> {
public:
  Conv2dImpl(int64_t in_channels, int64_t out_channels, int64_t kernel_size);
  explicit Conv2dImpl(Conv2dOptions options);
  void reset() override;
  Tensor forward(const Tensor &input);
  Tensor weight;
  Tensor bias;
};
TORCH_MODULE(Conv2d);

class ReLUImpl : public Cloneable<ReLUImpl> {
public:
  ReLUImpl();
  void reset() override;
  Tensor forward(Tensor input);
};
TORCH_MODULE(ReLU);

struct MaxPool2dOptions {
  MaxPool2dOptions(int64_t kernel_size);
};
class MaxPool2dImpl : public Cloneable<MaxPool2dImpl> {
public:
  MaxPool2dImpl(int64_t kernel_size);
  explicit MaxPool2dImpl(const MaxPool2dOptions &options);
  void reset() override;
  Tensor forward(const Tensor &input);
  MaxPool2dOptions options;
};
TORCH_MODULE(MaxPool2d);

class DropoutImpl : public Cloneable<DropoutImpl> {
public:
  explicit DropoutImpl(double p = 0.5);
  void reset() override;
  Tensor forward(Tensor input);
};
TORCH_MODULE(Dropout);
namespace functional {
struct DropoutFuncOptions {
  DropoutFuncOptions &training(bool value);
};
} // namespace functional

class BatchNorm2dImpl : public Cloneable<BatchNorm2dImpl> {
public:
  explicit BatchNorm2dImpl(int64_t features);
  void reset() override;
  Tensor forward(const Tensor &input);
  Tensor weight, bias, running_mean, running_var;
};
TORCH_MODULE(BatchNorm2d);

class EmbeddingImpl : public Cloneable<EmbeddingImpl> {
public:
  EmbeddingImpl(int64_t num_embeddings, int64_t embedding_dim);
  void reset() override;
  Tensor forward(const Tensor &indices);
  Tensor weight;
};
TORCH_MODULE(Embedding);

class LSTMCellImpl : public Cloneable<LSTMCellImpl> {
public:
  Tensor weight_ih, weight_hh;
  LSTMCellImpl(int64_t input_size, int64_t hidden_size);
  void reset() override;
  std::tuple<Tensor, Tensor> forward(const Tensor &input,
                                     std::optional<std::tuple<Tensor, Tensor>> hx_opt = {});
};
TORCH_MODULE(LSTMCell);

class AnyModule {
public:
  template <typename ModuleType> explicit AnyModule(std::shared_ptr<ModuleType> module);
  template <typename ModuleType> explicit AnyModule(const ModuleHolder<ModuleType> &module_holder);
};

class SequentialImpl : public Cloneable<SequentialImpl> {
public:
  SequentialImpl();
  template <typename... Modules> explicit SequentialImpl(Modules &&...modules);
  void reset() override;
  template <typename... InputTypes> Tensor forward(InputTypes &&...inputs);
  template <typename ModuleType> void push_back(std::shared_ptr<ModuleType> module_ptr);
  template <typename M> void push_back(const ModuleHolder<M> &module_holder);
  template <typename M> void push_back(std::string name, const ModuleHolder<M> &module_holder);
  template <typename Container> void extend(const Container &container);
  size_t size() const noexcept;
};
class Sequential : public torch::nn::ModuleHolder<SequentialImpl> {
public:
  using torch::nn::ModuleHolder<SequentialImpl>::ModuleHolder;
  Sequential();
};

class ModuleListImpl : public Cloneable<ModuleListImpl> {
public:
  ModuleListImpl();
  void reset() override;
  void push_back(std::shared_ptr<Module> module);
  template <typename M> void push_back(const ModuleHolder<M> &module_holder);
  template <typename M> void insert(size_t index, const ModuleHolder<M> &module_holder);
};
TORCH_MODULE(ModuleList);

class ModuleDictImpl : public Cloneable<ModuleDictImpl> {
public:
  ModuleDictImpl();
  void reset() override;
};
TORCH_MODULE(ModuleDict);

namespace utils {
double clip_grad_norm_(const std::vector<Tensor> &parameters, double max_norm,
                       double norm_type = 2.0, bool error_if_nonfinite = false);
} // namespace utils

namespace functional {
Tensor relu(Tensor input);
Tensor log_softmax(const Tensor &input, int64_t dim);
Tensor mse_loss(const Tensor &input, const Tensor &target);
Tensor cross_entropy(const Tensor &input, const Tensor &target);
} // namespace functional

} // namespace nn
} // namespace torch
