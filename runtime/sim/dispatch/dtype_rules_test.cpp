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
}

TEST(DtypeRules, ConvolutionSpeaksForCudnn) {
  at::Tensor image = at::ones({1, 1, 3, 3}, at::TensorOptions(kSecond).dtype(at::kLong));
  EXPECT_EQ(errorOf([&] { at::conv2d(image, image); }),
            "getCudnnDataTypeFromScalarType() not supported for Long");
}

} // namespace
