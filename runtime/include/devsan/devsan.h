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

} // namespace detail

// True where the program runs under `devsan run` and is observed.
inline bool isActive() {
  static auto *const active = detail::runtimeFunction<int()>("devsan_is_active");
  return active && active() != 0;
}

// "Explicit" is what the program spells out (`.to`, `.cpu`, `copy_`, `.item()`, `synchronize()`),
// "implicit" what LibTorch does on its behalf (a host tensor as an index, `nonzero`, a tensor in a
// condition).
enum class Level : std::uint32_t {
  kInherit = 0,          // what holds outside
  kAllow = 1,            // nothing is reported
  kLog = 2,              // implicit ones are warnings
  kDisallow = 3,         // implicit ones are errors
  kLogExplicit = 4,      // all are warnings
  kDisallowExplicit = 5, // all are errors
};

enum class Direction : std::uint32_t { kHostToDevice, kDeviceToHost, kDeviceToDevice };

// What becomes of an error that an operator is about to make: a finding of the report; or that, and
// a c10::Error at the place, before the operator has done anything.
enum class OnError : std::uint32_t { kInherit, kThrow, kReport };

namespace detail {

inline constexpr std::uint32_t kRaise = 1u << 16;
inline constexpr std::uint32_t kDoNotRaise = 2u << 16;

constexpr std::uint32_t packed(Direction direction, Level level) {
  return static_cast<std::uint32_t>(level) << 4 * static_cast<std::uint32_t>(direction);
}
constexpr std::uint32_t packed(Level level) {
  return packed(Direction::kHostToDevice, level) | packed(Direction::kDeviceToHost, level) |
         packed(Direction::kDeviceToDevice, level);
}
constexpr std::uint32_t packedSync(Level level) {
  return static_cast<std::uint32_t>(level) << 12;
}
constexpr std::uint32_t packed(OnError on_error) {
  return static_cast<std::uint32_t>(on_error) << 16;
}

class Scope {
public:
  Scope(const Scope &) = delete;
  Scope &operator=(const Scope &) = delete;

protected:
  explicit Scope(void *handle) : handle_(handle) {}
  ~Scope() {
    static auto *const leave = runtimeFunction<void(void *)>("devsan_scope_leave");
    if (handle_ && leave)
      leave(handle_);
  }
  static void *guard(std::uint32_t guards) {
    static auto *const enter = runtimeFunction<void *(std::uint32_t)>("devsan_guard_enter");
    return enter ? enter(guards) : nullptr;
  }
  void *handle() const { return handle_; }

private:
  void *handle_;
};

} // namespace detail

// Scopes nest, and of two that say different things about the same the inner one holds. They end on
// the thread that began them, in reverse order. They cover a backward that is started inside them,
// on whatever thread it runs, and no other thread.

// What copies between devices mean here, in one direction or in all.
class [[nodiscard]] TransferGuard : detail::Scope {
public:
  explicit TransferGuard(Level level, OnError on_error = OnError::kInherit)
      : Scope(guard(detail::packed(level) | detail::packed(on_error))) {}
  TransferGuard(Direction direction, Level level, OnError on_error = OnError::kInherit)
      : Scope(guard(detail::packed(direction, level) | detail::packed(on_error))) {}
};

// What waiting for a device means here.
class [[nodiscard]] SyncGuard : detail::Scope {
public:
  explicit SyncGuard(Level level, OnError on_error = OnError::kInherit)
      : Scope(guard(detail::packedSync(level) | detail::packed(on_error))) {}
};

// Waiting for a device is intended here.
class [[nodiscard]] AllowSync : SyncGuard {
public:
  AllowSync() : SyncGuard(Level::kAllow) {}
};
// Copies between devices are intended here.
class [[nodiscard]] AllowTransfer : TransferGuard {
public:
  AllowTransfer() : TransferGuard(Level::kAllow) {}
};
// Waiting for a device is a bug here, also where the program spells it out.
class [[nodiscard]] ExpectNoSync : SyncGuard {
public:
  explicit ExpectNoSync(OnError on_error = OnError::kInherit)
      : SyncGuard(Level::kDisallowExplicit, on_error) {}
};

// Counts what happens between its construction and its destruction, on this thread and in the
// backwards started here, whatever the guards say about it:
//
//   devsan::SyncCount count;
//   model->forward(batch);
//   EXPECT_LE(count.syncs(), 1);
//
// Without `devsan run` nothing is observed, and the constructor throws c10::Error rather than count
// nothing: let the test ask isActive(), and skip.
class [[nodiscard]] SyncCount : detail::Scope {
public:
  SyncCount() : Scope(begin()) {}

  // Waits of the host for a device.
  std::uint64_t syncs() const { return read(3); }
  // Copies between devices, whether the host waits for them or not.
  std::uint64_t transfers(Direction direction) const {
    return read(static_cast<std::uint32_t>(direction));
  }

private:
  static void *begin() {
    static auto *const enter = detail::runtimeFunction<void *()>("devsan_count_enter");
    TORCH_CHECK(enter && isActive(),
                "devsan::SyncCount sees nothing here: start the program with `devsan run -- CMD`, "
                "or ask devsan::isActive() first and skip the test");
    return enter();
  }
  std::uint64_t read(std::uint32_t what) const {
    static auto *const function =
        detail::runtimeFunction<std::uint64_t(void *, std::uint32_t)>("devsan_count_read");
    return function(handle(), what);
  }
};

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
