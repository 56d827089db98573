#include "metrics/image/frechet_inception_distance.h"

#include <cmath>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Matrix = std::vector<std::vector<double>>;
using FID = FrechetInceptionDistance;
using FIDOptions = FrechetInceptionDistanceOptions;

Matrix product(const Matrix &a, const Matrix &b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < b[0].size(); ++j)
      for (size_t k = 0; k < b.size(); ++k)
        c[i][j] += a[i][k] * b[k][j];
  return c;
}

Matrix inverse(Matrix a) {
  const size_t n = a.size();
  for (size_t i = 0; i < n; ++i) {
    a[i].resize(2 * n);
    a[i][n + i] = 1;
  }
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t r = i; r < n; ++r)
      pivot = std::abs(a[r][i]) > std::abs(a[pivot][i]) ? r : pivot;
    std::swap(a[i], a[pivot]);
    for (size_t r = 0; r < n; ++r)
      for (size_t c = 2 * n; r != i && c-- > i;)
        a[r][c] -= a[r][i] / a[i][i] * a[i][c];
    for (size_t c = 2 * n; c-- > i;)
      a[i][c] /= a[i][i];
  }
  for (auto &row : a)
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
  return a;
}

// The trace of the square root, by Denman and Beavers's iteration.
double root_trace(Matrix y) {
  Matrix z(y.size(), std::vector<double>(y.size()));
  for (size_t i = 0; i < y.size(); ++i)
    z[i][i] = 1;
  for (int step = 0; step < 60; ++step) {
    const Matrix inverse_y = inverse(y), inverse_z = inverse(z);
    for (size_t i = 0; i < y.size(); ++i)
      for (size_t j = 0; j < y.size(); ++j) {
        y[i][j] = (y[i][j] + inverse_z[i][j]) / 2;
        z[i][j] = (z[i][j] + inverse_y[i][j]) / 2;
      }
  }
  double trace = 0;
  for (size_t i = 0; i < y.size(); ++i)
    trace += y[i][i];
  return trace;
}

struct Moments {
  std::vector<double> mean;
  Matrix covariance;
  explicit Moments(const at::Tensor &features)
      : mean(features.size(1)), covariance(mean.size(), std::vector<double>(mean.size())) {
    const auto x = values(features);
    const size_t d = mean.size();
    const auto n = static_cast<double>(features.size(0));
    for (size_t i = 0; i < x.size(); ++i)
      mean[i % d] += x[i] / n;
    for (size_t row = 0; row < x.size(); row += d)
      for (size_t i = 0; i < d; ++i)
        for (size_t j = 0; j < d; ++j)
          covariance[i][j] += (x[row + i] - mean[i]) * (x[row + j] - mean[j]) / (n - 1);
  }
};

double reference(const at::Tensor &real, const at::Tensor &fake) {
  const Moments a(real), b(fake);
  double distance = -2 * root_trace(product(a.covariance, b.covariance));
  for (size_t i = 0; i < a.mean.size(); ++i)
    distance += std::pow(a.mean[i] - b.mean[i], 2) + a.covariance[i][i] + b.covariance[i][i];
  return distance;
}

class FrechetDistance : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(12); }
};
DEVSAN_DEVICE_SUITE(FrechetDistance);

TEST_P(FrechetDistance, EqualsItsDefinition) {
  for (const double offset : {0., 1e4}) {
    const at::Tensor mix = at::randn({5, 5}, at::kDouble);
    const at::Tensor real = at::randn({40, 5}, at::kDouble) + offset,
                     fake = at::randn({30, 5}, at::kDouble).matmul(mix) + offset + 0.5;
    const double expected = reference(real, fake);
    FID metric(FIDOptions(5).dtype(at::kDouble)), other(FIDOptions(5).dtype(at::kDouble));
    for (const auto &[start, length] : {std::pair(0, 1), {1, 0}, {1, 20}, {21, 9}}) {
      metric.update(real.narrow(0, start, length).to(device()), true);
      (start == 1 ? other : metric).update(fake.narrow(0, start, length).to(device()), false);
    }
    other.update(real.narrow(0, 30, 9).to(device()), true);
    other.update(real.select(0, 39).to(device()), true); // one image
    metric.merge(other);
    EXPECT_EQ(metric.compute().device(), device());
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-7 * std::max(1., expected));
    EXPECT_NEAR(
        values(frechet_inception_distance(real.to(device()), fake.to(device()), FIDOptions(5)))[0],
        expected, 1e-5 * std::max(1., expected));
  }
}

TEST_P(FrechetDistance, TakesHalfPrecision) {
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kFloat}) {
    const at::Tensor real = (at::randn({40, 4}) + 3).to(dtype), fake = at::randn({40, 4}).to(dtype);
    FID metric(FIDOptions(4));
    metric.update(real.to(device()), true);
    metric.update(fake.to(device()), false);
    EXPECT_EQ(metric.compute().scalar_type(), at::kFloat);
    EXPECT_NEAR(values(metric.compute())[0], reference(real, fake), 1e-4);
  }
}

// The covariances have fewer dimensions than there are features.
TEST_P(FrechetDistance, TakesFewImages) {
  const at::Tensor real = at::randn({4, 9}, at::kDouble).to(device());
  EXPECT_NEAR(values(frechet_inception_distance(real, real, FIDOptions(9).dtype(at::kDouble)))[0],
              0, 1e-6);
}

TEST_P(FrechetDistance, SyncsAsIfSeenByOne) {
  const at::Tensor real = at::randn({20, 3}, at::kDouble), fake = at::rand({20, 3}, at::kDouble);
  const double expected = reference(real, fake);
  test::onRanks(3, [&](const c10::intrusive_ptr<c10d::ProcessGroup> &group) {
    FID metric(FIDOptions(3).dtype(at::kDouble));
    const int64_t start = group->getRank() == 0 ? 0 : 7, length = group->getRank() == 0 ? 7 : 13;
    if (group->getRank() != 1) {
      metric.update(real.narrow(0, start, length).to(device()), true);
      metric.update(fake.narrow(0, start, length).to(device()), false);
    }
    metric.sync(group);
    EXPECT_NEAR(values(metric.compute())[0], expected, 1e-7);
  });
}

TEST_P(FrechetDistance, RefusesWrongInputs) {
  EXPECT_ERROR(FID(FIDOptions(0)), "FrechetInceptionDistance", "num_features is 0");
  FID metric(FIDOptions(3));
  const at::Tensor good = at::randn({4, 3}).to(device());
  metric.update(good, true);
  EXPECT_ERROR(metric.compute(), "FrechetInceptionDistance", "0 fake images", "at least two");
  metric.update(good * 2, false);
  const auto before = values(metric.compute());
  EXPECT_ERROR(metric.update(good.narrow(1, 0, 2), true), "[4, 2]", "num_features is 3");
  EXPECT_ERROR(metric.update(good.to(at::kLong), true), "Long", "floating");
  EXPECT_ERROR(metric.update(good.to(at::kMeta), true), "features", "meta");
  EXPECT_EQ(values(metric.compute()), before);
  metric.update(good * NAN, false);
  EXPECT_ERROR(metric.compute(), "FrechetInceptionDistance", "fake images are NaN or infinite");
  FID four(FIDOptions(4));
  EXPECT_ERROR(metric.merge(four), "num_features=3", "num_features=4");
}

TEST_P(FrechetDistance, UpdatesOnMetaTensors) {
  FID metric(FIDOptions(3));
  for (const bool real : {true, false, true})
    metric.update(at::empty({4, 3}, at::kMeta), real);
  EXPECT_EQ(metric.states()[2].sizes(), at::IntArrayRef({1, 3, 3}));
}

class FrechetDistanceNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(FrechetDistanceNoSync);

TEST_P(FrechetDistanceNoSync, UpdatesWithoutWaitingForTheDevice) {
  at::Tensor features;
  {
    const test::HostAccessScope host_access;
    features = at::randn({4, 3}).to(device());
  }
  const devsan::ExpectNoSync no_sync;
  FID metric(FIDOptions(3)), other(FIDOptions(3));
  for (const bool real : {true, false, true})
    metric.update(features, real);
  other.update(features, false);
  metric.merge(other);
  EXPECT_EQ(metric.states()[0].device(), device());
}

} // namespace
} // namespace devsan::metrics
