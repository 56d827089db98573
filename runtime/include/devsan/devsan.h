// The C++ API of DevSan for programs under test. Header only: under `devsan run` the scopes reach
// the runtime, without it they do nothing, so the calls may stay in production code. Any thread.
//
//   for (auto &batch : *loader) {
//     devsan::ExpectNoSync no_sync;              // waiting for the device in here is an error
//     devsan::expectSameDevice(model, batch.data, batch.target);
//     ...
//     { devsan::AllowSync allow; log(loss.item<float>()); }
//     devsan::step();
//   }
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/Exception.h>

#include <concepts>
#include <cstdint>
#include <dlfcn.h>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace devsan {
namespace detail {

// The runtime is loaded after the program, so a link-time weak reference would never see it.
template <typename Function> Function *runtimeFunction(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

inline constexpr std::uint32_t kSyncAllowed = 1u << 3;
inline constexpr std::uint32_t kTransferAllowed = 1u << 4;
inline constexpr std::uint32_t kSyncForbidden = 1u << 5;

template <std::uint32_t flag> class Scope {
public:
  Scope() {
    static auto *const enter = runtimeFunction<void *(std::uint32_t)>("devsan_scope_enter");
    if (enter)
      handle_ = enter(flag);
  }
  ~Scope() {
    static auto *const leave = runtimeFunction<void(void *)>("devsan_scope_leave");
    if (handle_ && leave)
      leave(handle_);
  }
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

private:
  void *handle_ = nullptr;
};

} // namespace detail

// Scopes nest, and end on the thread that began them, in reverse order. They cover a backward that
// is started inside them, on whatever thread it runs, and no other thread.

// Waiting for a device is intended here.
using AllowSync = detail::Scope<detail::kSyncAllowed>;
// Copies between devices are intended here.
using AllowTransfer = detail::Scope<detail::kTransferAllowed>;
// Waiting for a device is a bug here.
using ExpectNoSync = detail::Scope<detail::kSyncForbidden>;

// Ends a step of the program's main loop; findings are counted per step.
inline void step() {
  static auto *const step = detail::runtimeFunction<void()>("devsan_step");
  if (step)
    step();
}

namespace detail {

// LibTorch spells a name and a tensor `item.key(), item.value()`, TorchScript `item.name,
// item.value`.
template <typename Item> std::pair<std::string, at::Tensor> namedTensor(const Item &item) {
  if constexpr (requires {
                  item.key();
                  item.value();
                })
    return {std::string(item.key()), item.value()};
  else if constexpr (requires {
                       item.name;
                       item.value;
                     })
    return {std::string(item.name), item.value};
  else
    return {std::string(item.first), item.second};
}

// Compares everything with the first tensor of the batch, or where there is none with the first
// parameter.
class DeviceComparison {
public:
  void setBatch(const at::Tensor &tensor) {
    if (!expected_ && tensor.defined()) {
      expected_ = tensor.device();
      reference_ = "the batch";
    }
  }

  void checkBatch(const at::Tensor &tensor) {
    ++position_;
    if (tensor.defined() && tensor.device() != *expected_)
      TORCH_CHECK(false, "tensor ", position_, " of the batch is on ", tensor.device(), ", ",
                  reference_, " on ", *expected_, ": call .to(\"", *expected_, "\") on it");
  }

  void checkMember(const char *kind, const std::string &name, const at::Tensor &tensor,
                   const char *owner) {
    if (!tensor.defined())
      return;
    if (!expected_) {
      expected_ = tensor.device();
      reference_ = std::string(kind) + " '" + name + "'";
      return;
    }
    if (tensor.device() == *expected_)
      return;
    auto dot = name.rfind('.');
    std::string part = dot == std::string::npos ? owner : name.substr(0, dot) + "->";
    TORCH_CHECK(false, kind, " '", name, "' is on ", tensor.device(), ", ", reference_, " on ",
                *expected_, ": call ", part, "to(device)");
  }

private:
  std::optional<c10::Device> expected_;
  std::string reference_;
  int position_ = 0;
};

template <typename T>
concept TensorLike = std::is_convertible_v<const T &, const at::Tensor &>;

template <typename T>
concept TensorRange = !TensorLike<T> && requires(const T &range) {
  { *range.begin() } -> std::convertible_to<const at::Tensor &>;
};

template <typename T> void setBatch(DeviceComparison &comparison, const T &argument) {
  if constexpr (TensorLike<T>)
    comparison.setBatch(argument);
  else if constexpr (TensorRange<T>)
    for (const at::Tensor &tensor : argument)
      comparison.setBatch(tensor);
}

template <typename Items>
void checkMembers(DeviceComparison &comparison, const char *kind, const Items &items,
                  const char *owner) {
  for (const auto &item : items) {
    auto [name, tensor] = namedTensor(item);
    comparison.checkMember(kind, name, tensor, owner);
  }
}

// Modules and what holds them, TorchScript modules, and metrics with a state_dict().
template <typename T> void check(DeviceComparison &comparison, const T &argument) {
  if constexpr (TensorLike<T>) {
    comparison.checkBatch(argument);
  } else if constexpr (TensorRange<T>) {
    for (const at::Tensor &tensor : argument)
      comparison.checkBatch(tensor);
  } else if constexpr (requires {
                         argument.named_parameters();
                         argument.named_buffers();
                       }) {
    checkMembers(comparison, "parameter", argument.named_parameters(), "model.");
    checkMembers(comparison, "buffer", argument.named_buffers(), "model.");
  } else if constexpr (requires {
                         argument->named_parameters();
                         argument->named_buffers();
                       }) {
    checkMembers(comparison, "parameter", argument->named_parameters(), "model->");
    checkMembers(comparison, "buffer", argument->named_buffers(), "model->");
  } else {
    checkMembers(comparison, "metric state", argument.state_dict(), "metric.");
  }
}

} // namespace detail

// Throws c10::Error where the tensors of the arguments do not all live on one device, naming the
// odd one by its qualified name: "parameter 'head.weight' is on cpu, the batch on cuda:1: call
// head->to(device)". Arguments in any order: modules (their parameters and buffers), metrics (their
// states, as far as they exist yet), tensors and ranges of tensors, which are the batch. The first
// tensor of the batch says which device is expected. Reads no tensor's data.
template <typename... Arguments> void expectSameDevice(const Arguments &...arguments) {
  detail::DeviceComparison comparison;
  (detail::setBatch(comparison, arguments), ...);
  (detail::check(comparison, arguments), ...);
}

} // namespace devsan
