// Loops over host memory that decide what a classifier says; no tensors, no threads, no memory of
// their own. On x86-64 each is compiled for several instruction sets and the best one is taken when
// the library is loaded.
#pragma once

#include <cstdint>
#include <optional>

namespace devsan::metrics::detail {

constexpr int64_t kArgmaxBlock = 256;

// The first class with the highest score, NaN above everything (at::argmax's order), of `n`
// samples, at most kArgmaxBlock; sample i's score of class c is at scores[i * sample_stride + c *
// class_stride].
void argmax(const float *scores, int64_t n, int64_t classes, int64_t sample_stride,
            int64_t class_stride, int32_t *labels);
void argmax(const double *scores, int64_t n, int64_t classes, int64_t sample_stride,
            int64_t class_stride, int32_t *labels);

// What a pair of target and label says of the whole that it is a part of; nothing if the target is
// ignored. *invalid grows by the number of the others of which target or label is no class; 2^31
// and what is above never is one.
enum PairFlag : uint8_t { kInvalid = 1, kDiffers = 2 }; // of invalid ones not known
void compare_labels(const int64_t *target, const int32_t *labels, int64_t n, int64_t classes,
                    std::optional<int64_t> ignored, uint8_t *flags, int64_t *invalid);
void compare_labels(const int64_t *target, const int64_t *labels, int64_t n, int64_t classes,
                    std::optional<int64_t> ignored, uint8_t *flags, int64_t *invalid);

// Adds to *equal and *counted the numbers of pairs that are equal and of those that count.
void count_equal(const int64_t *target, const int32_t *labels, int64_t n, int64_t classes,
                 std::optional<int64_t> ignored, int64_t *equal, int64_t *counted,
                 int64_t *invalid);
void count_equal(const int64_t *target, const int64_t *labels, int64_t n, int64_t classes,
                 std::optional<int64_t> ignored, int64_t *equal, int64_t *counted,
                 int64_t *invalid);

// Where each pair is counted in a matrix [classes, classes], target by row, -1 for those that do
// not count; returns the number of those that do. For up to kMaxMatrixClasses classes.
constexpr int64_t kMaxMatrixClasses = 46340; // the square of which is an int32
int64_t matrix_places(const int64_t *target, const int32_t *labels, int64_t n, int64_t classes,
                      std::optional<int64_t> ignored, int32_t *places, int64_t *invalid);
int64_t matrix_places(const int64_t *target, const int64_t *labels, int64_t n, int64_t classes,
                      std::optional<int64_t> ignored, int32_t *places, int64_t *invalid);

// What a number says about label 1, and where it is valid; NaN is nowhere.
template <typename T> struct Decision {
  T above;     // a greater one is positive
  T low, high; // of valid ones
};

// Adds `n` numbers to the counts of what is true and said of labels: both, true, said, all. Those
// whose target is ignored are left out, invalid ones added to *invalid instead.
// one_label: all of one label, counts[r] for r = 0 to 3; otherwise each of another, count r of the
// i-th at counts[r * n + i].
void count_labels(const float *numbers, const int64_t *target, int64_t n,
                  const Decision<float> &decision, std::optional<int64_t> ignored, bool one_label,
                  int64_t *counts, int64_t *invalid);
void count_labels(const double *numbers, const int64_t *target, int64_t n,
                  const Decision<double> &decision, std::optional<int64_t> ignored, bool one_label,
                  int64_t *counts, int64_t *invalid);
void count_labels(const int64_t *numbers, const int64_t *target, int64_t n,
                  const Decision<int64_t> &decision, std::optional<int64_t> ignored, bool one_label,
                  int64_t *counts, int64_t *invalid);

} // namespace devsan::metrics::detail
