#include "runtime/cuda/launches.h"

#include "runtime/cuda/driver.h"
#include "runtime/cuda/kernels.h"
#include "runtime/record/origins.h"
#include "runtime/record/recorder.h"

#include <array>
#include <atomic>
#include <c10/core/DeviceType.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <cstdio>
#include <dlfcn.h>
#include <optional>
#include <string_view>

namespace devsan::runtime::cuda {
namespace {

// Handles that CUDA gives a meaning.
constexpr std::uintptr_t kLegacyStream = 1;

// Set in a launch's slot where its arguments are read.
constexpr std::uint64_t kReads = 1;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

bool isOnLegacyStream(const DevSanCudaCall &call) {
  const auto handle = reinterpret_cast<std::uintptr_t>(call.stream);
  return handle == kLegacyStream || (handle == 0 && !call.is_per_thread);
}

// LibTorch's current one; nothing where the program has no CUDA device of LibTorch's.
std::optional<long long> currentStream(int device) {
  if (!c10::impl::hasDeviceGuardImpl(c10::DeviceType::CUDA))
    return std::nullopt;
  return c10::impl::getDeviceGuardImpl(c10::DeviceType::CUDA)
      ->getStream({c10::DeviceType::CUDA, static_cast<c10::DeviceIndex>(device)})
      .id();
}

// On the legacy stream a launch is right or wrong by LibTorch's current stream.
// The lowest bit is kept for what is known of the launch.
std::uint64_t identity(const DevSanCudaCall &call, int device, int other_device) {
  std::uint64_t hash = mixed(0, reinterpret_cast<std::uintptr_t>(call.kernel));
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(call.caller));
  hash = mixed(hash, reinterpret_cast<std::uintptr_t>(call.stream));
  if (isOnLegacyStream(call))
    hash = mixed(hash, currentStream(device).value_or(0) != 0);
  hash = mixed(hash, std::uint64_t(std::uint8_t(device)) << 8 | std::uint8_t(other_device));
  return hash < kReads ? 2 * kReads : hash & ~kReads;
}

enum class Seen { kNew, kKnown, kKnownAndRead };

// The launches seen so far. Full, it holds no more, and nothing new is recorded: a program that
// launches from so many places has been seen enough of.
class SeenLaunches {
public:
  // kNew for the first thread that asks; `reads` is asked then.
  template <typename Reads> Seen look(std::uint64_t identity, Reads reads) {
    for (std::size_t probe = 0; probe < kProbes; ++probe) {
      std::atomic<std::uint64_t> &slot = slots_[((identity >> 1) + probe) % kSize];
      std::uint64_t held = slot.load(std::memory_order_relaxed);
      if ((held & ~kReads) == identity)
        return held & kReads ? Seen::kKnownAndRead : Seen::kKnown;
      if (held != 0)
        continue;
      if (slot.compare_exchange_strong(held, reads() ? identity | kReads : identity,
                                       std::memory_order_relaxed))
        return Seen::kNew;
      if ((held & ~kReads) == identity)
        return Seen::kKnown;
    }
    return Seen::kKnown;
  }

  bool isKnown(std::uint64_t identity) const {
    return slots_[(identity >> 1) % kSize].load(std::memory_order_relaxed) == identity;
  }

private:
  static constexpr std::size_t kSize = 1 << 14;
  static constexpr std::size_t kProbes = 16;
  std::array<std::atomic<std::uint64_t>, kSize> slots_{};
};

constinit SeenLaunches seen;

// "0 35": the stream of the launch, and LibTorch's current one.
std::array<char, 64> streamsText(const DevSanCudaCall &call, int device) {
  std::array<char, 64> text{};
  const auto handle = isOnLegacyStream(call) ? 0 : reinterpret_cast<std::uintptr_t>(call.stream);
  const int length =
      std::snprintf(text.data(), text.size(), "%llx ", static_cast<unsigned long long>(handle));
  char *rest = text.data() + length;
  const std::size_t room = text.size() - std::size_t(length);
  if (const std::optional<long long> current = currentStream(device))
    std::snprintf(rest, room, "%lld", *current);
  else
    std::snprintf(rest, room, "?");
  return text;
}

void recordLaunch(const DevSanCudaCall &call, int device, ForeignMemory foreign) {
  constexpr auto kCuda = static_cast<std::int8_t>(c10::DeviceType::CUDA);
  Recorder &out = recorder();
  Event event;
  event.kind = EventKind::kLaunch;
  event.flags = isOnLegacyStream(call) ? kDefaultStream : 0;
  event.from = {kCuda, static_cast<std::int8_t>(device)};
  event.to = {kCuda, static_cast<std::int8_t>(foreign.device)};
  event.op = out.string(call.name);
  event.operand = out.string(kernelName(call));
  event.detail = out.string(streamsText(call, device).data());
  event.current_device = static_cast<std::int8_t>(device);
  if (foreign.address) {
    const TensorOrigin origin = originOfMemory(foreign.address);
    event.related = origin.stack;
    event.flags |= origin.is_move ? kOriginIsMove : 0;
  }
  out.record(event);
}

// As the loader names it: LibTorch's libraries find one another beside themselves.
std::string_view folderOf(const void *code) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname)
    return {};
  const std::string_view file(info.dli_fname);
  return file.substr(0, file.rfind('/') + 1);
}

// LibTorch guards its own launches. Of a library's it is known by its first frame alone.
bool isOfLibTorch(const void *caller) {
  static const std::string_view torch = folderOf(reinterpret_cast<const void *>(&c10::warn));
  const std::string_view folder = folderOf(caller);
  return !folder.empty() && folder == torch;
}

// Reading the arguments asks the driver about each pointer, some microseconds for a launch. A
// tensor on the wrong device is mostly there from the beginning. One in a prime number afterwards,
// so that the kernels of a loop all have their turn.
bool isRead() {
  constexpr std::uint32_t kFirst = 1000, kLater = 61;
  thread_local std::uint32_t launches = 0;
  ++launches;
  return launches <= kFirst || launches % kLater == 0;
}

} // namespace

bool isKnownLaunch(const DevSanCudaCall &call) {
  const int device = currentDevice();
  return device >= 0 && seen.isKnown(identity(call, device, -1));
}

void noteLaunch(const DevSanCudaCall &call, int device) {
  if (device < 0)
    return;
  const Seen known = seen.look(identity(call, device, -1), [&] {
    return call.arguments && !isOfLibTorch(call.caller) && hasLayout(call);
  });
  if (known == Seen::kKnown || (known == Seen::kKnownAndRead && !isRead()))
    return;
  const ForeignMemory foreign = foreignMemory(call, device);
  if (known == Seen::kNew)
    recordLaunch(call, device, foreign);
  if (foreign.device >= 0 &&
      seen.look(identity(call, device, foreign.device), [] { return false; }) == Seen::kNew &&
      known != Seen::kNew)
    recordLaunch(call, device, foreign);
}

} // namespace devsan::runtime::cuda
