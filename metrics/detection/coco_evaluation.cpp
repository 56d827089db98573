#include "metrics/detection/coco_evaluation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace devsan::metrics {

const std::array<std::pair<double, double>, kCocoAreas> kCocoAreaRanges = {
    {{0, 1e10}, {0, 32. * 32}, {32. * 32, 96. * 96}, {96. * 96, 1e10}}};

namespace {

// From the highest down, NaN last, as numpy sorts negated scores.
bool scores_more(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a > b;
}

double overlap(const CocoBox &detection, const CocoTruth &truth) {
  const CocoBox &a = detection, &b = truth.box;
  const double width = std::fmin(a.width + a.x, b.width + b.x) - std::fmax(a.x, b.x);
  const double height = std::fmin(a.height + a.y, b.height + b.y) - std::fmax(a.y, b.y);
  if (width <= 0 || height <= 0)
    return 0;
  const double both = width * height;
  return both / (truth.crowd ? a.area() : a.area() + b.area() - both);
}

bool outside(double area, size_t range) {
  return area < kCocoAreaRanges[range].first || area > kCocoAreaRanges[range].second;
}

enum class Outcome : uint8_t { kWrong, kRight, kIgnored };

// What was found in the images of one class so far.
class ClassEvaluation {
public:
  explicit ClassEvaluation(const CocoParameters &parameters)
      : parameters_(parameters), thresholds_(parameters.iou_thresholds.size()),
        outcomes_(kCocoAreas * thresholds_) {}

  // The detections, from the best score down, and the truth of one image.
  void add_image(const CocoDetection *detections, size_t number, const CocoTruth *truths,
                 size_t truth_number) {
    number = std::min(number, static_cast<size_t>(parameters_.max_detections.back()));
    overlaps_.resize(number * truth_number);
    for (size_t d = 0; d < number; ++d) {
      scores_.push_back(detections[d].score);
      places_.push_back(static_cast<int64_t>(d));
      for (size_t g = 0; g < truth_number; ++g)
        overlaps_[d * truth_number + g] = overlap(detections[d].box, truths[g]);
    }
    for (size_t area = 0; area < kCocoAreas; ++area) {
      order_truths(truths, truth_number, area);
      for (size_t t = 0; t < thresholds_; ++t)
        match(detections, number, truths, area, t);
    }
  }

  CocoClass results() {
    order_.resize(scores_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return scores_more(scores_[a], scores_[b]); });
    const size_t numbers = parameters_.max_detections.size();
    const size_t recalls = parameters_.recall_thresholds.size();
    CocoClass results;
    results.recall.assign(kCocoAreas * numbers * thresholds_, -1);
    results.precision.assign(results.recall.size() * recalls, -1);
    results.scores = results.precision;
    for (size_t area = 0; area < kCocoAreas; ++area) {
      if (to_find_[area] == 0)
        continue;
      for (size_t m = 0; m < numbers; ++m)
        for (size_t t = 0; t < thresholds_; ++t) {
          const size_t place = (area * numbers + m) * thresholds_ + t;
          const bool curve = parameters_.all_precisions || m + 1 == numbers;
          results.recall[place] = accumulate(area, t, parameters_.max_detections[m],
                                             curve ? &results.precision[place * recalls] : nullptr,
                                             &results.scores[place * recalls]);
        }
    }
    return results;
  }

private:
  // Those of the area first, each in their order.
  void order_truths(const CocoTruth *truths, size_t number, size_t area) {
    truth_order_.clear();
    for (const bool ignored : {false, true}) {
      for (size_t g = 0; g < number; ++g)
        if ((truths[g].crowd || outside(truths[g].area, area)) == ignored)
          truth_order_.push_back(g);
      if (!ignored)
        counted_ = truth_order_.size();
    }
    to_find_[area] += counted_;
  }

  // Each detection takes the truth that it overlaps with most, and at least by the threshold, of
  // those that are left; an ignored one only where there is no other.
  void match(const CocoDetection *detections, size_t number, const CocoTruth *truths, size_t area,
             size_t t) {
    const size_t truth_number = truth_order_.size();
    std::vector<Outcome> &outcomes = outcomes_[area * thresholds_ + t];
    taken_.assign(truth_number, 0);
    for (size_t d = 0; d < number; ++d) {
      double best = std::min(parameters_.iou_thresholds[t], 1 - 1e-10);
      size_t found = truth_number;
      for (size_t g = 0; g < truth_number; ++g) {
        const size_t truth = truth_order_[g];
        if (taken_[g] && !truths[truth].crowd)
          continue;
        if (found < counted_ && g >= counted_)
          break;
        const double iou = overlaps_[d * truth_number + truth];
        if (iou < best)
          continue;
        best = iou;
        found = g;
      }
      if (found == truth_number) {
        outcomes.push_back(outside(detections[d].box.area(), area) ? Outcome::kIgnored
                                                                   : Outcome::kWrong);
        continue;
      }
      taken_[found] = 1;
      outcomes.push_back(found < counted_ ? Outcome::kRight : Outcome::kIgnored);
    }
  }

  // Recall of the best `max_detections` of each image, and where `precision` is given the precision
  // and the score at each recall threshold.
  double accumulate(size_t area, size_t t, int64_t max_detections, double *precision,
                    double *scores) {
    const std::vector<Outcome> &outcomes = outcomes_[area * thresholds_ + t];
    const auto to_find = static_cast<double>(to_find_[area]);
    recalls_.clear();
    precisions_.clear();
    curve_scores_.clear();
    double right = 0, wrong = 0, recall = 0;
    for (const size_t i : order_) {
      if (places_[i] >= max_detections)
        continue;
      right += outcomes[i] == Outcome::kRight;
      wrong += outcomes[i] == Outcome::kWrong;
      recall = right / to_find;
      if (!precision)
        continue;
      recalls_.push_back(recall);
      precisions_.push_back(right / (wrong + right + std::numeric_limits<double>::epsilon()));
      curve_scores_.push_back(scores_[i]);
    }
    if (!precision)
      return recall;
    for (size_t i = precisions_.size(); i-- > 1;)
      precisions_[i - 1] = std::max(precisions_[i - 1], precisions_[i]);
    for (size_t r = 0; r < parameters_.recall_thresholds.size(); ++r) {
      const auto at =
          std::lower_bound(recalls_.begin(), recalls_.end(), parameters_.recall_thresholds[r]) -
          recalls_.begin();
      const bool reached = at < static_cast<int64_t>(recalls_.size());
      precision[r] = reached ? precisions_[at] : 0;
      scores[r] = reached ? curve_scores_[at] : 0;
    }
    return recall;
  }

  const CocoParameters &parameters_;
  size_t thresholds_;
  std::vector<double> scores_;                 // of each detection
  std::vector<int64_t> places_;                // its place in its image
  std::vector<std::vector<Outcome>> outcomes_; // [A, T] of each detection
  std::array<size_t, kCocoAreas> to_find_ = {};

  // Of the image.
  std::vector<double> overlaps_; // [detections, truths]
  std::vector<size_t> truth_order_;
  size_t counted_ = 0; // the first of truth_order_ that are not ignored
  std::vector<char> taken_;

  std::vector<size_t> order_;
  std::vector<double> recalls_, precisions_, curve_scores_;
};

// The end of the items from `start` on that are alike.
template <class Item, class Key>
size_t run_end(const std::vector<Item> &items, size_t start, const Key &key) {
  size_t end = start;
  while (end < items.size() && key(items[end]) == key(items[start]))
    ++end;
  return end;
}

} // namespace

std::vector<int64_t> coco_labels(const std::vector<CocoDetection> &detections,
                                 const std::vector<CocoTruth> &truths) {
  std::vector<int64_t> labels;
  for (const CocoDetection &detection : detections)
    labels.push_back(detection.label);
  for (const CocoTruth &truth : truths)
    labels.push_back(truth.label);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

void evaluate_coco(std::vector<CocoDetection> detections, std::vector<CocoTruth> truths,
                   const CocoParameters &parameters,
                   const std::function<void(const CocoClass &)> &visit) {
  using Key = std::pair<int64_t, int64_t>;
  const auto key = [](const auto &item) { return Key(item.label, item.image); };
  std::stable_sort(detections.begin(), detections.end(),
                   [&](const CocoDetection &a, const CocoDetection &b) {
                     return key(a) != key(b) ? key(a) < key(b) : scores_more(a.score, b.score);
                   });
  std::stable_sort(truths.begin(), truths.end(),
                   [&](const CocoTruth &a, const CocoTruth &b) { return key(a) < key(b); });
  size_t d = 0, g = 0;
  while (d < detections.size() || g < truths.size()) {
    const auto next = [&] {
      if (d == detections.size())
        return key(truths[g]);
      return g == truths.size() ? key(detections[d]) : std::min(key(detections[d]), key(truths[g]));
    };
    const int64_t label = next().first;
    ClassEvaluation evaluation(parameters);
    while ((d < detections.size() || g < truths.size()) && next().first == label) {
      const Key image = next();
      const size_t d_end =
          d < detections.size() && key(detections[d]) == image ? run_end(detections, d, key) : d;
      const size_t g_end =
          g < truths.size() && key(truths[g]) == image ? run_end(truths, g, key) : g;
      evaluation.add_image(detections.data() + d, d_end - d, truths.data() + g, g_end - g);
      d = d_end;
      g = g_end;
    }
    visit(evaluation.results());
  }
}

} // namespace devsan::metrics
