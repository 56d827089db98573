// The metrics of boxes and segments: a line for each, with what its options do not say.

#include "metrics/python/binding.h"

#include "metrics/detection/mean_average_precision.h"
#include "metrics/detection/panoptic_quality.h"
#include "metrics/segmentation/mean_iou.h"

namespace devsan::metrics::python {

namespace {

// An image of `preds` or `target`: a dictionary of tensors.
class Image {
public:
  Image(const Kind &kind, size_t input, PyObject *given)
      : kind_(kind), input_(kind.about.inputs[input]), given_(Object::borrowed(given)) {
    TORCH_CHECK_TYPE(PyDict_Check(given), kind.name, ": Expected argument `", input_,
                     "` to hold a dictionary for each image, but got ", type_name(given));
  }

  at::Tensor operator[](const char *key) const {
    const at::Tensor found = get(key);
    TORCH_CHECK_VALUE(found.defined(), kind_.name, ": Expected all dicts in `", input_,
                      "` to contain the `", key, "` key");
    return found;
  }

  // Undefined where it is not there.
  at::Tensor get(const char *key) const {
    PyObject *const found = find(given_.get(), key);
    if (!found)
      return {};
    TORCH_CHECK_TYPE(is_tensor(found), kind_.name, ": Expected all ", key, " in `", input_,
                     "` to be of type Tensor, but got ", type_name(found));
    return tensor_in(found);
  }

private:
  const Kind &kind_;
  const char *input_;
  Object given_;
};

std::vector<Image> images_of(const Kind &kind, size_t input, PyObject *given) {
  TORCH_CHECK_VALUE(PyList_Check(given) || PyTuple_Check(given), kind.name, ": Expected argument `",
                    kind.about.inputs[input], "` to be of type Sequence, but got ",
                    type_name(given));
  std::vector<Image> images;
  for (const Object &image : items_of(given))
    images.emplace_back(kind, input, image.get());
  return images;
}

} // namespace

// update(preds, target), a dictionary for each image.
template <> void update<MeanAveragePrecision>(Handle &handle, PyObject *const *inputs) {
  std::vector<Detections> preds;
  std::vector<GroundTruth> target;
  for (const Image &image : images_of(handle.kind(), 0, inputs[0]))
    preds.push_back({image["boxes"], image["scores"], image["labels"]});
  for (const Image &image : images_of(handle.kind(), 1, inputs[1]))
    target.push_back({image["boxes"], image["labels"], image.get("iscrowd"), image.get("area")});
  handle.update<MeanAveragePrecision>(
      [&](MeanAveragePrecision &metric) { metric.update(preds, target); });
}

#define DEVSAN_BIND(domain, Class, function, ...)                                                  \
  bind<Class, Class##Options>(domain, #Class, #function, About __VA_ARGS__);

void bind_detection() {
  DEVSAN_BIND(
      "detection", MeanAveragePrecision, ,
      {.summary =
           R"(Mean average precision and recall of boxes by COCO's protocol, as pycocotools computes them, in C++.

compute(): a dictionary: map, map_50, map_75, map_small, map_medium, map_large, mar_<n> of each of max_detection_thresholds, mar_small,
mar_medium, mar_large, [], -1 where there is nothing to find; map_per_class, mar_<n>_per_class, classes, [classes], or [] of one class. It
waits for the device once, since boxes are matched on the host; `update()` does not.)",
       .higher_is_better = true,
       .by_name = true})
  DEVSAN_BIND(
      "detection", PanopticQuality, panoptic_quality,
      {.summary =
           R"(Panoptic quality of segments: of each category the sum of the intersections over unions of right segments, those with more
than a half, over their number and half of those wrong and missed; mean over the categories that occurred.

compute(): float64 (float32 where a device has no float64) [], or (panoptic, segmentation, recognition quality) with return_sq_and_rq, [3];
with return_per_class [1, C], or [C, 3], things first.)",
       .higher_is_better = true})
  DEVSAN_BIND(
      "detection", ModifiedPanopticQuality, modified_panoptic_quality,
      {.summary =
           R"(Panoptic quality, but of stuff the sum of the intersections over unions of all segments that meet, over the number of targets.

compute(): float64 (float32 where a device has no float64) [].)",
       .higher_is_better = true})
}

void bind_segmentation() {
  DEVSAN_BIND(
      "segmentation", MeanIoU, mean_iou,
      {.summary =
           R"(Mean intersection over union of classes: of each image and class that its prediction or its target has, mean over all of them.
The functional form is of each image, [N], or with per_class [N, C]. The ratio of all images' points together is MulticlassJaccardIndex.

compute(): [], or with per_class [C], -1 of classes that no image has.)",
       .higher_is_better = true})
}

} // namespace devsan::metrics::python
