#include "metrics/metric.h"

#include <functional>
#include <numeric>

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/auroc.h"
#include "metrics/classification/f_beta.h"
#include "metrics/regression/concordance_corr_coef.h"
#include "metrics/regression/correlation_reference.h"
#include "metrics/regression/pearson_corr_coef.h"
#include "metrics/regression/spearman_corr_coef.h"
#include "metrics/retrieval/reciprocal_rank.h"
#include "test/support/devices.h"
#include "test/support/expect_error.h"
#include "test/support/store_backend.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;
using Group = c10::intrusive_ptr<c10d::ProcessGroup>;

const auto kDoubleResult = PearsonCorrCoefOptions().dtype(at::kDouble);

TEST(Accumulation, IsFloat64WhereTheDeviceHasIt) {
  EXPECT_EQ(default_accumulation(at::kCPU), Accumulation::kDouble);
  EXPECT_EQ(default_accumulation(at::Device(at::kCUDA, 1)), Accumulation::kDouble);
  EXPECT_EQ(default_accumulation(at::kMPS), Accumulation::kFloatPair);
  EXPECT_EQ(default_accumulation(at::kXPU), Accumulation::kFloatPair);
}

class AnyMetric : public test::DeviceTest {
protected:
  void SetUp() override { at::manual_seed(4); }
  Pairs pairs(int64_t n) const {
    const Pairs host = random_pairs(n);
    return {host.preds.to(device()), host.target.to(device())};
  }
};
DEVSAN_DEVICE_SUITE(AnyMetric);

TEST_P(AnyMetric, StatesFollowTheFirstInput) {
  PearsonCorrCoef metric;
  EXPECT_FALSE(metric.device());
  EXPECT_TRUE(metric.states().empty());
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  EXPECT_EQ(metric.device(), device());
  for (const at::Tensor &state : metric.states())
    EXPECT_EQ(state.device(), device());
}

TEST_P(AnyMetric, NamesBothDevicesAndTheRemedy) {
  const Pairs batch = pairs(8);
  PearsonCorrCoef fresh, used;
  EXPECT_ERROR(fresh.update(batch.preds, at::empty({8}, at::kMeta)), "PearsonCorrCoef",
               "`target` lies on meta", "preds lies on " + device().str(), "target.to(");
  EXPECT_FALSE(fresh.device());
  used.update(batch.preds, batch.target);
  const std::vector<double> before = values(used.compute());
  EXPECT_ERROR(used.update(at::empty({8}, at::kMeta), at::empty({8}, at::kMeta)), "PearsonCorrCoef",
               "`preds` lies on meta", "states lie on " + device().str(), "preds.to(",
               "metric.to(\"meta\")");
  EXPECT_EQ(values(used.compute()), before);
}

TEST_P(AnyMetric, TakesNoQuantizedAndNoNestedTensors) {
  PearsonCorrCoef metric;
  const at::Tensor x = at::rand({8});
  EXPECT_ERROR(metric.update(at::quantize_per_tensor(x, 0.1, 0, at::kQInt8), x), "PearsonCorrCoef",
               "`preds` has dtype QInt8", "preds.dequantize()");
  EXPECT_ERROR(metric.update(x, at::_nested_tensor_from_tensor_list({x, x})), "PearsonCorrCoef",
               "`target` is a nested tensor");
}

TEST_P(AnyMetric, StaysWhereItWasMoved) {
  PearsonCorrCoef metric;
  metric.to(device());
  EXPECT_EQ(metric.device(), device());
  EXPECT_ERROR(metric.update(at::empty({8}, at::kMeta), at::empty({8}, at::kMeta)), "meta");
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  metric.reset();
  EXPECT_EQ(metric.device(), device());
  EXPECT_ERROR(metric.compute(), "before the first update");
}

TEST_P(AnyMetric, MovesItsStates) {
  PearsonCorrCoef metric(kDoubleResult);
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  const double before = values(metric.compute())[0];
  metric.to(at::kCPU);
  EXPECT_EQ(metric.compute().device(), at::kCPU);
  EXPECT_EQ(values(metric.compute())[0], before);
  metric.to(device());
  metric.update(batch.preds, batch.target);
}

TEST_P(AnyMetric, ResetForgets) {
  PearsonCorrCoef metric(kDoubleResult), fresh(kDoubleResult);
  const Pairs first = pairs(8), second = pairs(9);
  metric.update(first.preds, first.target);
  metric.reset();
  EXPECT_FALSE(metric.device());
  metric.update(second.preds, second.target);
  fresh.update(second.preds, second.target);
  EXPECT_EQ(values(metric.compute()), values(fresh.compute()));
}

TEST_P(AnyMetric, MergesOnlyItsOwnKindOnItsOwnDevice) {
  PearsonCorrCoef metric, elsewhere, two_outputs(PearsonCorrCoefOptions(2));
  ConcordanceCorrCoef other;
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  elsewhere.update(at::empty({8}, at::kMeta), at::empty({8}, at::kMeta));
  EXPECT_ERROR(metric.merge(other), "PearsonCorrCoef", "ConcordanceCorrCoef");
  EXPECT_ERROR(metric.merge(two_outputs), "num_outputs=2", "num_outputs=1");
  EXPECT_ERROR(metric.merge(elsewhere), "PearsonCorrCoef", "meta", device().str(), "to()");
}

TEST_P(AnyMetric, SavesAndLoadsItsStates) {
  PearsonCorrCoef metric(kDoubleResult), restored(kDoubleResult),
      two_outputs(PearsonCorrCoefOptions(2));
  EXPECT_TRUE(metric.state_dict().is_empty());
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  restored.load_state_dict(metric.state_dict());
  metric.update(batch.preds, batch.target);
  restored.update(batch.preds, batch.target);
  EXPECT_EQ(values(restored.compute()), values(metric.compute()));

  EXPECT_ERROR(two_outputs.load_state_dict(metric.state_dict()), "PearsonCorrCoef", "`mean_x`",
               "[1, 1]", "[1, 2]");
  EXPECT_ERROR(MulticlassAccuracy(3).load_state_dict(metric.state_dict()), "MulticlassAccuracy",
               "6 states, not 2");
  restored.to(at::kCPU);
  if (!device().is_cpu())
    EXPECT_ERROR(restored.load_state_dict(metric.state_dict()), "cpu", device().str(), "move them");
  restored.load_state_dict(PearsonCorrCoef().state_dict());
  EXPECT_ERROR(restored.compute(), "before the first update");
}

TEST_P(AnyMetric, LoadsListsThatItCouldHaveSeen) {
  const at::TensorOptions labels = at::TensorOptions().device(device()).dtype(at::kLong);
  const auto with = [](torch::OrderedDict<std::string, at::Tensor> states, const char *name,
                       const std::function<at::Tensor(const at::Tensor &)> &change) {
    states[name] = change(states[name]);
    return states;
  };
  const auto first_two = [](const at::Tensor &x) { return x.narrow(0, 0, 2); };
  const auto restored = [](const Metric &metric, const auto &states) {
    const std::unique_ptr<Metric> other = metric.clone();
    other->reset();
    other->load_state_dict(states);
    return values(other->compute());
  };

  MulticlassAUROC auroc(5), seven(7);
  auroc.update(at::rand({6, 5}, device()), at::randint(5, {6}, labels));
  EXPECT_EQ(restored(auroc, auroc.state_dict()), values(auroc.compute()));
  EXPECT_ERROR(seven.load_state_dict(auroc.state_dict()), "MulticlassAUROC", "`preds`", "[6, 5]",
               "[6, 7]", "load_state_dict()", "same options");
  EXPECT_TRUE(seven.states().empty());
  EXPECT_ERROR(seven.load_state_dict(with(auroc.state_dict(), "target", first_two)), "`target`",
               "[2]");
  MulticlassF1Score each(
      MulticlassF1ScoreOptions(5).multidim_average(MultidimAverage::kSamplewise));
  MulticlassF1Score of_three(
      MulticlassF1ScoreOptions(3).multidim_average(MultidimAverage::kSamplewise));
  each.update(at::randint(5, {6, 2}, labels), at::randint(5, {6, 2}, labels));
  EXPECT_EQ(restored(each, each.state_dict()), values(each.compute()));
  EXPECT_ERROR(of_three.load_state_dict(each.state_dict()), "MulticlassF1Score", "`counts`",
               "[6, 3, 5]", "[3, 3]");

  SpearmanCorrCoef spearman, two_outputs(SpearmanCorrCoefOptions(2));
  const Pairs batch = pairs(6);
  spearman.update(batch.preds, batch.target);
  EXPECT_EQ(restored(spearman, spearman.state_dict()), values(spearman.compute()));
  EXPECT_ERROR(two_outputs.load_state_dict(spearman.state_dict()), "SpearmanCorrCoef", "[6]",
               "[N, 2]");
  EXPECT_ERROR(spearman.load_state_dict(with(spearman.state_dict(), "target", first_two)),
               "SpearmanCorrCoef", "`target` [2]");
  EXPECT_EQ(spearman.states()[0].size(0), 6);

  RetrievalMRR mrr;
  mrr.update(at::rand({6}, device()), at::randint(2, {6}, labels), at::randint(2, {6}, labels));
  EXPECT_EQ(restored(mrr, mrr.state_dict()), values(mrr.compute()));
  EXPECT_ERROR(mrr.load_state_dict(with(mrr.state_dict(), "indexes", first_two)), "RetrievalMRR",
               "same shape, but are [2]");
  EXPECT_ERROR(mrr.load_state_dict(with(mrr.state_dict(), "indexes",
                                        [](const at::Tensor &x) { return x.to(at::kFloat); })),
               "but has dtype Float");
}

TEST_P(AnyMetric, NamesItsStateForExpectSameDevice) {
  PearsonCorrCoef metric;
  const Pairs batch = pairs(8);
  metric.update(batch.preds, batch.target);
  devsan::expectSameDevice(metric, batch.preds);
  EXPECT_ERROR(devsan::expectSameDevice(metric, at::empty({1}, at::kMeta)), "count", device().str(),
               "meta");
}

TEST_P(AnyMetric, KeepsNoGraph) {
  PearsonCorrCoef metric;
  const Pairs batch = pairs(8);
  metric.update(batch.preds.requires_grad_(), batch.target);
  for (const at::Tensor &state : metric.states())
    EXPECT_FALSE(state.requires_grad());
}

TEST_P(AnyMetric, WorksAcrossInferenceModeAndAutocast) {
  PearsonCorrCoef metric(kDoubleResult), plain(kDoubleResult);
  const Pairs first = pairs(8), second = pairs(8);
  {
    const c10::InferenceMode inference;
    metric.update(first.preds, first.target);
  }
  const auto type = device().type();
  at::autocast::set_autocast_enabled(type, true);
  metric.update(second.preds, second.target);
  const at::Tensor result = metric.compute();
  at::autocast::set_autocast_enabled(type, false);
  plain.update(first.preds, first.target);
  plain.update(second.preds, second.target);
  EXPECT_EQ(result.scalar_type(), at::kDouble);
  EXPECT_EQ(values(result), values(plain.compute()));
}

TEST_P(AnyMetric, SyncsUnevenAndEmptyRanks) {
  for (const std::vector<int64_t> &lengths : {std::vector<int64_t>{30, 7}, {0, 12}, {5, 0, 40}}) {
    const auto ranks = static_cast<int>(lengths.size());
    const int64_t total = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const Pairs all = pairs(total);
    PearsonCorrCoef whole(kDoubleResult);
    whole.update(all.preds, all.target);
    const double expected = values(whole.compute())[0];
    std::vector<double> results(ranks);

    test::onRanks(ranks, [&](const Group &group) {
      const int rank = group->getRank();
      const int64_t start = std::accumulate(lengths.begin(), lengths.begin() + rank, int64_t{0});
      PearsonCorrCoef metric(kDoubleResult);
      if (lengths[rank] > 0) // an idle rank knows no device
        metric.update(all.preds.narrow(0, start, lengths[rank]),
                      all.target.narrow(0, start, lengths[rank]));
      metric.sync(group);
      results[rank] = values(metric.compute())[0];
      EXPECT_ERROR(metric.update(all.preds, all.target), "unsync()");
      EXPECT_ERROR(metric.sync(group), "unsync()");
      metric.unsync();
      if (lengths[rank] > 0) {
        EXPECT_EQ(values<int64_t>(metric.states()[0])[0], lengths[rank]);
        metric.update(all.preds, all.target);
      } else {
        EXPECT_ERROR(metric.compute(), "before the first update");
      }
    });
    for (const double result : results) {
      EXPECT_EQ(result, results[0]); // the same bits on every rank
      EXPECT_NEAR(result, expected, 1e-13);
    }
  }
}

TEST_P(AnyMetric, SyncsCounts) {
  test::onRanks(3, [&](const Group &group) {
    MulticlassAccuracy metric(MulticlassAccuracyOptions(4).average(Average::kMicro));
    const int64_t n = 2 * group->getRank() + 1;
    const at::Tensor target =
        at::full({n}, group->getRank(), at::TensorOptions().dtype(at::kLong).device(device()));
    metric.update(at::zeros_like(target), target);
    metric.sync(group);
    EXPECT_FLOAT_EQ(values(metric.compute())[0], 1. / 9);
  });
}

TEST_P(AnyMetric, SyncOfDifferentRanksIsAnErrorOnEach) {
  test::onRanks(2, [&](const Group &group) {
    MulticlassAccuracy metric(MulticlassAccuracyOptions(4 + group->getRank()));
    const at::Tensor labels = at::zeros({3}, at::TensorOptions().dtype(at::kLong).device(device()));
    metric.update(labels, labels);
    EXPECT_ERROR(metric.sync(group), "MulticlassAccuracy", "rank", "num_classes",
                 "the same metric");
    EXPECT_EQ(values(metric.compute())[0], 1);
  });
  test::onRanks(2, [&](const Group &group) {
    PearsonCorrCoef metric;
    EXPECT_ERROR(metric.sync(group), "PearsonCorrCoef", "before any rank's first update");
    EXPECT_ERROR(metric.unsync(), "without a sync()");
  });
}

// Run by a test of its own, which expects the run to fail: else a silent sanitizer would pass for a
// clean library.
class WaitingOnPurpose : public test::NoSyncTest {};
DEVSAN_DEVICE_SUITE(WaitingOnPurpose);

TEST_P(WaitingOnPurpose, DISABLED_IsReported) {
  const at::Tensor labels = at::zeros({4}, at::TensorOptions().dtype(at::kLong).device(device()));
  const devsan::ExpectNoSync no_sync;
  MulticlassAccuracy metric(MulticlassAccuracyOptions(3).validate(Validate::kEager));
  metric.update(labels, labels);
}

} // namespace
} // namespace devsan::metrics
