#include "metrics/detail/classify_kernels.h"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace devsan::metrics::detail {
namespace {

template <typename T> int64_t reference(const T *scores, int64_t classes, int64_t stride) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c) {
    const T x = scores[c * stride], top = scores[best * stride];
    if (std::isnan(top))
      break;
    if (std::isnan(x) || x > top)
      best = c;
  }
  return best;
}

// Few different values, so that there are ties; of some, NaN and infinities.
template <typename T> std::unique_ptr<T[]> scores(int64_t number, bool special) {
  std::mt19937 generator(static_cast<unsigned>(number));
  std::uniform_int_distribution<int> value(-20, 20);
  auto all = std::make_unique<T[]>(number); // of exactly this size, for AddressSanitizer
  for (int64_t i = 0; i < number; ++i) {
    const int drawn = value(generator);
    all[i] = static_cast<T>(drawn) / 4;
    if (special && drawn > 18)
      all[i] =
          drawn == 19 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
    else if (special && drawn < -14)
      all[i] = -std::numeric_limits<T>::infinity();
  }
  return all;
}

template <typename T> class Argmax : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Argmax, Types);

TYPED_TEST(Argmax, IsTheFirstOfTheLargestAndNaNIsLargest) {
  for (const int64_t classes : {2, 3, 4, 5, 7, 8, 9, 10, 12, 31, 63, 64, 65, 71, 100, 127, 128, 131, 257})
    for (const int64_t n : {1, 3, 7, 8, 9, 17, 40, 67})
      for (const bool special : {false, true}) {
        const auto all = scores<TypeParam>(n * classes, special);
        int32_t labels[kArgmaxBlock];
        const auto expect = [&](int64_t sample_stride, int64_t class_stride) {
          argmax(all.get(), n, classes, sample_stride, class_stride, labels);
          for (int64_t i = 0; i < n; ++i)
            EXPECT_EQ(labels[i], reference(all.get() + i * sample_stride, classes, class_stride))
                << n << " samples of " << classes << ", " << sample_stride << " apart: " << i;
        };
        expect(classes, 1);
        expect(1, n);
      }
}

// Pairs of target and label, with some that are no classes.
template <typename T> class OfPairs : public testing::Test {
protected:
  static constexpr int64_t kClasses = 3;

  // Calls look(target, labels, ignored) for batches of several sizes.
  template <typename Look> void each_batch(const Look &look) {
    std::mt19937 generator;
    std::uniform_int_distribution<int> value(-2, 4);
    for (const int64_t n : {1, 7, 8, 31, 100})
      for (const std::optional<int64_t> ignored : {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(-2)}) {
        std::vector<int64_t> target(n);
        std::vector<T> labels(n);
        for (int64_t i = 0; i < n; ++i) {
          target[i] = value(generator);
          labels[i] = value(generator);
        }
        if (std::is_same_v<T, int64_t>)
          labels[0] = static_cast<T>(int64_t{1} << 32); // 0, to who looks at the half
        target[n - 1] = int64_t{1} << 32;
        if (n > 8)
          target[n - 2] = -(int64_t{1} << 32) + 1; // 1, the same
        look(target, labels, ignored);
      }
  }
  static bool valid(int64_t target, int64_t label) {
    return target >= 0 && target < kClasses && label >= 0 && label < kClasses;
  }
};
using Labels = testing::Types<int32_t, int64_t>;
TYPED_TEST_SUITE(OfPairs, Labels);

TYPED_TEST(OfPairs, FlagsLeaveOutIgnoredOnesAndCountInvalidOnes) {
  this->each_batch([](const auto &target, const auto &labels, std::optional<int64_t> ignored) {
    const auto n = static_cast<int64_t>(target.size());
    std::vector<uint8_t> flags(n);
    int64_t invalid = 5, expected = 5;
    compare_labels(target.data(), labels.data(), n, OfPairs<TypeParam>::kClasses, ignored, flags.data(), &invalid);
    for (int64_t i = 0; i < n; ++i) {
      const bool kept = target[i] != ignored, valid = OfPairs<TypeParam>::valid(target[i], labels[i]);
      expected += kept && !valid;
      EXPECT_EQ(flags[i], !kept ? 0 : !valid ? kInvalid : target[i] == labels[i] ? 0 : kDiffers) << i;
    }
    EXPECT_EQ(invalid, expected);
  });
}

TYPED_TEST(OfPairs, AreCountedAndPlaced) {
  this->each_batch([](const auto &target, const auto &labels, std::optional<int64_t> ignored) {
    constexpr int64_t kClasses = OfPairs<TypeParam>::kClasses;
    const auto n = static_cast<int64_t>(target.size());
    int64_t equal = 1, counted = 2, invalid = 3, expected_equal = 1, expected_counted = 2, expected_invalid = 3;
    count_equal(target.data(), labels.data(), n, kClasses, ignored, &equal, &counted, &invalid);
    std::vector<int32_t> places(n);
    int64_t also_invalid = 3;
    const int64_t placed = matrix_places(target.data(), labels.data(), n, kClasses, ignored, places.data(), &also_invalid);
    for (int64_t i = 0; i < n; ++i) {
      const bool kept = target[i] != ignored, valid = OfPairs<TypeParam>::valid(target[i], labels[i]);
      expected_invalid += kept && !valid;
      expected_counted += kept && valid;
      expected_equal += kept && valid && target[i] == labels[i];
      EXPECT_EQ(places[i], kept && valid ? target[i] * kClasses + labels[i] : -1) << i;
    }
    EXPECT_EQ(equal, expected_equal);
    EXPECT_EQ(counted, expected_counted);
    EXPECT_EQ(invalid, expected_invalid);
    EXPECT_EQ(placed, expected_counted - 2);
    EXPECT_EQ(also_invalid, expected_invalid);
  });
}

} // namespace
} // namespace devsan::metrics::detail
