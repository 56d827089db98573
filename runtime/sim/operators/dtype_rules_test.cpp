// Dtypes that CUDA has no kernel for are refused with CUDA's words.
#include <gtest/gtest.h>
#include <torch/torch.h>

namespace {

const at::Device kSecond(at::kCUDA, 1);

template <typename Function> std::string errorOf(Function function) {
  try {
    function();
  } catch (const c10::Error &error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

TEST(DtypeRules, ProductsOfIntegersNeedTheCpu) {
  at::Tensor host = at::ones({2, 2}, at::kLong), device = host.to(kSecond);
  EXPECT_EQ(errorOf([&] { host.mm(host); }), "no error");
  EXPECT_EQ(errorOf([&] { device.mm(device); }), "\"addmm_cuda\" not implemented for 'Long'");
  EXPECT_EQ(errorOf([&] { at::matmul(device, device[0]); }),
            "\"addmv_impl_cuda\" not implemented for 'Long'");
  EXPECT_EQ(errorOf([&] { device[0].dot(device[0]); }), "\"dot\" not implemented for 'Long'");
  EXPECT_EQ(errorOf([&] { at::bmm(device.unsqueeze(0), device.unsqueeze(0)); }),
            "\"baddbmm_cuda\" not implemented for 'Long'");
}

TEST(DtypeRules, NothingToComputeIsNotRefused) {
  at::Tensor empty = at::ones({0, 2}, at::TensorOptions(kSecond).dtype(at::kLong));
  EXPECT_EQ(empty.mm(at::ones({2, 2}, empty.options())).size(0), 0);
}

TEST(DtypeRules, ReductionsOfBooleansAndComplexNumbersOtherThanSums) {
  at::Tensor flags = at::ones({3}, at::TensorOptions(kSecond).dtype(at::kBool));
  at::Tensor index = at::arange(3, kSecond);
  EXPECT_EQ(errorOf([&] { flags.scatter_reduce(0, index, flags, "sum"); }), "no error");
  EXPECT_EQ(errorOf([&] { flags.scatter_reduce(0, index, flags, "amax"); }),
            "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'Bool'");
  at::Tensor complex = flags.to(at::kComplexFloat);
  EXPECT_EQ(errorOf([&] { complex.scatter_reduce(0, index, complex, "sum"); }), "no error");
  EXPECT_EQ(errorOf([&] { complex.scatter_reduce(0, index, complex, "mean"); }),
            "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'");
  EXPECT_EQ(errorOf([&] { complex.scatter(0, index, complex); }), "no error");
  EXPECT_EQ(errorOf([&] { complex.scatter(0, index, complex, "add"); }), "no error");
  EXPECT_EQ(errorOf([&] { complex.scatter_(0, index, complex, "multiply"); }),
            "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'ComplexFloat'");
  EXPECT_EQ(errorOf([&] { complex.scatter(0, index, 2, "multiply"); }),
            "\"cuda_scatter_fill_base_kernel_reduce_multiply\" not implemented for 'ComplexFloat'");
}

TEST(DtypeRules, SixteenBitsAreComputedWiderAndRoundedOnce) {
  at::manual_seed(0);
  for (at::ScalarType dtype : {at::kHalf, at::kBFloat16}) {
    const auto options = at::TensorOptions(kSecond).dtype(dtype);
    const at::Tensor image = at::randn({2, 4, 6, 6}, options),
                     grid = at::rand({2, 3, 3, 2}, options);
    EXPECT_TRUE(at::equal(
        at::grid_sampler(image, grid, 0, 0, false),
        at::grid_sampler(image.to(at::kFloat), grid.to(at::kFloat), 0, 0, false).to(dtype)));
    const at::Tensor weight = at::randn({4}, options), bias = at::randn({4}, options);
    const at::Tensor running = at::ones({4}, options);
    auto normal = [&](at::ScalarType of) {
      return at::batch_norm(image, weight.to(of), bias.to(of), running.to(of).clone(),
                            running.to(of).clone(), true, 0.1, 1e-5, false);
    };
    const at::Tensor a = at::randn({9, 50}, options), b = at::randn({50, 7}, options);
    EXPECT_TRUE(at::equal(a.mm(b), a.to(at::kFloat).mm(b.to(at::kFloat)).to(dtype)));
    const at::Tensor out = at::empty({0}, options);
    at::Tensor written = out;
    EXPECT_TRUE(at::mm_out(written, a, b).is_same(out) && at::equal(out, a.mm(b)));
    EXPECT_EQ(normal(dtype).scalar_type(), dtype);
    EXPECT_TRUE(at::equal(normal(dtype), normal(at::kFloat)));
    const at::Tensor mean = at::zeros({4}, options), variance = at::ones({4}, options);
    at::batch_norm(image, {}, {}, mean, variance, true, 1, 1e-5, false);
    EXPECT_TRUE(at::equal(mean, image.to(at::kFloat).mean({0, 2, 3}).to(dtype)));
    EXPECT_TRUE(at::equal(variance, image.to(at::kFloat).var({0, 2, 3}).to(dtype)));
    const auto asInference = [](const at::Tensor &tensor) {
      const c10::InferenceMode on;
      return tensor.clone();
    };
    const at::Tensor mean_of_inference = asInference(at::zeros({4}, options));
    at::batch_norm(image, {}, {}, mean_of_inference, asInference(variance), true, 1, 1e-5, false);
    EXPECT_TRUE(at::equal(mean_of_inference, mean));
    EXPECT_EQ(std::get<1>(
                  at::native_batch_norm(image, weight.to(at::kFloat), {}, {}, {}, true, 0.1, 1e-5))
                  .scalar_type(),
              at::kFloat);
  }
}

TEST(DtypeRules, ConvolutionSpeaksForCudnn) {
  at::Tensor image = at::ones({1, 1, 3, 3}, at::TensorOptions(kSecond).dtype(at::kLong));
  EXPECT_EQ(errorOf([&] { at::conv2d(image, image); }),
            "getCudnnDataTypeFromScalarType() not supported for Long");
}

} // namespace
