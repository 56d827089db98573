#include "metrics/detection/mean_average_precision.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

#include <ATen/ATen.h>

#include "metrics/detail/host_numbers.h"
#include "metrics/detail/text.h"
#include "metrics/detection/coco_evaluation.h"
#include "metrics/distributed/packing.h"

namespace devsan::metrics {
namespace {

enum StateIndex {
  kBoxes,
  kScores,
  kLabels,
  kDetections, // of each image
  kTruthBoxes,
  kTruthLabels,
  kCrowd,
  kArea,
  kTruths, // of each image
  kStates,
};

constexpr std::array<const char *, kStates> kNames = {
    "detection_box",      "detection_scores", "detection_labels",
    "detections",         "groundtruth_box",  "groundtruth_labels",
    "groundtruth_crowds", "groundtruth_area", "groundtruths"};

std::vector<double> evenly(double from, double to, int64_t number) {
  std::vector<double> values;
  const double step = (to - from) / static_cast<double>(number - 1);
  for (int64_t i = 0; i < number; ++i)
    values.push_back(i + 1 == number ? to : from + static_cast<double>(i) * step);
  return values;
}

at::Tensor boxes_of(const at::Tensor &boxes) {
  return boxes.numel() == 0 ? boxes.reshape({0, 4}) : boxes;
}

bool is_real(size_t state) {
  return state == kBoxes || state == kTruthBoxes || state == kScores || state == kArea;
}

at::Tensor nothing(size_t state, at::Device device) {
  const auto options = at::TensorOptions(device).dtype(is_real(state) ? at::kFloat : at::kLong);
  return state == kBoxes || state == kTruthBoxes ? at::empty({0, 4}, options)
                                                 : at::empty({0}, options);
}

// All states on the host, with one wait: reals as float64, the others as int64.
std::vector<at::Tensor> on_host(std::vector<at::Tensor> states) {
  if (!states.front().is_cpu()) {
    std::vector<PackedShape> shapes;
    for (at::Tensor &state : states) {
      state = state.contiguous();
      shapes.push_back(PackedShape::of(state));
    }
    // NOLINTNEXTLINE(device-host-sync): the matching is a loop whose lengths are values
    states = unpack(pack(states, 0).to(at::kCPU), shapes);
  }
  for (size_t i = 0; i < states.size(); ++i) {
    states[i] = states[i].to(is_real(i) ? at::kDouble : at::kLong).contiguous();
  }
  return states;
}

CocoBox box_from(const double *numbers, BoxFormat format) {
  const auto [a, b, c, d] = std::tie(numbers[0], numbers[1], numbers[2], numbers[3]);
  switch (format) {
  case BoxFormat::kXyxy:
    return {a, b, c - a, d - b};
  case BoxFormat::kXywh:
    return {a, b, c, d};
  case BoxFormat::kCxcywh:
    return {a - c / 2, b - d / 2, c, d};
  }
  return {};
}

// Calls add(i, image) for each row that the images' numbers speak of.
template <class Add> void each_row(const at::Tensor &numbers, const Add &add) {
  const int64_t *of_image = numbers.const_data_ptr<int64_t>();
  int64_t row = 0;
  for (int64_t image = 0; image < numbers.numel(); ++image)
    for (int64_t i = 0; i < of_image[image]; ++i)
      add(row++, image);
}

struct Images {
  std::vector<CocoDetection> detections;
  std::vector<CocoTruth> truths;
};

Images images_from(const std::vector<at::Tensor> &host, BoxFormat format) {
  Images images;
  const auto reals = [&](size_t i) { return host[i].const_data_ptr<double>(); };
  const auto integers = [&](size_t i) { return host[i].const_data_ptr<int64_t>(); };
  each_row(host[kDetections], [&](int64_t row, int64_t image) {
    images.detections.push_back({box_from(reals(kBoxes) + 4 * row, format), reals(kScores)[row],
                                 integers(kLabels)[row], image});
  });
  each_row(host[kTruths], [&](int64_t row, int64_t image) {
    const CocoBox box = box_from(reals(kTruthBoxes) + 4 * row, format);
    const double area = reals(kArea)[row];
    images.truths.push_back({box, area > 0 ? area : box.area(), integers(kCrowd)[row] != 0,
                             integers(kTruthLabels)[row], image});
  });
  return images;
}

template <class Item> std::vector<Item> of_one_class(std::vector<Item> items) {
  for (Item &item : items)
    item.label = 0;
  return items;
}

// The mean of what is above -1; -1 of nothing.
class MeanOfFound {
public:
  void add(const double *values, size_t number) {
    for (size_t i = 0; i < number; ++i)
      if (values[i] > -1) {
        sum_ += values[i];
        ++number_;
      }
  }
  double value() const { return number_ == 0 ? -1 : sum_ / static_cast<double>(number_); }

private:
  double sum_ = 0;
  int64_t number_ = 0;
};

// What the results of the classes come to.
class Summary {
public:
  explicit Summary(const CocoParameters &parameters)
      : parameters_(parameters), thresholds_(parameters.iou_thresholds.size()),
        recalls_(parameters.recall_thresholds.size()), numbers_(parameters.max_detections.size()) {
    for (const double threshold : {0.5, 0.75})
      at_.push_back(
          std::find(parameters.iou_thresholds.begin(), parameters.iou_thresholds.end(), threshold) -
          parameters.iou_thresholds.begin());
  }

  void add(const CocoClass &found) {
    for (size_t area = 0; area < kCocoAreas; ++area)
      precision_[area].add(&found.precision[place(area, numbers_ - 1, 0) * recalls_],
                           thresholds_ * recalls_);
    for (size_t i = 0; i < at_.size(); ++i)
      if (at_[i] < thresholds_)
        precision_at_[i].add(&found.precision[place(0, numbers_ - 1, at_[i]) * recalls_], recalls_);
    for (size_t m = 0; m < numbers_; ++m)
      recall_[m].add(&found.recall[place(0, m, 0)], thresholds_);
    for (size_t area = 1; area < kCocoAreas; ++area)
      recall_of_area_[area].add(&found.recall[place(area, numbers_ - 1, 0)], thresholds_);
  }

  double map() const { return precision_[0].value(); }
  double mar() const { return recall_[numbers_ - 1].value(); }

  std::vector<std::pair<std::string, double>> all() const {
    std::vector<std::pair<std::string, double>> values = {{"map", map()},
                                                          {"map_50", precision_at_[0].value()},
                                                          {"map_75", precision_at_[1].value()},
                                                          {"map_small", precision_[1].value()},
                                                          {"map_medium", precision_[2].value()},
                                                          {"map_large", precision_[3].value()}};
    const std::vector<int64_t> &numbers = parameters_.max_detections;
    for (size_t m = 0; m < numbers_; ++m)
      if (m == 0 || numbers[m] != numbers[m - 1])
        values.emplace_back(c10::str("mar_", numbers[m]), recall_[m].value());
    values.emplace_back("mar_small", recall_of_area_[1].value());
    values.emplace_back("mar_medium", recall_of_area_[2].value());
    values.emplace_back("mar_large", recall_of_area_[3].value());
    return values;
  }

private:
  size_t place(size_t area, size_t m, size_t t) const {
    return (area * numbers_ + m) * thresholds_ + t;
  }

  const CocoParameters &parameters_;
  size_t thresholds_, recalls_, numbers_;
  std::vector<size_t> at_; // of 0.5 and 0.75 among the thresholds
  std::array<MeanOfFound, kCocoAreas> precision_, recall_of_area_;
  std::array<MeanOfFound, 2> precision_at_;
  std::array<MeanOfFound, 3> recall_;
};

// The curves of all classes, as pycocotools orders their dimensions.
class Curves {
public:
  Curves(const CocoParameters &parameters, size_t classes)
      : sizes_({static_cast<int64_t>(classes), static_cast<int64_t>(kCocoAreas),
                static_cast<int64_t>(parameters.max_detections.size()),
                static_cast<int64_t>(parameters.iou_thresholds.size()),
                static_cast<int64_t>(parameters.recall_thresholds.size())}) {}

  void add(const CocoClass &found) {
    append(precision_, found.precision);
    append(scores_, found.scores);
    append(recall_, found.recall);
  }
  at::Tensor precision() const { return curves(precision_); }
  at::Tensor scores() const { return curves(scores_); }
  at::Tensor recall() const {
    return at::tensor(recall_, at::kDouble)
        .view(at::IntArrayRef(sizes_).slice(0, 4))
        .permute({3, 0, 1, 2})
        .contiguous();
  }

private:
  static void append(std::vector<double> &all, const std::vector<double> &more) {
    all.insert(all.end(), more.begin(), more.end());
  }
  at::Tensor curves(const std::vector<double> &values) const {
    return at::tensor(values, at::kDouble).view(sizes_).permute({3, 4, 0, 1, 2}).contiguous();
  }

  std::vector<int64_t> sizes_; // [K, A, M, T, R]
  std::vector<double> precision_, scores_, recall_;
};

} // namespace

MeanAveragePrecision::MeanAveragePrecision(const MeanAveragePrecisionOptions &options)
    : Metric([] {
        std::vector<StateSpec> specs;
        for (const char *name : kNames)
          specs.push_back({name, {}, StateSpec::Kind::kList});
        return specs;
      }()),
      options_(options), max_detections_(options.max_detection_thresholds().value_or(
                             std::vector<int64_t>{1, 10, 100})) {
  TORCH_CHECK(max_detections_.size() == 3,
              "MeanAveragePrecision: When providing a list of max detection thresholds it should "
              "have length 3. Got value ",
              max_detections_.size());
  std::sort(max_detections_.begin(), max_detections_.end());
  TORCH_CHECK(max_detections_.front() >= 1, "MeanAveragePrecision: max_detection_thresholds holds ",
              max_detections_.front(), "; pass numbers of detections, at least 1");
  const auto check = [](const char *option, const std::vector<double> &thresholds) {
    TORCH_CHECK(!thresholds.empty(), "MeanAveragePrecision: ", option,
                " is empty; pass at least one, or leave it out for COCO's");
    for (const double threshold : thresholds)
      TORCH_CHECK(threshold >= 0 && threshold <= 1, "MeanAveragePrecision: ", option, " holds ",
                  threshold, "; pass numbers in [0, 1]");
  };
  check("iou_thresholds", iou_thresholds());
  check("rec_thresholds", recall_thresholds());
}

std::vector<double> MeanAveragePrecision::iou_thresholds() const {
  return options_.iou_thresholds() ? *options_.iou_thresholds() : evenly(0.5, 0.95, 10);
}

std::vector<double> MeanAveragePrecision::recall_thresholds() const {
  return options_.rec_thresholds() ? *options_.rec_thresholds() : evenly(0, 1, 101);
}

void MeanAveragePrecision::check_images(const std::vector<Detections> &preds,
                                        const std::vector<GroundTruth> &target) const {
  const at::Tensor &first = preds.front().boxes;
  const auto check = [&](const char *where, size_t image, const char *boxes_name,
                         const at::Tensor &boxes, const at::Tensor &labels) {
    check_inputs({{"boxes", first}, {boxes_name, boxes}, {"labels", labels}});
    TORCH_CHECK(boxes.numel() == 0 || (boxes.dim() == 2 && boxes.size(1) == 4), name(),
                ": Invalid input box of sample ", image, " in ", where, ": boxes have shape ",
                boxes.sizes(), "; pass [N, 4]");
    TORCH_CHECK(!boxes.is_complex() && boxes.scalar_type() != at::kBool, name(),
                ": boxes of sample ", image, " in ", where, " have dtype ", boxes.scalar_type(),
                "; pass real numbers");
    TORCH_CHECK(labels.numel() == 0
                    ? !labels.is_complex()
                    : at::isIntegralType(labels.scalar_type(), /*includeBool=*/false),
                name(), ": Invalid input class of sample ", image, " in ", where,
                ": labels have dtype ", labels.scalar_type(), "; pass integers");
  };
  for (size_t i = 0; i < preds.size(); ++i) {
    const auto &[boxes, scores, labels] = preds[i];
    check("predictions", i, "boxes", boxes, labels);
    check_inputs({{"boxes", first}, {"scores", scores}});
    const int64_t n = boxes_of(boxes).size(0);
    TORCH_CHECK(labels.numel() == n && scores.numel() == n && labels.dim() == 1 &&
                    scores.dim() == 1,
                name(), ": Input 'boxes', labels and scores of sample ", i,
                " in predictions have a different length (expected ", n, " labels and scores, got ",
                labels.numel(), " labels and ", scores.numel(), ")");
    TORCH_CHECK(n == 0 ? !scores.is_complex() : scores.is_floating_point(), name(),
                ": Invalid input score of sample ", i, ": scores have dtype ", scores.scalar_type(),
                "; pass floating numbers");
  }
  for (size_t i = 0; i < target.size(); ++i) {
    const auto &[boxes, labels, crowd, area] = target[i];
    check("targets", i, "boxes", boxes, labels);
    const int64_t n = boxes_of(boxes).size(0);
    TORCH_CHECK(labels.numel() == n && labels.dim() == 1, name(),
                ": Input 'boxes' and labels of sample ", i,
                " in targets have a different length (expected ", n, " labels, got ",
                labels.numel(), ")");
    for (const auto &[what, more] : {std::pair("iscrowd", crowd), std::pair("area", area)}) {
      if (!more.defined())
        continue;
      check_inputs({{"boxes", first}, {what, more}});
      TORCH_CHECK(more.dim() == 1 && more.numel() == n && !more.is_complex(), name(), ": `", what,
                  "` of sample ", i, " in targets is ", more.scalar_type(), " of shape ",
                  more.sizes(), "; pass a real number for each of its ", n, " boxes");
    }
  }
}

void MeanAveragePrecision::update(const std::vector<Detections> &preds,
                                  const std::vector<GroundTruth> &target) {
  check_not_synced("update()");
  TORCH_CHECK(preds.size() == target.size(), name(),
              ": Expected argument `preds` and `target` to have the same length, but got ",
              preds.size(), " and ", target.size());
  if (preds.empty())
    return;
  check_images(preds, target);
  const StateScope scope;
  const at::Device device = preds.front().boxes.device();
  std::array<std::vector<at::Tensor>, kStates> lists;
  // Nothing has no dtype to speak of, and promotes none.
  const auto add = [&](size_t state, const at::Tensor &rows) {
    if (rows.numel() != 0)
      lists[state].push_back(rows);
  };
  std::vector<int64_t> detections, truths;
  for (const auto &[boxes, scores, labels] : preds) {
    add(kBoxes, boxes);
    add(kScores, scores);
    add(kLabels, labels);
    detections.push_back(labels.numel());
  }
  for (const auto &[boxes, labels, crowd, area] : target) {
    add(kTruthBoxes, boxes);
    add(kTruthLabels, labels);
    truths.push_back(labels.numel());
  }
  // Where it is not given, parts of one tensor.
  const auto add_given = [&](size_t state, at::Tensor GroundTruth::*given, at::ScalarType dtype) {
    const int64_t n = std::accumulate(truths.begin(), truths.end(), int64_t{0});
    at::Tensor zeros;
    int64_t missing_rows = 0;
    const auto fill = [&] {
      if (missing_rows == 0)
        return;
      if (!zeros.defined())
        zeros = at::zeros({n}, at::TensorOptions(device).dtype(dtype));
      lists[state].push_back(missing_rows == n ? zeros : zeros.narrow(0, 0, missing_rows));
      missing_rows = 0;
    };
    for (size_t i = 0; i < target.size(); ++i) {
      const at::Tensor &rows = target[i].*given;
      if (!rows.defined())
        missing_rows += truths[i];
      else if (rows.numel() != 0) {
        fill();
        lists[state].push_back(rows);
      }
    }
    fill();
  };
  add_given(kCrowd, &GroundTruth::iscrowd, at::kBool);
  add_given(kArea, &GroundTruth::area, at::kFloat);
  std::vector<at::Tensor> pieces;
  for (size_t i = 0; i < kStates; ++i)
    pieces.push_back(i == kDetections    ? detail::from_host(at::tensor(detections), device)
                     : i == kTruths      ? detail::from_host(at::tensor(truths), device)
                     : !lists[i].empty() ? at::cat(lists[i])
                                         : nothing(i, device));
  pieces[kCrowd] = pieces[kCrowd].to(at::kBool);
  append(pieces);
}

torch::OrderedDict<std::string, at::Tensor> MeanAveragePrecision::compute_dict() const {
  const StateScope scope;
  const std::vector<at::Tensor> &states = computable_states();
  const at::Device device = states.front().device();
  TORCH_CHECK(!device.is_meta(), name(), ": compute() of `meta` tensors, which have no values");
  const Images images = images_from(on_host(states), options_.box_format());
  const CocoParameters parameters{iou_thresholds(), recall_thresholds(), max_detections_,
                                  options_.extended_summary()};
  const std::vector<int64_t> classes = coco_labels(images.detections, images.truths);
  const bool micro = options_.average() == DetectionAverage::kMicro;

  torch::OrderedDict<std::string, at::Tensor> results("Value");
  const auto insert = [&](const std::string &key, const at::Tensor &value) {
    const bool real = value.is_floating_point();
    // A device without float64 refuses the copy, too.
    const bool narrow = real && default_accumulation(device) != Accumulation::kDouble;
    const at::Tensor moved = detail::from_host(narrow ? value.to(at::kFloat) : value, device);
    results.insert(key, shaped_result(moved, real ? options_.dtype() : value.scalar_type()));
  };
  std::vector<double> map_per_class, mar_per_class;
  const auto add_class = [&](const CocoClass &found) {
    Summary of_class(parameters);
    of_class.add(found);
    map_per_class.push_back(of_class.map());
    mar_per_class.push_back(of_class.mar());
  };
  Summary summary(parameters);
  Curves curves(parameters, micro ? std::min<size_t>(1, classes.size()) : classes.size());
  evaluate_coco(micro ? of_one_class(images.detections) : images.detections,
                micro ? of_one_class(images.truths) : images.truths, parameters,
                [&](const CocoClass &found) {
                  summary.add(found);
                  if (options_.extended_summary())
                    curves.add(found);
                  if (options_.class_metrics() && !micro)
                    add_class(found);
                });
  if (options_.class_metrics() && micro)
    evaluate_coco(images.detections, images.truths, parameters, add_class);
  for (const auto &[key, value] : summary.all())
    insert(key, at::tensor(value, at::kDouble));
  if (options_.extended_summary()) {
    insert("precision", curves.precision());
    insert("recall", curves.recall());
    insert("scores", curves.scores());
  }
  if (!options_.class_metrics())
    map_per_class = mar_per_class = {-1};
  insert("map_per_class", at::tensor(map_per_class, at::kDouble));
  insert(c10::str("mar_", max_detections_.back(), "_per_class"),
         at::tensor(mar_per_class, at::kDouble));
  insert("classes", at::tensor(classes, at::kLong));
  return results;
}

at::Tensor MeanAveragePrecision::compute() const {
  return compute_dict()["map"];
}

std::string MeanAveragePrecision::signature() const {
  std::string text = c10::str("box_format=", static_cast<int>(options_.box_format()),
                              ", average=", static_cast<int>(options_.average()),
                              ", max_detections=", max_detections_);
  for (const auto &[option, thresholds] : {std::pair("iou_thresholds", iou_thresholds()),
                                           std::pair("rec_thresholds", recall_thresholds())}) {
    text += c10::str(", ", option, "=");
    for (const double threshold : thresholds)
      text += detail::exact_text(threshold) + " ";
  }
  return text;
}

void MeanAveragePrecision::check_loaded(const std::vector<at::Tensor> &states) const {
  for (size_t i = 0; i < kStates; ++i) {
    const at::Tensor &state = states[i];
    if (state.size(0) == 0)
      continue;
    const bool of_boxes = i == kBoxes || i == kTruthBoxes;
    TORCH_CHECK(of_boxes ? state.dim() == 2 && state.size(1) == 4 : state.dim() == 1, name(), ": `",
                kNames[i], "` has shape ", state.sizes(), ", not ", of_boxes ? "[N, 4]" : "[N]");
    const bool integers = i == kLabels || i == kTruthLabels || i == kDetections || i == kTruths;
    TORCH_CHECK(integers ? at::isIntegralType(state.scalar_type(), /*includeBool=*/false)
                         : !state.is_complex(),
                name(), ": `", kNames[i], "` has dtype ", state.scalar_type(), ", not ",
                integers ? "integers" : "real numbers");
  }
  TORCH_CHECK(states[kDetections].size(0) == states[kTruths].size(0), name(), ": `",
              kNames[kDetections], "` are of ", states[kDetections].size(0), " images, `",
              kNames[kTruths], "` of ", states[kTruths].size(0));
  check_rows(states, kDetections, {kBoxes, kScores, kLabels});
  check_rows(states, kTruths, {kTruthBoxes, kTruthLabels, kCrowd, kArea});
}

// That the lists have as many rows as the images' numbers speak of.
void MeanAveragePrecision::check_rows(const std::vector<at::Tensor> &states, size_t numbers,
                                      std::initializer_list<size_t> lists) const {
  const int64_t rows = states[*lists.begin()].size(0);
  for (const size_t i : lists)
    TORCH_CHECK(states[i].size(0) == rows, name(), ": `", kNames[i], "` has ", states[i].size(0),
                " rows, but `", kNames[*lists.begin()], "` ", rows);
  if (states[numbers].is_meta())
    return;
  const at::Tensor each = states[numbers].to(at::kLong);
  int64_t expected = 0;
  if (each.size(0) != 0) {
    // NOLINTNEXTLINE(device-host-sync): how many rows there have to be are values
    const at::Tensor found = at::stack({each.min(), each.max(), each.sum()}).cpu();
    const int64_t *const of_images = found.const_data_ptr<int64_t>();
    // No number is so large that the sum overflows.
    TORCH_CHECK(of_images[0] >= 0 && of_images[1] <= rows, name(), ": `", kNames[numbers],
                "` holds ", of_images[of_images[0] < 0 ? 0 : 1], ", but of `",
                kNames[*lists.begin()], "` there are ", rows, " rows");
    expected = of_images[2];
  }
  TORCH_CHECK(rows == expected, name(), ": `", kNames[*lists.begin()], "` has ", rows,
              " rows, but `", kNames[numbers], "` speak of ", expected);
}

torch::OrderedDict<std::string, at::Tensor>
mean_average_precision(const std::vector<Detections> &preds, const std::vector<GroundTruth> &target,
                       const MeanAveragePrecisionOptions &options) {
  MeanAveragePrecision metric(options);
  if (preds.empty() && target.empty()) { // as of an image without anything
    const at::Tensor nothing = at::empty({0});
    metric.update({{nothing, nothing, nothing}}, {{nothing, nothing}});
  } else {
    metric.update(preds, target);
  }
  return metric.compute_dict();
}

} // namespace devsan::metrics
