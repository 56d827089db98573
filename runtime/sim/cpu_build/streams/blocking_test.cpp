#include <dlfcn.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/sim/api/c_api.h"
#include "runtime/sim/api/observers.h"

namespace {

const torch::Device kSecond("cuda:1");

template <typename Function> Function *simulated(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

class SyncDebugMode : public testing::Test {
protected:
  static void set(int mode) {
    simulated<decltype(devsan_sim_set_sync_debug_mode)>("devsan_sim_set_sync_debug_mode")(mode);
  }
  void TearDown() override { set(0); }
};

TEST_F(SyncDebugMode, RaisesFromWithinTheOperator) {
  auto x = torch::ones({3}, kSecond);
  set(2);
  try {
    x.nonzero();
    FAIL();
  } catch (const c10::Error &error) {
    EXPECT_STREQ(error.what_without_backtrace(), "called a synchronizing CUDA operation");
  }
  EXPECT_THROW(x.sum().item<float>(), c10::Error);
  EXPECT_NO_THROW(torch::cuda::synchronize(1));
  EXPECT_NO_THROW(x.add(1));
}

TEST_F(SyncDebugMode, Warns) {
  struct Collector : c10::WarningHandler {
    std::vector<std::string> messages;
    void process(const c10::Warning &warning) override { messages.push_back(warning.msg()); }
  } collector;
  auto x = torch::ones({3}, kSecond);
  set(1);
  c10::WarningUtils::WarningHandlerGuard guard(&collector);
  EXPECT_EQ(x.sum().item<float>(), 3);
  EXPECT_EQ(collector.messages, std::vector<std::string>{"called a synchronizing CUDA operation"});
}

std::vector<std::pair<std::string, int>> observed;

TEST(ExplicitWait, IsToldWithItsFunctionAndDevice) {
  auto set = simulated<decltype(devsan_sim_set_wait_observer)>("devsan_sim_set_wait_observer");
  observed.clear();
  set([](const char *function, int index, std::uint64_t) {
    observed.emplace_back(function, index);
  });
  c10::impl::VirtualGuardImpl guard(torch::kCUDA);
  c10::Stream stream = guard.getStream(kSecond);
  c10::Event event(torch::kCUDA);
  event.record(stream);
  torch::cuda::synchronize(1);
  stream.synchronize();
  event.synchronize();
  torch::ones({2}, kSecond).sum().item<float>(); // an operator
  set(nullptr);
  const std::vector<std::pair<std::string, int>> expected = {
      {"cudaDeviceSynchronize", 1}, {"cudaStreamSynchronize", 1}, {"cudaEventSynchronize", 1}};
  EXPECT_EQ(observed, expected);
}

} // namespace
