// Each function that LibTorch or a program gives a device to: which numbers it takes, and that -1
// is the current device where it is that on a GPU. Which functions there are, LibTorch's own
// headers say.
#include <ATen/DeviceAccelerator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

namespace {

enum class MinusOne { kIsCurrent, kIsRefused, kIsIgnored };

struct Function {
  std::string name;
  MinusOne minus_one;
  std::function<void(c10::DeviceIndex)> call;
};

c10::Device cuda(c10::DeviceIndex index) {
  return {c10::kCUDA, index};
}

std::vector<Function> functions() {
  using enum MinusOne;
  const auto &hooks = at::detail::getCUDAHooks();
  static const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
  auto *allocator = at::getDeviceAllocator(c10::kCUDA);
  return {
      {"torch::cuda::synchronize", kIsCurrent, [](auto i) { torch::cuda::synchronize(i); }},
      {"at::accelerator::setDeviceIndex", kIsRefused,
       [](auto i) { at::accelerator::setDeviceIndex(i); }},
      {"at::accelerator::getCurrentStream", kIsCurrent,
       [](auto i) { EXPECT_GE(at::accelerator::getCurrentStream(i).device_index(), 0); }},
      {"at::accelerator::synchronizeDevice", kIsRefused,
       [](auto i) { at::accelerator::synchronizeDevice(i); }},
      {"at::accelerator::exchangeDevice", kIsRefused,
       [](auto i) { at::accelerator::exchangeDevice(i); }},
      {"at::accelerator::maybeExchangeDevice", kIsIgnored,
       [](auto i) { at::accelerator::maybeExchangeDevice(i); }},
      {"at::accelerator::getMemoryInfo", kIsCurrent,
       [](auto i) { EXPECT_GT(at::accelerator::getMemoryInfo(i).second, 0u); }},

      {"hasPrimaryContext", kIsRefused, [&](auto i) { hooks.hasPrimaryContext(i); }},
      {"setCurrentDevice", kIsRefused, [&](auto i) { hooks.setCurrentDevice(i); }},
      {"exchangeDevice", kIsRefused, [&](auto i) { hooks.exchangeDevice(i); }},
      {"maybeExchangeDevice", kIsCurrent, [&](auto i) { hooks.maybeExchangeDevice(i); }},
      {"getDefaultGenerator", kIsCurrent,
       [&](auto i) { EXPECT_GE(hooks.getDefaultGenerator(i).device().index(), 0); }},
      {"getNewGenerator", kIsCurrent,
       [&](auto i) { EXPECT_GE(hooks.getNewGenerator(i).device().index(), 0); }},
      {"deviceSynchronize", kIsCurrent, [&](auto i) { hooks.deviceSynchronize(i); }},
      {"cuFFTGetPlanCacheMaxSize", kIsRefused, [&](auto i) { hooks.cuFFTGetPlanCacheMaxSize(i); }},
      {"cuFFTSetPlanCacheMaxSize", kIsRefused,
       [&](auto i) { hooks.cuFFTSetPlanCacheMaxSize(i, 1); }},
      {"cuFFTGetPlanCacheSize", kIsRefused, [&](auto i) { hooks.cuFFTGetPlanCacheSize(i); }},
      {"cuFFTClearPlanCache", kIsRefused, [&](auto i) { hooks.cuFFTClearPlanCache(i); }},

      {"exchangeDevice", kIsRefused, [](auto i) { guard.exchangeDevice(cuda(i)); }},
      {"setDevice", kIsRefused, [](auto i) { guard.setDevice(cuda(i)); }},
      {"uncheckedSetDevice", kIsIgnored, [](auto i) { guard.uncheckedSetDevice(cuda(i)); }},
      {"getDeviceCapability", kIsIgnored, [](auto i) { guard.getDeviceCapability(cuda(i)); }},
      {"getStream", kIsCurrent,
       [](auto i) { EXPECT_GE(guard.getStream(cuda(i)).device_index(), 0); }},
      {"getDefaultStream", kIsCurrent,
       [](auto i) { EXPECT_GE(guard.getDefaultStream(cuda(i)).device_index(), 0); }},
      {"getStreamFromGlobalPool", kIsCurrent,
       [](auto i) { EXPECT_GE(guard.getStreamFromGlobalPool(cuda(i)).device_index(), 0); }},
      {"getNewStream", kIsCurrent,
       [](auto i) { EXPECT_GE(guard.getNewStream(cuda(i)).device_index(), 0); }},
      {"synchronizeDevice", kIsRefused, [](auto i) { guard.synchronizeDevice(i); }},
      {"record", kIsCurrent,
       [](auto i) {
         void *event = nullptr;
         const auto stream = guard.getStream(cuda(i == -1 ? 0 : i));
         guard.record(&event, stream, i, c10::EventFlag::BACKEND_DEFAULT);
         guard.elapsedTime(event, event, stream.device_index());
         guard.destroyEvent(event, i);
       }},
      {"destroyEvent", kIsIgnored, [](auto i) { guard.destroyEvent(nullptr, i); }},
      {"elapsedTime", kIsRefused,
       [](auto i) {
         void *event = nullptr;
         guard.record(&event, guard.getStream(cuda(0)), -1, c10::EventFlag::BACKEND_DEFAULT);
         try {
           guard.elapsedTime(event, event, i);
         } catch (...) {
           guard.destroyEvent(event, 0);
           throw;
         }
         guard.destroyEvent(event, 0);
       }},

      {"getDeviceStats", kIsRefused, [=](auto i) { (void)allocator->getDeviceStats(i); }},
      {"resetAccumulatedStats", kIsRefused, [=](auto i) { allocator->resetAccumulatedStats(i); }},
      {"resetPeakStats", kIsRefused, [=](auto i) { allocator->resetPeakStats(i); }},
      {"getMemoryInfo", kIsCurrent,
       [=](auto i) { EXPECT_GT(allocator->getMemoryInfo(i).second, 0u); }},
  };
}

TEST(DeviceIndices, AreTakenAsOnAGpu) {
  const c10::DeviceIndex kTooMany = torch::cuda::device_count();
  for (const Function &function : functions()) {
    SCOPED_TRACE(function.name);
    for (c10::DeviceIndex current : {c10::DeviceIndex(0), c10::DeviceIndex(1)}) {
      const c10::DeviceGuard device(cuda(current));
      auto call = [&](c10::DeviceIndex index) {
        const c10::DeviceGuard back(cuda(current));
        function.call(index);
      };
      EXPECT_NO_THROW(call(0));
      EXPECT_NO_THROW(call(1));
      if (function.minus_one == MinusOne::kIsRefused)
        EXPECT_THROW(call(-1), c10::Error);
      else
        EXPECT_NO_THROW(call(-1));
      if (function.minus_one == MinusOne::kIsIgnored)
        EXPECT_NO_THROW(call(kTooMany));
      else
        EXPECT_THROW(call(kTooMany), c10::Error);
      EXPECT_EQ(at::accelerator::getDeviceIndex(), current);
    }
  }
}

// Of virtual functions: "virtual Device exchangeDevice(Device) const = 0".
std::vector<std::string> functionsWithADevice(const std::string &header) {
  std::ifstream file(DEVSAN_TORCH_INCLUDE "/" + header);
  EXPECT_TRUE(file) << header;
  std::string text(std::istreambuf_iterator<char>(file), {});
  text = std::regex_replace(text, std::regex("//[^\n]*|\\[\\[maybe_unused\\]\\]"), "");
  text = std::regex_replace(text, std::regex("/\\*([^*]|\\*[^/])*\\*+/"), "");
  text = std::regex_replace(text, std::regex("#ifdef USE_ROCM[\\s\\S]*?#endif"), "");
  std::vector<std::string> names;
  const std::regex declaration(
      "virtual[^;{(]*\\b(\\w+)\\(([^)]*\\bDevice(Index)?\\b[^)]*|[^)]*Stream[^)]*)\\)");
  for (std::sregex_iterator found(text.begin(), text.end(), declaration), end; found != end;
       ++found)
    if (found->str(2).find("Device") != std::string::npos)
      names.push_back(found->str(1));
  return names;
}

TEST(DeviceIndices, OfEachVirtualFunctionAreTried) {
  const std::vector<Function> tried = functions();
  std::size_t count = 0;
  for (const char *header :
       {"ATen/detail/AcceleratorHooksInterface.h", "ATen/detail/CUDAHooksInterface.h",
        "c10/core/impl/DeviceGuardImplInterface.h", "c10/core/CachingDeviceAllocator.h"})
    for (const std::string &name : functionsWithADevice(header)) {
      ++count;
      EXPECT_TRUE(std::ranges::any_of(
          tried, [&](const Function &function) { return function.name == name; }))
          << name << " of " << header;
    }
  EXPECT_GT(count, 20u);
}

// In a process of its own, in which no device has been used.
TEST(ContextsDeathTest, AreMadeWhereADeviceIsEntered) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto contexts = [] {
    const auto &hooks = at::detail::getCUDAHooks();
    return (hooks.hasPrimaryContext(0) ? "0" : "") +
           std::string(hooks.hasPrimaryContext(1) ? "1" : "");
  };
  const auto run = [&] {
    std::string seen;
    const auto note = [&] { seen += " [" + contexts() + "]"; };
    at::accelerator::maybeExchangeDevice(1), note();
    at::accelerator::maybeExchangeDevice(0), note();
    {
      const c10::DeviceGuard guard(cuda(1));
    }
    note();
    at::accelerator::exchangeDevice(0), note();
    std::fprintf(stderr, "contexts:%s", seen.c_str());
    std::_Exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "contexts: \\[\\] \\[\\] \\[1\\] \\[01\\]");
}

} // namespace
