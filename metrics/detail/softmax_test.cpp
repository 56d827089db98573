#include "metrics/detail/softmax.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "test/support/values.h"

namespace devsan::metrics::detail {
namespace {

using test::values;

TEST(Softmax, EqualsATensInDoublePrecision) {
  at::manual_seed(1);
  for (const int64_t width : {1, 2, 7, 10, 33, 5000})
    for (const double scale : {0.1, 5., 60.}) {
      const at::Tensor x = at::randn({37, width}) * scale;
      const at::Tensor wide = x.to(at::kDouble);
      const auto p = values(softmax(x)), expected = values(wide.softmax(1));
      const auto log = values(log_softmax(x)), expected_log = values(wide.log_softmax(1));
      for (size_t i = 0; i < p.size(); ++i) {
        // float32 rounds the difference from the highest number already.
        EXPECT_NEAR(p[i], expected[i], 1e-6 * (1 + scale) * expected[i] + 1e-37)
            << width << " " << scale;
        EXPECT_NEAR(log[i], expected_log[i], 3e-7 * (1 + std::abs(expected_log[i])));
      }
    }
  EXPECT_EQ(softmax(at::zeros({0, 3})).sizes(), at::IntArrayRef({0, 3}));
  // Any layout.
  const at::Tensor x = at::randn({5, 40});
  EXPECT_TRUE(softmax(x.t()).allclose(x.t().softmax(1)));
}

TEST(Softmax, IsNaNWhereATensIs) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const at::Tensor x =
      at::tensor({0.f, -kInfinity, 1.f, 0.f, kInfinity, 1.f, -kInfinity, -kInfinity, -kInfinity,
                  NAN, 0.f, 1.f, 0.f, NAN, 1.f, 0.f, -300.f, -1000.f})
          .view({6, 3});
  EXPECT_TRUE(softmax(x).allclose(x.softmax(1), 1e-6, 1e-8, /*equal_nan=*/true));
  const at::Tensor log = log_softmax(x), expected = x.log_softmax(1);
  EXPECT_TRUE(log.isnan().any(1).equal(expected.isnan().any(1)));
  for (const int64_t row : {0, 5})
    EXPECT_TRUE(log[row].allclose(expected[row]));
}

} // namespace
} // namespace devsan::metrics::detail
