// Evaluation of a model on several ranks, as a class for Python: torchrun and torch.distributed set
// up the process group, and C++ finds it by its name. (LibTorch's packages come without the headers
// of Gloo and NCCL that a program in C++ alone would need to make one; with a build of LibTorch
// that has them, pass a c10d::ProcessGroupGloo or ...NCCL to sync().)
#include <string>

#include <torch/csrc/distributed/c10d/GroupRegistry.hpp>
#include <torch/custom_class.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/f_beta.h"
#include "metrics/collection.h"

using namespace devsan::metrics;

namespace {

class Evaluation : public torch::CustomClassHolder {
public:
  explicit Evaluation(int64_t num_classes)
      : metrics_({{"accuracy", MulticlassAccuracy(num_classes)},
                  {"f1", MulticlassF1Score(num_classes)},
                  {"auroc", MulticlassAUROC(MulticlassAUROCOptions(num_classes, 100))}}) {}

  void update(const at::Tensor &preds, const at::Tensor &target) { metrics_.update(preds, target); }

  // Over the samples of all ranks; all states travel in one exchange. Every rank must call it.
  c10::Dict<std::string, at::Tensor> compute(const std::string &group_name) {
    metrics_.sync(c10d::resolve_process_group(group_name));
    c10::Dict<std::string, at::Tensor> values;
    for (const auto &result : metrics_.compute())
      values.insert(result.key(), result.value());
    metrics_.unsync();
    return values;
  }

private:
  MetricCollection metrics_;
};

} // namespace

TORCH_LIBRARY(devsan_example, library) {
  library.class_<Evaluation>("Evaluation")
      .def(torch::init<int64_t>())
      .def("update", &Evaluation::update)
      .def("compute", &Evaluation::compute);
}
