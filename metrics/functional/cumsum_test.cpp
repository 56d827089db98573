#include "metrics/functional/cumsum.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

class DeterministicMode {
public:
  explicit DeterministicMode(bool on) : before_(at::globalContext().deterministicAlgorithms()) {
    at::globalContext().setDeterministicAlgorithms(on, /*warn_only=*/false);
  }
  ~DeterministicMode() {
    at::globalContext().setDeterministicAlgorithms(before_, /*warn_only=*/false);
  }

private:
  bool before_;
};

std::vector<double> running_sums(const std::vector<double> &terms) {
  std::vector<double> sums;
  long double sum = 0;
  for (const double term : terms)
    sums.push_back(static_cast<double>(sum += term));
  return sums;
}

void expect_near(const std::vector<double> &actual, const std::vector<double> &expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "at " << i;
}

class Cumsum : public test::DeviceTest {};
DEVSAN_DEVICE_SUITE(Cumsum);

TEST_P(Cumsum, SumsAlongTheLastDimensionInBothModes) {
  for (const bool deterministic : {false, true}) {
    const DeterministicMode mode(deterministic);
    const at::Tensor x = at::randn({1000}).to(device());
    const at::Tensor sums = metrics::cumsum(x, 0);
    EXPECT_EQ(sums.device(), x.device());
    EXPECT_EQ(sums.scalar_type(), at::kFloat);
    expect_near(values(sums), running_sums(values(x)), 1e-3);
  }
}

TEST_P(Cumsum, SumsAlongAnInnerDimensionAndANegativeOne) {
  const at::Tensor x = at::randn({3, 5, 2}, at::kDouble).to(device());
  const at::Tensor sums = metrics::cumsum(x, 1);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t k = 0; k < 2; ++k)
      expect_near(values(sums.select(2, k).select(0, i)),
                  running_sums(values(x.select(2, k).select(0, i))), 1e-12);
  EXPECT_TRUE(at::equal(metrics::cumsum(x, -2), sums));
}

TEST_P(Cumsum, GivesTheSameBitsEveryTimeInDeterministicMode) {
  const DeterministicMode mode(true);
  const at::Tensor x = at::randn({10007}).to(device());
  const at::Tensor first = metrics::cumsum(x, 0);
  for (int repeat = 0; repeat < 5; ++repeat)
    EXPECT_TRUE(at::equal(metrics::cumsum(x, 0), first));
}

TEST_P(Cumsum, KeepsHalfPrecisionButAddsInFloat) {
  // In half, 2048 + 1 is 2048: a sum kept in half would stay there.
  const at::Tensor sums =
      metrics::cumsum(at::ones({4096}, at::TensorOptions().dtype(at::kHalf).device(device())), 0);
  EXPECT_EQ(sums.scalar_type(), at::kHalf);
  EXPECT_EQ(values(sums).back(), 4096);
  EXPECT_EQ(metrics::cumsum(at::ones({3}, at::kBFloat16), 0).scalar_type(), at::kBFloat16);
}

TEST_P(Cumsum, WidensIntegersAndTakesADtype) {
  const at::Tensor x = at::ones({5}, at::TensorOptions().dtype(at::kInt).device(device()));
  EXPECT_EQ(metrics::cumsum(x, 0).scalar_type(), at::kLong);
  EXPECT_EQ(metrics::cumsum(x, 0, at::kDouble).scalar_type(), at::kDouble);
  EXPECT_EQ(values(metrics::cumsum(x, 0)).back(), 5);
}

TEST_P(Cumsum, TakesScalarsAndEmptyTensors) {
  EXPECT_EQ(metrics::cumsum(at::full({}, 2.).to(device()), 0).dim(), 0);
  EXPECT_EQ(metrics::cumsum(at::empty({0}).to(device()), 0).numel(), 0);
}

TEST_P(Cumsum, KeepsTheDtypeUnderAutocast) {
  const auto type = device().type();
  const bool before = at::autocast::is_autocast_enabled(type);
  at::autocast::set_autocast_enabled(type, true);
  const at::Tensor sums =
      metrics::cumsum(at::ones({8}, at::TensorOptions().dtype(at::kHalf).device(device())), 0);
  at::autocast::set_autocast_enabled(type, before);
  EXPECT_EQ(sums.scalar_type(), at::kHalf);
}

TEST_P(Cumsum, HasTheGradientOfTheSum) {
  const at::Tensor x = at::randn({6}, at::kDouble).to(device()).requires_grad_();
  const at::Tensor weight = at::randn({6}, at::kDouble).to(device());
  (metrics::cumsum(x, 0) * weight).sum().backward();
  std::vector<double> reversed = values(weight);
  std::reverse(reversed.begin(), reversed.end());
  std::vector<double> expected = running_sums(reversed);
  std::reverse(expected.begin(), expected.end());
  expect_near(values(x.grad()), expected, 1e-12);
}

TEST_P(Cumsum, DoublingScanIsAScan) {
  for (const int64_t length : {0, 1, 2, 3, 7, 8, 9, 1000}) {
    const at::Tensor x = at::randn({length}, at::kDouble).to(device());
    expect_near(values(detail::doubling_scan(x, 0)), running_sums(values(x)), 1e-11);
  }
  const at::Tensor x = at::randn({4, 5, 3}, at::kDouble).to(device());
  EXPECT_TRUE(at::allclose(detail::doubling_scan(x, 1), at::cumsum(x, 1)));
  EXPECT_EQ(detail::doubling_scan(at::ones({}), 0).dim(), 0);
}

TEST_P(Cumsum, DoublingScanRoundsLittle) {
  // 2^20 terms of 0.1 in float32: the bound is 20 eps relative, a sequential float32 scan is off by
  // 1e-2.
  const at::Tensor x =
      at::full({1 << 20}, 0.1, at::TensorOptions().dtype(at::kFloat).device(device()));
  const double exact = static_cast<double>(0.1f) * (1 << 20);
  EXPECT_NEAR(values(detail::doubling_scan(x, 0)).back(), exact, exact * 20 * 6e-8);
}

class CumsumNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(CumsumNoSync);

TEST_P(CumsumNoSync, NeverWaitsForTheDevice) {
  const at::Tensor x = at::ones({100}, at::TensorOptions().device(device()));
  const devsan::ExpectNoSync no_sync;
  for (const bool deterministic : {false, true}) {
    const DeterministicMode mode(deterministic);
    EXPECT_EQ(metrics::cumsum(x, 0).device(), device());
    EXPECT_EQ(detail::doubling_scan(x, 0).device(), device());
  }
}

} // namespace
} // namespace devsan::metrics
