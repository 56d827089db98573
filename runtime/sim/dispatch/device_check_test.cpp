// Which operands may differ in device, and ATen's words for those that may not.
#include <dlfcn.h>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "runtime/sim/api/observers.h"

namespace {

const at::Device kFirst(at::kCUDA, 0), kSecond(at::kCUDA, 1);

template <typename Function> std::string errorOf(Function function) {
  try {
    function();
  } catch (const c10::Error &error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

class DeviceCheck : public testing::Test {
protected:
  at::Tensor host = at::ones({2, 2});
  at::Tensor first = at::ones({2, 2}, kFirst);
  at::Tensor second = at::ones({2, 2}, kSecond);
  at::Tensor host_index = at::tensor({1, 0});
};

TEST_F(DeviceCheck, OperatorsWithACommonDeviceCheckNameTheArgument) {
  EXPECT_EQ(errorOf([&] { at::addmm(host, second, second); }),
            "Expected all tensors to be on the same device, but got mat1 is on cuda:1, different "
            "from other tensors on "
            "cpu (when checking argument in method wrapper_CUDA_addmm)");
  EXPECT_EQ(errorOf([&] { at::linear(first, second); }),
            "Expected all tensors to be on the same device, but got mat2 is on cuda:1, different "
            "from other tensors on "
            "cuda:0 (when checking argument in method wrapper_CUDA_mm)");
  EXPECT_EQ(errorOf([&] { at::cat({first, host}); }),
            "Expected all tensors to be on the same device, but got tensors is on cpu, different "
            "from other tensors on "
            "cuda:0 (when checking argument in method wrapper_CUDA_cat)");
  EXPECT_EQ(errorOf([&] { first.index_select(0, host_index); }),
            "Expected all tensors to be on the same device, but got index is on cpu, different "
            "from other tensors on "
            "cuda:0 (when checking argument in method wrapper_CUDA__index_select)");
}

TEST_F(DeviceCheck, ConvolutionSaysTypes) {
  at::Tensor input = at::ones({1, 1, 3, 3}, kSecond), weight = at::ones({1, 1, 3, 3});
  EXPECT_EQ(errorOf([&] { at::conv2d(input, weight); }),
            "Input type (CUDAFloatType) and weight type (CPUFloatType) should be the same");
  EXPECT_EQ(errorOf([&] { at::conv2d(input.cpu(), weight.to(kSecond)); }),
            "Expected all tensors to be on the same device, but got weight is on cuda:1, different "
            "from other tensors on "
            "cpu (when checking argument in method wrapper_CUDA___slow_conv2d_forward)");
  EXPECT_EQ(errorOf([&] { at::conv2d(input, weight.to(kFirst)); }),
            "Expected all tensors to be on the same device, but got weight is on cuda:0, different "
            "from other tensors on "
            "cuda:1 (when checking argument in method wrapper_CUDA__cudnn_convolution)");
}

TEST_F(DeviceCheck, OutputsAreCheckedFirst) {
  at::Tensor out = at::empty({2, 2});
  EXPECT_EQ(errorOf([&] { at::mm_out(out, first, first); }),
            "Expected all tensors to be on the same device, but got self is on cuda:0, different "
            "from other tensors on "
            "cpu (when checking argument in method wrapper_CUDA_mm_out_out)");
}

TEST_F(DeviceCheck, IteratorOperatorsNameBothDevices) {
  const std::string first_and_host = "Expected all tensors to be on the same device, but found at "
                                     "least two devices, cuda:0 and cpu!";
  EXPECT_EQ(errorOf([&] { first + host; }), first_and_host);
  EXPECT_EQ(errorOf([&] { host + first; }), first_and_host);
  EXPECT_EQ(errorOf([&] { first.mul_(host); }), first_and_host);
  EXPECT_EQ(errorOf([&] { at::where(first > 0, first, host); }), first_and_host);
  EXPECT_EQ(errorOf([&] { first + second; }), "Expected all tensors to be on the same device, but "
                                              "found at least two devices, cuda:0 and cuda:1!");
}

TEST_F(DeviceCheck, ShapesComeBeforeDevicesInIteratorOperators) {
  EXPECT_NE(errorOf([&] { first + at::ones({3}); }).find("must match the size"), std::string::npos);
}

TEST_F(DeviceCheck, ScalarsOnTheCpuAreTaken) {
  at::Tensor scalar = at::scalar_tensor(3.0);
  EXPECT_EQ((second + scalar).device(), kSecond);
  EXPECT_EQ((scalar * second).device(), kSecond);
  EXPECT_EQ(at::where(second > 0, scalar, second).device(), kSecond);
  second.fill_(scalar);
  EXPECT_EQ(second.sum().item<float>(), 12.0f);
}

TEST_F(DeviceCheck, ScalarsOfAnotherGpuAreNot) {
  EXPECT_NE(errorOf([&] { second + at::scalar_tensor(3.0, kFirst); }), "no error");
}

TEST_F(DeviceCheck, IndicesMayStayOnTheCpu) {
  EXPECT_EQ(second.index({host_index}).device(), kSecond);
  second.index_put_({host_index}, at::zeros({2, 2}, kSecond));
  EXPECT_EQ(second.sum().item<float>(), 0.0f);
  EXPECT_EQ(errorOf([&] { host.index({host_index.to(kFirst)}); }),
            "indices should be either on cpu or on the same device as the indexed tensor (cpu)");
}

TEST_F(DeviceCheck, ValuesOfIndexPutAreScalarsOrBesideTheTensor) {
  at::Tensor index = host_index.to(kSecond), mask = (at::arange(2) == 0).to(kSecond);
  second.index_put_({index}, at::scalar_tensor(2.0));
  second.index_put_({mask}, at::ones({1}));
  EXPECT_EQ(second.sum().item<float>(), 6.0f);
  EXPECT_EQ(errorOf([&] { second.index_put_({index}, at::ones({2})); }),
            "Expected all tensors to be on the same device, but found at least two devices, cuda:1 "
            "and cpu!");
  EXPECT_EQ(errorOf([&] { second.index_put_({index}, at::ones({2}), true); }),
            "expected device cuda:1 but got device cpu for value tensor");
}

TEST_F(DeviceCheck, ScalarsGivenAsTensorsAreRead) {
  at::Tensor scalar = at::scalar_tensor(3.0, kFirst);
  EXPECT_EQ(host.fill_(scalar).device(), at::Device(at::kCPU));
  EXPECT_EQ(host.sum().item<float>(), 12.0f);
  second.fill_(scalar);
  EXPECT_EQ(second.sum().item<float>(), 12.0f);
  EXPECT_EQ(host.index_fill(0, host_index.to(at::kLong), scalar).device(), at::Device(at::kCPU));
  EXPECT_EQ(second.masked_fill(second > 0, at::scalar_tensor(1.0)).device(), kSecond);
  EXPECT_EQ(at::where(second > 0, scalar, second).device(), kSecond);
}

TEST_F(DeviceCheck, KernelsThatCheckByThemselvesHaveTheirOwnWords) {
  EXPECT_EQ(errorOf([&] { second.masked_fill_(host > 0, 1.0); }),
            "expected self and mask to be on same device, but got mask on cpu and self on cuda:1");
  EXPECT_EQ(errorOf([&] { second.index_fill_(0, host_index, 1.0); }),
            "index_fill_(): self and index value tensors should have same device type, but got "
            "self tensor device type cuda:1 and index value tensor device type cpu");
  EXPECT_EQ(
      errorOf([&] { at::searchsorted(second[0], second, false, false, std::nullopt, host_index); }),
      "torch.searchsorted(): sorter and boundary tensors should have same device type, but "
      "got sorter tensor device type cpu and input value tensor device type cuda:1");
}

TEST_F(DeviceCheck, OutputsAreNoScalars) {
  at::Tensor out = at::scalar_tensor(0.0), scalar = at::scalar_tensor(2.0, kSecond);
  EXPECT_NE(errorOf([&] { at::abs_out(out, scalar); }), "no error");
  EXPECT_NE(errorOf([&] { at::logical_and_out(out, scalar, scalar); }), "no error");
}

TEST_F(DeviceCheck, CopiesCrossDevices) {
  first.copy_(second * 5);
  host.copy_(first);
  EXPECT_EQ(host.sum().item<float>(), 20.0f);
}

TEST_F(DeviceCheck, ObserverSeesTheOperandsBeforeTheError) {
  static std::string seen;
  seen.clear();
  auto set_observer = reinterpret_cast<void (*)(DevSanMismatchObserver)>(
      dlsym(RTLD_DEFAULT, "devsan_sim_set_mismatch_observer"));
  ASSERT_NE(set_observer, nullptr);
  set_observer([](const char *op, const at::Tensor *const *operands, const char *const *names,
                  std::size_t count, const char *message) {
    seen = op;
    for (std::size_t i = 0; i < count; ++i)
      seen += " " + std::string(names[i]) + "@" + operands[i]->device().str();
    seen += std::string(": ") + message;
  });
  std::string message = errorOf([&] { first + host; });
  set_observer(nullptr);
  EXPECT_EQ(seen, "aten::add self@cuda:0 other@cpu: " + message);
}

TEST_F(DeviceCheck, InvalidOrdinals) {
  EXPECT_EQ(errorOf([&] { host.to(at::Device(at::kCUDA, 9)); }).substr(0, 34),
            "CUDA error: invalid device ordinal");
  EXPECT_EQ(errorOf([&] { at::empty({1}, at::Device(at::kCUDA, 2)); }).substr(0, 34),
            "CUDA error: invalid device ordinal");
}

} // namespace
