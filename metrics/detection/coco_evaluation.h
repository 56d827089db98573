// COCO's protocol for detected boxes, as pycocotools' COCOeval has it, in plain numbers on the
// host: detections are matched with the truth image by image and class by class, from the best
// score down, which is a loop whose lengths are values.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace devsan::metrics {

struct CocoBox {
  double x, y, width, height; // x and y of the corner with the smallest ones
  double area() const { return width * height; }
};

struct CocoDetection {
  CocoBox box;
  double score;
  int64_t label, image;
};

struct CocoTruth {
  CocoBox box;
  double area; // of what the box is around
  bool crowd;  // detections in it count neither as right nor as wrong
  int64_t label, image;
};

struct CocoParameters {
  std::vector<double> iou_thresholds, recall_thresholds;
  std::vector<int64_t> max_detections; // ascending; detections of an image and a class
  // Whether precision and score are wanted for all max_detections, or for the largest only.
  bool all_precisions = false;
};

// The ranges of area that results are of: all, small, medium, large.
constexpr size_t kCocoAreas = 4;
extern const std::array<std::pair<double, double>, kCocoAreas> kCocoAreaRanges;

// The results of a class, -1 where there is nothing to find: T thresholds of the IoU, R of the
// recall, A areas, M numbers of detections.
struct CocoClass {
  std::vector<double> recall;            // [A, M, T]
  std::vector<double> precision, scores; // [A, M, T, R]; of M the last only unless all_precisions
};

// The labels that occur, ascending.
std::vector<int64_t> coco_labels(const std::vector<CocoDetection> &detections,
                                 const std::vector<CocoTruth> &truths);

// Calls `visit` with the results of each of coco_labels(), in their order.
void evaluate_coco(std::vector<CocoDetection> detections, std::vector<CocoTruth> truths,
                   const CocoParameters &parameters,
                   const std::function<void(const CocoClass &)> &visit);

} // namespace devsan::metrics
