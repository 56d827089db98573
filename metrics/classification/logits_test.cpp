// Whether scores are logits, where that is not said, in each family of metrics that takes scores.

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/calibration_error.h"
#include "metrics/classification/classification_reference.h"
#include "metrics/classification/exact_match.h"
#include "metrics/classification/hinge_loss.h"
#include "test/support/devices.h"

namespace devsan::metrics {
namespace {

using Made = std::unique_ptr<SupervisedMetric>;

struct LogitsCase {
  const char *title;
  Task task;
  std::function<Made(std::optional<bool> from_logits)> make;
};

template <class M, class Options> std::function<Made(std::optional<bool>)> maker(Options options) {
  return [options](std::optional<bool> from_logits) -> Made {
    Options with = options;
    with.ignore_index(-1).from_logits(from_logits);
    return std::make_unique<M>(with);
  };
}

constexpr int64_t kClasses = 3;

std::vector<LogitsCase> logits_cases() {
  const auto each_sample =
      MultilabelAccuracyOptions(kClasses).multidim_average(MultidimAverage::kSamplewise);
  return {
      {"counts", Task::kBinary, maker<BinaryAccuracy>(BinaryAccuracyOptions().threshold(0.6))},
      {"weighted", Task::kBinary, maker<BinaryAccuracy>(BinaryAccuracyOptions().weighted(true))},
      {"labels", Task::kMultilabel,
       maker<MultilabelExactMatch>(MultilabelExactMatchOptions(kClasses))},
      {"each sample", Task::kMultilabel, maker<MultilabelAccuracy>(each_sample)},
      {"thresholds", Task::kMulticlass,
       maker<MulticlassAUROC>(MulticlassAUROCOptions(kClasses, 9))},
      {"all scores", Task::kMulticlass, maker<MulticlassAUROC>(MulticlassAUROCOptions(kClasses))},
      {"labels' scores", Task::kMultilabel,
       maker<MultilabelAUROC>(MultilabelAUROCOptions(kClasses))},
      {"calibration", Task::kMulticlass,
       maker<MulticlassCalibrationError>(MulticlassCalibrationErrorOptions(kClasses))},
      {"loss", Task::kBinary, maker<BinaryHingeLoss>(BinaryHingeLossOptions())},
  };
}

// [6, 2], with the classes between them, as logits or probabilities; one sample is ignored, whose
// scores are no probabilities in any case.
Batch logits_batch(Task task, bool logits, at::ScalarType dtype) {
  const bool binary = task == Task::kBinary, multiclass = task == Task::kMulticlass;
  at::Tensor preds =
      at::randn(binary ? at::IntArrayRef{6, 2} : at::IntArrayRef{6, kClasses, 2}) * 4;
  if (!logits)
    preds = multiclass ? preds.softmax(1) : preds.sigmoid();
  at::Tensor target = multiclass ? at::randint(kClasses, {6, 2}) : at::randint(2, preds.sizes());
  preds[0].fill_(7);
  target[0].fill_(-1);
  return {preds.to(dtype), target};
}

class Logits : public test::DeviceTest {};
DEVSAN_DEVICE_SUITE(Logits);

TEST_P(Logits, AreThoseOfABatchWithAScoreThatIsNoProbability) {
  for (const LogitsCase &metric : logits_cases())
    for (const at::ScalarType dtype : {at::kFloat, at::kDouble, at::kHalf})
      for (const bool logits : {false, true}) {
        SCOPED_TRACE(c10::str(metric.title, ", ", dtype, logits ? ", logits" : ""));
        const Batch batch = logits_batch(metric.task, logits, dtype).on(device());
        const Made guessed = metric.make(std::nullopt), said = metric.make(logits);
        guessed->update(batch.preds, batch.target);
        said->update(batch.preds, batch.target);
        EXPECT_TRUE(at::allclose(guessed->compute().cpu(), said->compute().cpu(), 1e-5, 1e-6,
                                 /*equal_nan=*/true));
      }
}

// A NaN is out of range, and no reason to take its neighbours for probabilities.
TEST(LogitsOnCpu, AreGuessedBesideANaN) {
  const auto is_refused_for = [](std::optional<bool> from_logits, const char *number) {
    BinaryAUROC metric(BinaryAUROCOptions().from_logits(from_logits));
    try {
      metric.update(at::tensor({0.5, NAN, 7.0}), at::tensor({0, 1, 1}));
    } catch (const c10::Error &error) {
      return std::string(error.what_without_backtrace()).find(number) != std::string::npos;
    }
    return false;
  };
  EXPECT_TRUE(is_refused_for(false, "2 of 3 samples"));
  EXPECT_TRUE(is_refused_for(true, "1 of 3 samples"));
  EXPECT_TRUE(is_refused_for(std::nullopt, "1 of 3 samples"));
}

TEST_P(Logits, AreGuessedForEachBatch) {
  for (const LogitsCase &metric : logits_cases()) {
    SCOPED_TRACE(metric.title);
    const Batch a = logits_batch(metric.task, true, at::kFloat).on(device());
    const Batch b = logits_batch(metric.task, false, at::kFloat).on(device());
    const Made both = metric.make(std::nullopt), first = metric.make(std::nullopt),
               second = metric.make(std::nullopt);
    both->update(a.preds, a.target);
    both->update(b.preds, b.target);
    first->update(a.preds, a.target);
    second->update(b.preds, b.target);
    first->merge(*second);
    EXPECT_TRUE(at::equal(both->compute().cpu(), first->compute().cpu()));
    EXPECT_THROW(first->merge(*metric.make(false)), c10::Error);
  }
}

class LogitsNoSync : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(LogitsNoSync);

TEST_P(LogitsNoSync, AreGuessedWithoutAWait) {
  for (const LogitsCase &metric : logits_cases())
    for (const bool logits : {false, true}) {
      Batch batch;
      {
        const test::HostAccessScope host_access;
        batch = logits_batch(metric.task, logits, at::kFloat).on(device());
      }
      const devsan::ExpectNoSync no_sync;
      const Made guessed = metric.make(std::nullopt);
      for (int step = 0; step < 2; ++step)
        guessed->update(batch.preds, batch.target);
      EXPECT_EQ(guessed->compute().device(), device());
    }
}

} // namespace
} // namespace devsan::metrics
