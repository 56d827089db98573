#include "metrics/detail/wide.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/values.h"

namespace devsan::metrics::detail {
namespace {

using test::values;

class WideArithmetic : public test::DeviceTest {
protected:
  // Random numbers of 46 bits, as a pair and as the float64 they stand for.
  std::pair<Wide, at::Tensor> random(double scale) const {
    const at::Tensor high = (at::randn({1000}) * scale).to(device());
    const at::Tensor low = high * (at::rand({1000}) - 0.5).to(device()) * 5e-8;
    return {Wide::from_sum(high, low, Accumulation::kFloatPair),
            high.to(at::kDouble) + low.to(at::kDouble)};
  }

  static double worst_relative_error(const Wide &actual, const at::Tensor &expected) {
    const at::Tensor value = actual.to_state().to(at::kDouble).sum(0);
    return values(((value - expected) / expected).abs().max())[0];
  }
};
DEVSAN_DEVICE_SUITE(WideArithmetic);

TEST_P(WideArithmetic, PairsKeepFortySixBits) {
  const auto [a, a_exact] = random(3);
  const auto [b, b_exact] = random(1e4);
  EXPECT_LT(worst_relative_error(a * b, a_exact * b_exact), 3e-14);
  EXPECT_LT(worst_relative_error(a / b, a_exact / b_exact), 3e-14);
  EXPECT_LT(worst_relative_error(a * a + b * b, a_exact * a_exact + b_exact * b_exact), 3e-14);
}

TEST_P(WideArithmetic, SumsKeepWhatCancels) {
  const auto format = Accumulation::kFloatPair;
  const auto on = at::TensorOptions().device(device());
  const Wide large = Wide::from(at::full({1}, 1e6f, on), format);
  const Wide small = Wide::from(at::full({1}, 1e-3f, on), format);
  EXPECT_FLOAT_EQ(values(((large + small) - large).rounded())[0], 1e-3f);
}

TEST_P(WideArithmetic, HoldsLargeCountsExactly) {
  const int64_t count = (int64_t{1} << 40) + 12345;
  const Wide wide =
      Wide::from(at::full({1}, count, at::TensorOptions().dtype(at::kLong).device(device())),
                 Accumulation::kFloatPair);
  EXPECT_EQ(values(wide.to_state().to(at::kDouble).sum())[0], static_cast<double>(count));
}

TEST_P(WideArithmetic, SurvivesTheTripThroughAState) {
  for (const Accumulation format : {Accumulation::kDouble, Accumulation::kFloatPair}) {
    const Wide wide = Wide::from_sum(at::ones({3}, base_dtype(format)).to(device()),
                                     at::full({3}, 1e-9, base_dtype(format)).to(device()), format);
    EXPECT_TRUE(at::equal(Wide::from_state(wide.to_state()).to_state(), wide.to_state()));
    EXPECT_EQ(wide.to_state().size(0), format == Accumulation::kDouble ? 1 : 2);
  }
}

} // namespace
} // namespace devsan::metrics::detail
