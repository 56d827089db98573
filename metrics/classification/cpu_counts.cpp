// The counts of a batch on the CPU, each input read once: blocks of samples that stay in the first
// cache are decided, then counted.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>

#include "metrics/classification/counts.h"
#include "metrics/detail/classify_kernels.h"

namespace devsan::metrics {
namespace {

constexpr int64_t kBlock = detail::kArgmaxBlock;
constexpr int64_t kChunk = 1 << 16;   // numbers read that are worth a thread
constexpr int64_t kFewBins = 1 << 12; // adding them costs less than looking for the right ones
constexpr int64_t kWord = sizeof(uint64_t);
constexpr uint64_t kBytes = 0x0101010101010101;

// The inputs in the form that the loops take.
at::Tensor dense(const at::Tensor &x, at::ScalarType dtype) {
  if (x.scalar_type() == dtype && x.is_contiguous() && !x.is_neg())
    return x; // three calls of the dispatcher cost more than a small batch
  return x.resolve_neg().to(dtype).contiguous();
}

at::Tensor zeros(at::IntArrayRef sizes) {
  at::Tensor counts = at::detail::empty_cpu(sizes, at::kLong);
  std::memset(counts.mutable_data_ptr(), 0, counts.nbytes());
  return counts;
}

at::Tensor if_any(int64_t number) {
  return number ? at::scalar_tensor(number, at::kLong) : at::Tensor();
}

// Of n things from `numbers` numbers, so many that they are worth a thread, which has `bins` to
// add.
int64_t grain_size(int64_t n, int64_t numbers, int64_t bins) {
  return numbers ? std::max<int64_t>(1, n * std::max(kChunk, 4 * bins) / numbers) : n;
}

// Calls count(begin, end, bins, out_of_range) for parts of [0, n) on several threads where it pays;
// each adds to bins of its own.
template <typename Count>
BatchCounts in_parts(int64_t n, int64_t numbers, at::IntArrayRef sizes, const Count &count) {
  const at::Tensor counts = zeros(sizes);
  int64_t *bins = counts.mutable_data_ptr<int64_t>();
  int64_t out_of_range = 0;
  std::mutex mutex;
  at::parallel_for(0, n, grain_size(n, numbers, counts.numel()), [&](int64_t begin, int64_t end) {
    if (begin == 0 && end == n) {
      count(begin, end, bins, out_of_range);
      return;
    }
    std::vector<int64_t> own(counts.numel());
    int64_t own_out_of_range = 0;
    count(begin, end, own.data(), own_out_of_range);
    const std::lock_guard<std::mutex> lock(mutex);
    for (size_t i = 0; i < own.size(); ++i)
      bins[i] += own[i];
    out_of_range += own_out_of_range;
  });
  return {counts, {}, if_any(out_of_range)};
}

// What kMargins counts, from what kMatrix does.
BatchCounts margins_of(BatchCounts batch) {
  const int64_t classes = batch.counts.size(0);
  const int64_t *matrix = batch.counts.const_data_ptr<int64_t>();
  const at::Tensor margins = zeros({3, classes});
  int64_t *to = margins.mutable_data_ptr<int64_t>();
  for (int64_t wanted = 0; wanted < classes; ++wanted)
    for (int64_t label = 0; label < classes; ++label) {
      const int64_t number = matrix[wanted * classes + label];
      to[wanted] += wanted == label ? number : 0;
      to[kTargets * classes + wanted] += number;
      to[kPredictions * classes + label] += number;
    }
  batch.counts = margins;
  return batch;
}

// The first `size` bytes of a word, at most all of them.
uint64_t word_of(const uint8_t *bytes, int64_t size) {
  uint64_t word;
  std::memcpy(&word, bytes, kWord);
  const int64_t others = 8 * (kWord - size);
  return word << others >> others;
}

// Elements of the first dimension that are right as a whole, and those of which something is
// counted; predict() as below.
template <typename Predict>
BatchCounts count_whole(const TaskConfig &config, const at::Tensor &target, int64_t numbers,
                        const Predict &predict) {
  const int64_t *targets = target.const_data_ptr<int64_t>();
  const int64_t width = c10::multiply_integers(target.sizes().slice(1));
  return in_parts(
      width ? target.size(0) : 0, numbers, {2},
      [&](int64_t begin, int64_t end, int64_t *bins, int64_t &out_of_range) {
        int32_t room[kBlock];
        uint8_t flags[kBlock + kWord] = {}; // read by words
        int64_t right = 0, included = 0;
        const auto count = [&](uint64_t said) { // in any byte
          const auto any = [said](uint64_t flag) -> int { return (said & kBytes * flag) != 0; };
          const int valid = !any(detail::kInvalid);
          included += valid;
          right += valid & !any(detail::kDiffers);
        };
        int64_t left = width; // of the current element
        uint64_t said = 0;
        for (int64_t first = begin * width; first < end * width; first += kBlock) {
          const int64_t n = std::min(kBlock, end * width - first);
          detail::compare_labels(targets + first, predict(first, n, room), n, config.classes,
                                 config.ignore_index, flags, &out_of_range);
          for (int64_t i = 0; i < n;) {
            if (left == width && width <= kWord)
              for (; i + width <= n; i += width)
                count(word_of(flags + i, width));
            const int64_t here = std::min(n - i, left);
            for (int64_t k = 0; k < here; k += kWord)
              said |= word_of(flags + i + k, std::min(kWord, here - k));
            i += here;
            left -= here;
            if (left > 0) // the rest is in the next block
              continue;
            count(said);
            said = 0;
            left = width;
          }
        }
        bins[0] += right;
        bins[1] += included;
      });
}

// Counts samples of several classes. predict(first, n, labels) tells the labels of up to kBlock
// samples.
template <typename Predict>
BatchCounts count_classes(const TaskConfig &config, Tally tally, const at::Tensor &target,
                          int64_t numbers, const Predict &predict) {
  const int64_t *targets = target.const_data_ptr<int64_t>();
  const int64_t classes = config.classes, samples = target.numel();
  const bool ignores = config.ignore_index.has_value();
  const int64_t ignored = config.ignore_index.value_or(0);

  // Calls add(sample, target, label) for all samples from begin to end that count.
  const auto each = [&](int64_t begin, int64_t end, int64_t &out_of_range, const auto &add) {
    int32_t room[kBlock];
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t n = std::min(kBlock, end - first);
      const auto *labels = predict(first, n, room);
      for (int64_t i = 0; i < n; ++i) {
        const int64_t wanted = targets[first + i], label = labels[i];
        if (ignores && wanted == ignored)
          continue;
        if ((wanted >= 0) & (wanted < classes) & (label >= 0) & (label < classes))
          add(first + i, wanted, label);
        else
          ++out_of_range;
      }
    }
  };
  // Calls count(targets, labels, n, bins, out_of_range) for blocks of samples.
  const auto by_block = [&](at::IntArrayRef sizes, const auto &count) {
    return in_parts(samples, numbers, sizes,
                    [&](int64_t begin, int64_t end, int64_t *bins, int64_t &out_of_range) {
                      int32_t room[kBlock];
                      for (int64_t first = begin; first < end; first += kBlock) {
                        const int64_t n = std::min(kBlock, end - first);
                        count(targets + first, predict(first, n, room), n, bins, out_of_range);
                      }
                    });
  };
  const auto has_few_bins = [classes](int64_t most) {
    return classes <= detail::kMaxMatrixClasses && classes * classes <= most;
  };
  const auto count_matrix = [&] {
    return by_block({classes, classes}, [&](const int64_t *wanted, const auto *labels, int64_t n,
                                            int64_t *bins, int64_t &out_of_range) {
      int32_t places[kBlock];
      const int64_t counted = detail::matrix_places(wanted, labels, n, classes, config.ignore_index,
                                                    places, &out_of_range);
      for (int64_t i = 0; i < n; ++i)
        if (counted == n || places[i] >= 0)
          ++bins[places[i]];
    });
  };
  switch (tally) {
  case Tally::kTotals:
    return by_block(tally_sizes(config, tally),
                    [&](const int64_t *wanted, const auto *labels, int64_t n, int64_t *bins,
                        int64_t &out_of_range) {
                      detail::count_equal(wanted, labels, n, classes, config.ignore_index, &bins[0],
                                          &bins[1], &out_of_range);
                    });
  case Tally::kMargins:
    if (has_few_bins(std::min(kFewBins, samples))) // one count for each sample, not three
      return margins_of(count_matrix());
    return in_parts(samples, numbers, tally_sizes(config, tally),
                    [&](int64_t begin, int64_t end, int64_t *bins, int64_t &out_of_range) {
                      each(begin, end, out_of_range, [&](int64_t, int64_t wanted, int64_t label) {
                        bins[wanted] += wanted == label;
                        bins[kTargets * classes + wanted] += 1;
                        bins[kPredictions * classes + label] += 1;
                      });
                    });
  case Tally::kMatrix: {
    if (has_few_bins(std::max(kFewBins, samples)))
      return count_matrix();
    const at::Tensor places = at::full({samples}, -1, at::kLong);
    int64_t *place = places.mutable_data_ptr<int64_t>();
    std::atomic<int64_t> out_of_range = 0;
    at::parallel_for(0, samples, grain_size(samples, numbers, 0), [&](int64_t begin, int64_t end) {
      int64_t own_out_of_range = 0;
      each(begin, end, own_out_of_range, [&](int64_t sample, int64_t wanted, int64_t label) {
        place[sample] = wanted * classes + label;
      });
      out_of_range += own_out_of_range;
    });
    return {{}, places, if_any(out_of_range)};
  }
  case Tally::kSamples:
    return count_whole(config, target, numbers, predict);
  }
  TORCH_INTERNAL_ASSERT(false, "no such tally");
}

template <typename T>
BatchCounts count_scores(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                         const at::Tensor &target) {
  const T *scores = preds.const_data_ptr<T>();
  const int64_t classes = config.classes;
  const int64_t inner = c10::multiply_integers(target.sizes().slice(1));
  return count_classes(config, tally, target, preds.numel(),
                       [=](int64_t first, int64_t n, int32_t *labels) -> const int32_t * {
                         // What lies in one element of the first dimension, at a time; rows are all
                         // alike.
                         for (int64_t i = 0; i < n;) {
                           const int64_t outer = (first + i) / inner, offset = (first + i) % inner;
                           const int64_t run = inner == 1 ? n : std::min(n - i, inner - offset);
                           const int64_t sample_stride = inner == 1 ? classes : 1;
                           detail::argmax(scores + outer * classes * inner + offset, run, classes,
                                          sample_stride, inner, labels + i);
                           i += run;
                         }
                         return labels;
                       });
}

template <typename T>
BatchCounts count_labels(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                         const at::Tensor &target, const detail::Decision<T> &decision) {
  const bool by_label = config.task == Task::kMultilabel && tally != Tally::kTotals;
  const int64_t labels = by_label ? config.classes : 1;
  const int64_t inner = by_label ? c10::multiply_integers(target.sizes().slice(2)) : 1;
  const int64_t outer = by_label ? target.size(0) : target.numel();
  const T *all_preds = preds.const_data_ptr<T>();
  const int64_t *all_targets = target.const_data_ptr<int64_t>();
  BatchCounts batch = in_parts(
      outer, target.numel(), {4, labels},
      [&](int64_t begin, int64_t end, int64_t *bins, int64_t &out_of_range) {
        // Adds n numbers of one label to its column of the bins.
        const auto count = [&](const T *numbers, const int64_t *wanted, int64_t n,
                               int64_t *column) {
          int64_t sums[4] = {};
          detail::count_labels(numbers, wanted, n, decision, config.ignore_index,
                               /*one_label=*/true, sums, &out_of_range);
          for (int64_t row = 0; row < 4; ++row)
            column[row * labels] += sums[row];
        };
        if (labels == 1) {
          count(all_preds + begin, all_targets + begin, end - begin, bins);
          return;
        }
        // Of few labels, each label's numbers are gathered first: long loops are the faster ones.
        if (inner == 1 && labels < kBlock) {
          T numbers[kBlock];
          int64_t wanted[kBlock];
          for (int64_t first = begin; first < end; first += kBlock) {
            const int64_t n = std::min(kBlock, end - first);
            for (int64_t label = 0; label < labels; ++label) {
              for (int64_t i = 0; i < n; ++i) {
                numbers[i] = all_preds[(first + i) * labels + label];
                wanted[i] = all_targets[(first + i) * labels + label];
              }
              count(numbers, wanted, n, bins + label);
            }
          }
          return;
        }
        for (int64_t i = begin; i < end; ++i)
          if (inner == 1)
            detail::count_labels(all_preds + i * labels, all_targets + i * labels, labels, decision,
                                 config.ignore_index, /*one_label=*/false, bins, &out_of_range);
          else
            for (int64_t label = 0; label < labels; ++label) {
              const int64_t at = (i * labels + label) * inner;
              count(all_preds + at, all_targets + at, inner, bins + label);
            }
      });
  if (tally != Tally::kMatrix)
    return batch;
  const auto rows = batch.counts.unbind();
  const at::Tensor fp = rows[kPredictions] - rows[kTruePositives];
  const at::Tensor matrix = at::stack({rows[kCounted] - rows[kTargets] - fp, fp,
                                       rows[kTargets] - rows[kTruePositives], rows[kTruePositives]},
                                      1);
  return {matrix.reshape(tally_sizes(config, tally)), {}, batch.out_of_range};
}

// Rows of labels that are right as a whole, and rows of which nothing is out of range.
template <typename T>
BatchCounts count_rows(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target,
                       const detail::Decision<T> &decision) {
  const int64_t labels = config.classes;
  const T *all_preds = preds.const_data_ptr<T>();
  const int64_t *all_targets = target.const_data_ptr<int64_t>();
  return in_parts(
      target.size(0), target.numel(), {2},
      [&](int64_t begin, int64_t end, int64_t *bins, int64_t &out_of_range) {
        for (int64_t i = begin; i < end; ++i) {
          int64_t sums[4] = {}, own_out_of_range = 0;
          detail::count_labels(all_preds + i * labels, all_targets + i * labels, labels, decision,
                               config.ignore_index, /*one_label=*/true, sums, &own_out_of_range);
          const bool included = own_out_of_range == 0;
          const int64_t wrong = sums[kTargets] + sums[kPredictions] - 2 * sums[kTruePositives];
          bins[0] += included && wrong == 0;
          bins[1] += included;
          out_of_range += own_out_of_range;
        }
      });
}

template <typename T>
BatchCounts count_label_scores(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                               const at::Tensor &target, double threshold) {
  const T infinity = std::numeric_limits<T>::infinity();
  const detail::Decision<T> decision{static_cast<T>(threshold), config.from_logits ? -infinity : 0,
                                     config.from_logits ? infinity : 1};
  return tally == Tally::kSamples ? count_rows(config, preds, target, decision)
                                  : count_labels(config, tally, preds, target, decision);
}

} // namespace

bool counts_on_cpu(const TaskConfig &config, Tally tally, const at::Tensor &preds) {
  if (tally == Tally::kSamples && config.task == Task::kMultilabel && preds.dim() != 2)
    return false;
  return preds.is_cpu() && config.top_k == 1;
}

BatchCounts count_on_cpu(const TaskConfig &config, Tally tally, const at::Tensor &preds,
                         const at::Tensor &target) {
  const at::Tensor targets = dense(integer_labels(target), at::kLong);
  const bool multiclass = config.task == Task::kMulticlass;
  if (!preds.is_floating_point()) {
    const at::Tensor labels = dense(preds, at::kLong);
    const detail::Decision<int64_t> decision{0, 0, 1};
    if (!multiclass)
      return tally == Tally::kSamples
                 ? count_rows<int64_t>(config, labels, targets, decision)
                 : count_labels<int64_t>(config, tally, labels, targets, decision);
    const int64_t *data = labels.const_data_ptr<int64_t>();
    return count_classes(config, tally, targets, targets.numel(),
                         [=](int64_t first, int64_t, int32_t *) { return data + first; });
  }
  // The narrower dtypes are exact, and in the same order, in float32.
  const bool wide = preds.scalar_type() == at::kDouble;
  const at::Tensor scores = dense(preds, wide ? at::kDouble : at::kFloat);
  if (multiclass)
    return wide ? count_scores<double>(config, tally, scores, targets)
                : count_scores<float>(config, tally, scores, targets);
  const double threshold = score_threshold(config, preds.scalar_type());
  return wide ? count_label_scores<double>(config, tally, scores, targets, threshold)
              : count_label_scores<float>(config, tally, scores, targets, threshold);
}

} // namespace devsan::metrics
