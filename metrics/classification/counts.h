// What is counted of a batch, in two ways with the same result: by a fixed number of operators on
// any device, which never waits for it, and on the CPU in one pass over the inputs.
#pragma once

#include <vector>

#include "metrics/classification/task.h"

namespace devsan::metrics {

// Of several classes a sample has one target, so that the sum of the targets tells how many samples
// there are; labels are counted each on its own and need a row for it. Over all classes, the
// targets are as many as the predictions.
enum class Tally {
  kTotals,  // multiclass [2, 1]: right, all; labels and binary [4, 1], see CountRow
  kMargins, // multiclass [3, num_classes], labels [4, num_labels], binary [4, 1], see CountRow
  kMatrix,  // [num_classes, num_classes], [num_labels, 2, 2], [2, 2]: row target, column prediction
  kSamples, // [2]: samples of which nothing is wrong, samples of which nothing is out of range
};
enum CountRow { kTruePositives, kTargets, kPredictions, kCounted };

std::vector<int64_t> tally_sizes(const TaskConfig &config, Tally tally);

struct BatchCounts {
  at::Tensor counts;       // int64 (of weights: real), of tally_sizes(); or undefined, and instead
  at::Tensor places;       // int64 [n]: to which of the counts each sample adds one, -1: to none
  at::Tensor out_of_range; // int64 []; undefined where there are known to be none
};

// `state` and the counts of a batch; in place only where the caller allows it, and for a contiguous
// state on the CPU.
at::Tensor added(const at::Tensor &state, const BatchCounts &batch, bool may_change);

// Both for inputs that have passed check_shapes().
BatchCounts count_on_device(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                            const at::Tensor &target);

// The counts of each element of the inputs' first dimension, [N, ...] of tally_sizes(); not
// kMatrix.
BatchCounts count_each(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                       const at::Tensor &target);

// What count_on_device() counts, of samples that count as much as their weights, see
// sample_weights().
BatchCounts weigh(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                  const at::Tensor &target, const at::Tensor &weights);

// Whether count_on_cpu() can take the inputs.
bool counts_on_cpu(const TaskConfig &config, Tally tally, const at::Tensor &preds);
BatchCounts count_on_cpu(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                         const at::Tensor &target);

} // namespace devsan::metrics
