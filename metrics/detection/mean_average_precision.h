// How well boxes around objects are found: mean average precision and recall by COCO's protocol.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <torch/arg.h>

#include "metrics/metric.h"

namespace devsan::metrics {

// What the four numbers of a box are.
enum class BoxFormat {
  kXyxy,   // two opposite corners
  kXywh,   // the corner with the smallest coordinates, width and height
  kCxcywh, // the centre, width and height
};

enum class DetectionAverage {
  kMacro, // over the classes
  kMicro, // all labels are one class
};

struct MeanAveragePrecisionOptions {
  TORCH_ARG(BoxFormat, box_format) = BoxFormat::kXyxy;
  // At which overlap (intersection over union) a detection is right; none: 0.5, 0.55, ..., 0.95.
  TORCH_ARG(std::optional<std::vector<double>>, iou_thresholds) = std::nullopt;
  // At which recall the precision is taken; none: 0, 0.01, ..., 1.
  TORCH_ARG(std::optional<std::vector<double>>, rec_thresholds) = std::nullopt;
  // Three numbers of detections of an image and a class, of which those of the best scores are
  // looked at; none: 1, 10 and 100. Precisions are those of the largest.
  TORCH_ARG(std::optional<std::vector<int64_t>>, max_detection_thresholds) = std::nullopt;
  // Whether compute_dict() has the values of each class.
  TORCH_ARG(bool, class_metrics) = false;
  // Whether compute_dict() has the curves.
  TORCH_ARG(bool, extended_summary) = false;
  TORCH_ARG(DetectionAverage, average) = DetectionAverage::kMacro;
  // Of the values. float64 needs a device that has it.
  TORCH_ARG(at::ScalarType, dtype) = at::kFloat;
};

// What was found in an image: real boxes [D, 4], floating scores [D], integer labels [D]. Of none
// the shapes may be [0].
struct Detections {
  at::Tensor boxes, scores, labels;
};

// What there is to find: real boxes [G, 4], integer labels [G]; where it is defined iscrowd [G], of
// boxes around many objects, in which detections count neither as right nor as wrong; and area [G],
// of the objects, by which they are small, medium or large: undefined, or 0, is that of the box.
struct GroundTruth {
  at::Tensor boxes, labels, iscrowd = {}, area = {};
};

// Mean average precision (Lin et al. 2014, the protocol of pycocotools): of each class the
// precision at the best detections that reach a recall, mean over the recalls, the overlaps and the
// classes that there is something to find of.
//
// update()        an entry of both lists for each image. All tensors lie on one device. They are
//                 copied together, and never looked at: it does not wait.
// compute()       the mean average precision, []; -1 where there is nothing to find.
// compute_dict()  map, map_50, map_75 (at these overlaps), map_small, map_medium, map_large (of
//                 areas below 32^2, to 96^2, above), mar_<n> (mean recall of at most n detections
//                 of an image and a class), mar_small, mar_medium, mar_large, each [];
//                 map_per_class, mar_<n>_per_class, [classes], without class_metrics -1, [];
//                 classes, the labels that occurred, int64 ascending, [classes]; of one class all
//                 three are []. With extended_summary also precision and scores [T, R, K, A, M],
//                 recall [T, K, A, M] (IoU, recall, class, area, number).
// Both wait for the device once: detections are matched on the host, in float64, since how long the
// loops are depends on values. The results lie on the states' device.
//
// States: lists of boxes, scores, labels and areas as they came, and of how many each image has.
class MeanAveragePrecision : public Metric {
public:
  explicit MeanAveragePrecision(const MeanAveragePrecisionOptions &options = {});
  DEVSAN_METRIC(MeanAveragePrecision)
  void update(const std::vector<Detections> &preds, const std::vector<GroundTruth> &target);
  at::Tensor compute() const override;
  torch::OrderedDict<std::string, at::Tensor> compute_dict() const override;

protected:
  std::string signature() const override;
  void check_loaded(const std::vector<at::Tensor> &states) const override;

private:
  void check_rows(const std::vector<at::Tensor> &states, size_t numbers,
                  std::initializer_list<size_t> lists) const;
  void check_images(const std::vector<Detections> &preds,
                    const std::vector<GroundTruth> &target) const;
  std::vector<double> iou_thresholds() const;
  std::vector<double> recall_thresholds() const;

  MeanAveragePrecisionOptions options_;
  std::vector<int64_t> max_detections_; // ascending
};

// The functional form, of all images at once; of no images all is -1, on the CPU.
torch::OrderedDict<std::string, at::Tensor>
mean_average_precision(const std::vector<Detections> &preds, const std::vector<GroundTruth> &target,
                       const MeanAveragePrecisionOptions &options = {});

} // namespace devsan::metrics
