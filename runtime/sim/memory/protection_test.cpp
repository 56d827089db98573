// Host code that touches device memory: it is told, it goes on, and nothing else is disturbed.
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/sim/api/observers.h"

namespace {

const at::Device kSecond(at::kCUDA, 1);

thread_local std::vector<DevSanHostAccess> accesses;

void observe(const DevSanHostAccess *access) {
  accesses.push_back(*access);
}

class Protection : public testing::Test {
protected:
  void SetUp() override {
    set_ = reinterpret_cast<decltype(set_)>(
        dlsym(RTLD_DEFAULT, "devsan_sim_set_host_access_observer"));
    ASSERT_NE(set_, nullptr);
    set_(observe);
    accesses.clear();
  }
  void TearDown() override { set_(nullptr); }

  void (*set_)(DevSanHostAccessObserver) = nullptr;
};

TEST_F(Protection, TellsReadsAndWritesAndGoesOn) {
  at::Tensor tensor = at::arange(4, at::TensorOptions().dtype(at::kFloat).device(kSecond));
  auto *data = static_cast<volatile float *>(tensor.data_ptr());
  EXPECT_EQ(data[2], 2.0f);
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_EQ(accesses[0].address, const_cast<float *>(data + 2));
  EXPECT_EQ(accesses[0].block, tensor.data_ptr());
  EXPECT_EQ(accesses[0].offset, 8u);
  EXPECT_EQ(accesses[0].size, 16u);
  EXPECT_EQ(accesses[0].device, 1);
  EXPECT_EQ(accesses[0].kind, DEVSAN_SIM_READ);
  EXPECT_FALSE(accesses[0].freed);
  // Open until the next operator.
  data[3] = 9;
  EXPECT_EQ(accesses.size(), 1u);
  EXPECT_EQ(tensor.sum().item<float>(), 12.0f);
  data[0] = 1;
  ASSERT_EQ(accesses.size(), 2u);
  EXPECT_EQ(accesses[1].kind, DEVSAN_SIM_WRITE);
  EXPECT_EQ(tensor.sum().item<float>(), 13.0f);
}

TEST_F(Protection, KeepsEveryRegister) {
  at::Tensor tensor = at::ones({1024}, kSecond);
  auto *data = static_cast<const float *>(tensor.const_data_ptr());
  double sum = 0, weight = 1;
  for (int i = 0; i < 1024; ++i) {
    sum += weight * data[i];
    weight += 0.5;
  }
  EXPECT_EQ(sum, 1024 + 0.5 * 1023 * 1024 / 2);
  char copy[4096];
  tensor.add_(0);
  std::memcpy(copy, data, sizeof copy);
  EXPECT_EQ(std::memcmp(copy, data, sizeof copy), 0);
  EXPECT_EQ(accesses.size(), 2u);
}

TEST_F(Protection, KnowsFreedMemory) {
  at::Tensor tensor = at::ones({300}, kSecond);
  auto *data = static_cast<volatile float *>(tensor.data_ptr());
  tensor.reset();
  (void)data[1];
  ASSERT_EQ(accesses.size(), 1u);
  EXPECT_TRUE(accesses[0].freed);
}

TEST_F(Protection, SeesThreadsAtOnce) {
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 4; ++i)
    tensors.push_back(at::full({10000}, float(i), kSecond));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0}, seen{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        auto *data = static_cast<volatile float *>(tensors[i].data_ptr());
        wrong += data[9999] != float(i);
        tensors[i].add_(0);
      }
      seen += accesses.size() > 0;
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, 4);
}

TEST_F(Protection, WorksOnASmallSignalStack) {
  std::vector<char> memory(MINSIGSTKSZ + 16384);
  stack_t stack{}, before{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, &before);
  at::Tensor tensor = at::ones({4}, kSecond);
  EXPECT_EQ(*static_cast<volatile float *>(tensor.data_ptr()), 1.0f);
  EXPECT_EQ(accesses.size(), 1u);
  sigaltstack(&before, nullptr);
}

TEST_F(Protection, PointersTellTheirDevice) {
  at::Tensor tensor = at::ones({4}, kSecond);
  EXPECT_EQ(at::globalContext().getDeviceFromPtr(tensor.data_ptr(), at::kCUDA), kSecond);
  at::Tensor part = at::from_blob(static_cast<float *>(tensor.data_ptr()) + 1, {2},
                                  at::TensorOptions().device(kSecond));
  EXPECT_EQ(part.sum().item<float>(), 2.0f);
  part.fill_(3);
  EXPECT_EQ(tensor.sum().item<float>(), 8.0f);
  float host[2] = {};
  EXPECT_THROW(
      {
        try {
          at::from_blob(host, {2}, at::TensorOptions().device(at::kCUDA));
        } catch (const c10::Error &error) {
          EXPECT_NE(std::string(error.what()).find("resides on host memory and is not registered"),
                    std::string::npos);
          throw;
        }
      },
      c10::Error);
  EXPECT_TRUE(accesses.empty());
}

TEST_F(Protection, OperatorsAreNoHostCode) {
  at::Tensor a = at::randn({2, 3, 16, 16}, kSecond), w = at::randn({4, 3, 3, 3}, kSecond);
  a.requires_grad_();
  at::conv2d(a, w).relu().mean().backward();
  at::Tensor t = at::ones({2}, kSecond);
  t.resize_({4096});
  t.set_(t.storage(), 0, {10000}, {1});
  at::Tensor quantized = at::quantize_per_tensor(at::rand({8}, kSecond), 0.1, 2, at::kQUInt8);
  quantized.dequantize().sum().item<float>();
  at::randn({100, 100}, kSecond).matmul(at::randn({100, 100}, kSecond)).cpu();
  EXPECT_TRUE(accesses.empty());
}

// In a child: its exit status, or minus the signal that ended it.
template <typename Work> int inChild(Work work) {
  pid_t child = fork();
  if (child == 0)
    _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Protection, OtherFaultsAreDeadly) {
  at::ones({4}, kSecond);
  EXPECT_EQ(inChild([] {
              *static_cast<volatile int *>(nullptr) = 1;
              return 0;
            }),
            -SIGSEGV);
}

TEST_F(Protection, AForkedChildHasNoDeviceMemory) {
  at::Tensor tensor = at::ones({4}, kSecond);
  EXPECT_EQ(inChild([&] {
              try {
                tensor.add_(1);
              } catch (const c10::AcceleratorError &error) {
                return std::strstr(error.what(), "CUDA error: initialization error") ? 0 : 1;
              }
              return 2;
            }),
            0);
  EXPECT_EQ(inChild([&] {
              try {
                at::ones({1}, kSecond);
              } catch (const c10::AcceleratorError &) {
                return 0;
              }
              return 2;
            }),
            0);
  // Nor does what it destroys reach its parent.
  EXPECT_EQ(inChild([&] {
              tensor.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(tensor.sum().item<float>(), 4.0f);
}

} // namespace
