// What the simulator does not define is refused by its own name, whatever its place among the
// imports.
#include <cublas_v2.h>
#include <curand.h>
#include <cusparse.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

namespace {

template <typename Call> void expectRefused(int status, const char *name, Call call) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(static_cast<int>(call()), status);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string("devsan: not simulated: ") + name + "\n");
}

TEST(Imports, AreRefusedByName) {
  // The last one and others, twice: a refusal is not kept.
  for (int i = 0; i < 2; ++i) {
    expectRefused(15, "cublasAsumEx", [] {
      return cublasAsumEx(nullptr, 0, nullptr, CUDA_R_32F, 0, nullptr, CUDA_R_32F, CUDA_R_32F);
    });
    expectRefused(203, "curandGenerateUniform",
                  [] { return curandGenerateUniform(nullptr, nullptr, 0); });
    expectRefused(10, "cusparseXcoo2csr", [] {
      return cusparseXcoo2csr(nullptr, nullptr, 0, 0, nullptr, CUSPARSE_INDEX_BASE_ZERO);
    });
    expectRefused(3, "nvrtcVersion", [] { return nvrtcVersion(nullptr, nullptr); });
  }
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_SUCCESS), "not simulated");
}

} // namespace
