#include "metrics/functional/safe_divide.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

class SafeDivide : public test::DeviceTest {
protected:
  at::Tensor tensor(std::vector<double> numbers, at::ScalarType dtype = at::kFloat) const {
    return at::tensor(numbers, at::kDouble).to(device(), dtype);
  }
};
DEVSAN_DEVICE_SUITE(SafeDivide);

TEST_P(SafeDivide, FillsInWhereTheDenominatorIsZero) {
  const at::Tensor num = tensor({1, 2, 0, -3}), denom = tensor({0, 4, 0, -2});
  EXPECT_EQ(values(safe_divide(num, denom)), (std::vector<double>{0, 0.5, 0, 1.5}));
  EXPECT_EQ(values(safe_divide(num, denom, 1)), (std::vector<double>{1, 0.5, 1, 1.5}));
  EXPECT_TRUE(std::isnan(values(safe_divide(num, denom, NAN))[0]));
  EXPECT_EQ(safe_divide(num, denom).device(), num.device());
}

TEST_P(SafeDivide, ConvertsIntegersAndPromotesFloats) {
  EXPECT_EQ(safe_divide(tensor({1}, at::kLong), tensor({2}, at::kInt)).scalar_type(), at::kFloat);
  EXPECT_EQ(safe_divide(tensor({1}, at::kBool), tensor({2}, at::kFloat)).scalar_type(), at::kFloat);
  EXPECT_EQ(safe_divide(tensor({1}, at::kDouble), tensor({2}, at::kFloat)).scalar_type(),
            at::kDouble);
  EXPECT_EQ(safe_divide(tensor({1}, at::kHalf), tensor({2}, at::kHalf)).scalar_type(), at::kHalf);
  EXPECT_EQ(values(safe_divide(tensor({1}, at::kLong), tensor({2}, at::kLong)))[0], 0.5);
}

TEST_P(SafeDivide, BroadcastsBothWays) {
  const at::Tensor wide = tensor({1, 2, 3}), one = tensor({0});
  EXPECT_EQ(values(safe_divide(wide, one.squeeze(0), -1)), (std::vector<double>{-1, -1, -1}));
  EXPECT_EQ(values(safe_divide(tensor({6}).squeeze(0), tensor({0, 2, 3}))),
            (std::vector<double>{0, 3, 2}));
}

TEST_P(SafeDivide, HasAFiniteGradient) {
  const at::Tensor num = tensor({1, 2}).requires_grad_(), denom = tensor({0, 4}).requires_grad_();
  safe_divide(num, denom).sum().backward();
  EXPECT_EQ(values(num.grad()), (std::vector<double>{0, 0.25}));
  EXPECT_EQ(values(denom.grad()), (std::vector<double>{0, -0.125}));
}

TEST_P(SafeDivide, RefusesTensorsOfTwoDevices) {
  EXPECT_ERROR(safe_divide(tensor({1}), at::empty({}, at::kMeta)), "safe_divide", device().str(),
               "meta", ".to()");
}

TEST_P(SafeDivide, RunsOnMetaTensors) {
  EXPECT_EQ(safe_divide(at::empty({3}, at::kMeta), at::empty({3}, at::kMeta)).sizes(),
            at::IntArrayRef({3}));
}

class SafeDivideNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(SafeDivideNoSync);

TEST_P(SafeDivideNoSync, NeverWaitsForTheDevice) {
  const at::Tensor zero = at::zeros({4}, at::TensorOptions().device(device()));
  const devsan::ExpectNoSync no_sync;
  for (int step = 0; step < 3; ++step)
    EXPECT_EQ(safe_divide(zero, zero, 1).device(), device());
}

} // namespace
} // namespace devsan::metrics
