// torch::nn::parallel::data_parallel and what it is made of, in a program built as users build it:
// against a CPU LibTorch and DevSan::cuda_api. Run by ctest as `devsan run --sim=2` would.
#include <torch/torch.h>

#include <c10/cuda/CUDAGuard.h>
#include <torch/nn/parallel/data_parallel.h>

#include <gtest/gtest.h>

namespace {

torch::Device cuda(int index) {
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(index)};
}

struct NetImpl : torch::nn::Cloneable<NetImpl> {
  NetImpl() { reset(); }
  void reset() override {
    first = register_module("first", torch::nn::Linear(4, 8));
    second = register_module("second", torch::nn::Linear(8, 2));
  }
  torch::Tensor forward(torch::Tensor x) { return second(torch::relu(first(x))); }
  torch::nn::Linear first = nullptr, second = nullptr;
};
TORCH_MODULE(Net);

TEST(DataParallel, EqualsTheCpu) {
  torch::manual_seed(0);
  Net net;
  Net reference(std::dynamic_pointer_cast<NetImpl>(net->clone()));
  net->to(cuda(0));
  for (int64_t batch : {6, 5, 1}) {
    net->zero_grad();
    reference->zero_grad();
    auto x = torch::randn({batch, 4});
    auto expected = reference->forward(x);
    auto result = torch::nn::parallel::data_parallel(net, x.to(cuda(0)));
    EXPECT_EQ(result.device(), cuda(0));
    EXPECT_TRUE(torch::allclose(result.cpu(), expected, 1e-5, 1e-6));
    expected.square().sum().backward();
    result.square().sum().backward();
    for (const auto &parameter : net->named_parameters()) {
      EXPECT_EQ(parameter->grad().device(), cuda(0)) << parameter.key();
      EXPECT_TRUE(torch::allclose(parameter->grad().cpu(),
                                  reference->named_parameters()[parameter.key()].grad(), 1e-4,
                                  1e-5))
          << parameter.key();
    }
  }
}

TEST(DataParallel, PutsTheOutputWhereAsked) {
  Net net;
  net->to(cuda(0));
  auto result =
      torch::nn::parallel::data_parallel(net, torch::ones({4, 4}, cuda(0)), std::nullopt, cuda(1));
  EXPECT_EQ(result.device(), cuda(1));
}

TEST(ScatterAndGather, CarryTheGraph) {
  auto x = torch::arange(10., torch::device(cuda(0))).view({5, 2}).requires_grad_();
  auto parts = torch::autograd::Scatter({cuda(0), cuda(1)}).apply({x});
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[1].device(), cuda(1));
  EXPECT_EQ(parts[0].size(0), 3);
  auto whole = torch::autograd::Gather(cuda(1)).apply({parts[0] * 2, parts[1] * 3}).front();
  EXPECT_EQ(whole.device(), cuda(1));
  whole.sum().backward();
  EXPECT_EQ(x.grad().sum().item<float>(), 2 * 6 + 3 * 4);
}

TEST(ScatterAndGather, CarryTheGraphOfScalars) {
  auto a = torch::ones({}, torch::device(cuda(0)).requires_grad(true));
  auto b = torch::ones({}, torch::device(cuda(1)).requires_grad(true));
  auto whole = torch::autograd::Gather(cuda(0)).apply({a, b}).front();
  EXPECT_EQ(whole.sizes(), (std::vector<int64_t>{2}));
  (whole * torch::tensor({1.f, 5.f}, cuda(0))).sum().backward();
  EXPECT_EQ(b.grad().item<float>(), 5);
  EXPECT_EQ(b.grad().dim(), 0);
}

TEST(ScatterAndGather, RefuseWhatLibTorchRefuses) {
  auto refusal = [](auto call) {
    try {
      call();
    } catch (const c10::Error &error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string("nothing refused");
  };
  EXPECT_EQ(refusal([] { torch::autograd::Gather(cuda(0)).apply({torch::ones({1})}); }),
            "All inputs to Gather must be CUDA tensors, got CPUFloatType");
  EXPECT_EQ(refusal([] { torch::autograd::Scatter({}).apply({torch::ones({1})}); }),
            "Expected at least one device to scatter to");
}

TEST(Streams, AreThoseOfTheSimulatedDevices) {
  EXPECT_EQ(c10::cuda::device_count(), 2);
  auto stream = c10::cuda::getStreamFromPool(false, 1);
  auto before = c10::cuda::getCurrentCUDAStream(1);
  EXPECT_NE(stream, before);
  {
    c10::cuda::CUDAStreamGuard guard(stream);
    EXPECT_EQ(c10::cuda::current_device(), 1);
    EXPECT_EQ(at::cuda::getCurrentCUDAStream(), stream);
    EXPECT_EQ(torch::ones({1}, torch::kCUDA).device(), cuda(1));
  }
  EXPECT_EQ(c10::cuda::getCurrentCUDAStream(1), before);
  c10::cuda::CUDAGuard guard(1);
  EXPECT_EQ(c10::cuda::current_device(), 1);
  EXPECT_EQ(guard.original_device(), cuda(0));
}

TEST(Streams, AreGuardedWhereThereIsOne) {
  const auto before = c10::cuda::getCurrentCUDAStream(1);
  const auto first = c10::cuda::getStreamFromPool(false, 0);
  const auto second = c10::cuda::getStreamFromPool(false, 1);
  {
    c10::cuda::OptionalCUDAStreamGuard guard;
    EXPECT_FALSE(guard.current_stream());
    guard.reset_stream(second);
    EXPECT_EQ(c10::cuda::current_device(), 1);
    EXPECT_EQ(guard.current_stream(), second);
    guard.reset_stream(first);
    EXPECT_EQ(c10::cuda::current_device(), 0);
    EXPECT_EQ(c10::cuda::getCurrentCUDAStream(1), before);
    guard.reset();
    EXPECT_FALSE(guard.current_stream());
  }
  {
    c10::cuda::CUDAMultiStreamGuard guard({first, second});
    EXPECT_EQ(c10::cuda::current_device(), 0);
    EXPECT_EQ(c10::cuda::getCurrentCUDAStream(0), first);
    EXPECT_EQ(c10::cuda::getCurrentCUDAStream(1), second);
  }
  EXPECT_NE(c10::cuda::getCurrentCUDAStream(0), first);
  EXPECT_EQ(c10::cuda::getCurrentCUDAStream(1), before);
}

TEST(Streams, OfOthersKeepTheirHandle) {
  c10::cuda::CUDAGuard device(1);
  cudaStream_t handle = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), cudaSuccess);
  const auto stream = c10::cuda::getStreamFromExternal(handle, 1);
  EXPECT_EQ(stream.stream(), handle);
  EXPECT_EQ(stream.device(), cuda(1));
  EXPECT_EQ(stream, c10::cuda::getStreamFromExternal(handle, 1));
  torch::Tensor sum;
  {
    c10::cuda::CUDAStreamGuard guard(stream);
    EXPECT_EQ(at::cuda::getCurrentCUDAStream().stream(), handle);
    sum = torch::ones({3}, torch::kCUDA).sum();
  }
  stream.synchronize();
  EXPECT_TRUE(stream.query());
  EXPECT_EQ(sum.item<float>(), 3);
  const auto pooled = c10::cuda::getStreamFromPool(false, 1);
  EXPECT_EQ(c10::cuda::getStreamFromExternal(pooled.stream(), 1).stream(), pooled.stream());
  EXPECT_EQ(cudaStreamDestroy(handle), cudaSuccess);
}

} // namespace
