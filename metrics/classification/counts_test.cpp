// The pass over CPU memory against the operators, on inputs that are hard to decide.
#include "metrics/classification/counts.h"

#include <limits>

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "metrics/classification/accuracy.h"
#include "metrics/classification/classification_reference.h"
#include "metrics/classification/confusion_matrix.h"
#include "test/support/expect_error.h"
#include "test/support/values.h"

namespace devsan::metrics {
namespace {

using test::values;

constexpr std::array kTasks = {Task::kBinary, Task::kMulticlass, Task::kMultilabel};

TaskConfig config_of(Task task, int64_t classes) {
  TaskConfig config{BinaryAccuracyOptions()};
  config.task = task;
  config.classes = task == Task::kBinary ? 1 : classes;
  return config;
}

void expect_equal(const TaskConfig &config, const at::Tensor &preds, const at::Tensor &target,
                  const std::string &what) {
  check_shapes(config, "CountsTest", preds, target);
  std::vector<Tally> tallies{Tally::kTotals, Tally::kMargins, Tally::kMatrix};
  if (config.task == Task::kMulticlass || (config.task == Task::kMultilabel && preds.dim() == 2))
    tallies.push_back(Tally::kSamples);
  for (const Tally tally : tallies) {
    ASSERT_TRUE(counts_on_cpu(config, tally, preds));
    const BatchCounts one = count_on_cpu(config, tally, preds, target);
    const BatchCounts other = count_on_device(config, tally, preds, target);
    const at::Tensor state = at::ones(tally_sizes(config, tally), at::kLong);
    const at::Tensor sum = added(state, one, /*may_change=*/false);
    EXPECT_EQ(sum.sizes(), other.counts.sizes()) << what;
    EXPECT_EQ(sum.scalar_type(), at::kLong);
    EXPECT_EQ(values<int64_t>(sum - 1), values<int64_t>(other.counts))
        << what << ", tally " << static_cast<int>(tally);
    EXPECT_EQ(one.out_of_range.defined() ? values<int64_t>(one.out_of_range)[0] : 0,
              values<int64_t>(other.out_of_range)[0])
        << what;
  }
}

// Few values, so that there are ties; now and then infinite or NaN.
at::Tensor hard_scores(at::IntArrayRef sizes, at::ScalarType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor rare = at::rand(sizes);
  return at::randint(0, 5, sizes, at::kDouble)
      .div(4)
      .masked_fill(rare.lt(0.06), kInfinity)
      .masked_fill(rare.lt(0.04), -kInfinity)
      .masked_fill(rare.lt(0.02), NAN)
      .to(dtype);
}

TEST(CountsOnCpu, EqualThoseOfTheOperators) {
  at::manual_seed(7);
  for (const Task task : kTasks)
    for (const int64_t classes : {2, 5, 70})
      for (const at::ScalarType dtype :
           {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16, at::kLong})
        for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}, {-1}})
          for (const std::vector<int64_t> &inner : {std::vector<int64_t>{}, {1}, {3, 2}, {0}}) {
            TaskConfig config = config_of(task, classes);
            config.ignore_index = ignore_index;
            config.threshold = 0.25;
            config.from_logits = inner.empty();
            const bool labels = at::isIntegralType(dtype, false);
            const int64_t n = classes == 5 ? 300 : 9; // more than a block, too
            std::vector<int64_t> sizes{n};
            if (task == Task::kMultilabel || (task == Task::kMulticlass && !labels))
              sizes.push_back(classes);
            sizes.insert(sizes.end(), inner.begin(), inner.end());
            std::vector<int64_t> target_sizes = sizes;
            if (task == Task::kMulticlass && !labels)
              target_sizes.erase(target_sizes.begin() + 1);
            const int64_t top = task == Task::kMulticlass ? classes : 2;
            const at::Tensor preds =
                labels ? at::randint(-1, top + 1, sizes, dtype) : hard_scores(sizes, dtype);
            const at::Tensor target = at::randint(-1, top + 1, target_sizes, at::kLong);
            expect_equal(config, preds, target,
                         c10::str("task ", static_cast<int>(task), ", ", classes, " classes, ",
                                  dtype, ", inner ", inner, ", ignore ",
                                  ignore_index.value_or(-9)));
          }
}

TEST(CountsOnCpu, TakeAnyLayoutAndOtherLabelDtypes) {
  at::manual_seed(8);
  const at::Tensor target = at::randint(0, 6, {40}, at::kLong);
  const TaskConfig config = config_of(Task::kMulticlass, 6);
  expect_equal(config, at::randn({6, 40}).t(), target.to(at::kByte), "transposed");
  expect_equal(config, at::randn({80, 6}).slice(0, 0, 80, 2), target, "every second");
  expect_equal(config, at::randn({1, 6}).expand({40, 6}), target, "expanded");
  TaskConfig binary = config_of(Task::kBinary, 1);
  expect_equal(binary, at::rand({40}).gt(0.5), target.gt(2), "bool");
  // A byte of 255 is not -1, nor one of 1 257.
  const at::Tensor bytes = target.gt(2).to(at::kByte).masked_fill(target.eq(5), 255);
  for (const int64_t ignore_index : {-1, 257}) {
    binary.ignore_index = ignore_index;
    expect_equal(binary, at::rand({40}), bytes, "bytes");
    EXPECT_EQ(values<int64_t>(count_on_device(binary, Tally::kMargins, at::rand({40}), bytes)
                                  .out_of_range.reshape(1)),
              values<int64_t>(target.eq(5).sum().reshape(1)));
  }
  expect_equal(config, at::empty({0, 6}), target.narrow(0, 0, 0), "nothing");
}

// Long enough to be divided, where LibTorch has threads.
TEST(CountsOnCpu, AddUpInParts) {
  at::manual_seed(9);
  constexpr int64_t n = 20000;
  const at::Tensor target = at::randint(0, 10, {n}, at::kLong);
  expect_equal(config_of(Task::kMulticlass, 10), at::randn({n, 10}), target, "scores");
  expect_equal(config_of(Task::kMulticlass, 10), at::randint(0, 11, {n}, at::kLong), target,
               "labels");
  for (const int64_t labels : {10, 300})
    expect_equal(config_of(Task::kMultilabel, labels), at::rand({n / labels, labels}),
                 at::rand({n / labels, labels}).gt(0.3), "several labels");
  const at::Tensor rows = at::rand({n / 4, 4}).gt(0.5);
  const at::Tensor wrong = at::rand({n / 4, 4}).gt(0.9);
  expect_equal(config_of(Task::kMultilabel, 4), rows.to(at::kFloat), rows.bitwise_xor(wrong),
               "mostly right rows");
  // Samples of several parts: many of them in a block, and each in several.
  for (const int64_t parts : {4, 255, 256, 257, 600})
    for (const std::optional<int64_t> ignore_index : {std::optional<int64_t>(), {1}}) {
      TaskConfig config = config_of(Task::kMulticlass, 10);
      config.ignore_index = ignore_index;
      const at::Tensor wanted = at::randint(0, 10, {n / parts, parts}, at::kLong);
      wanted.select(0, 1).fill_(1); // all ignored
      wanted.select(0, 2).select(0, parts - 1).fill_(10);
      const at::Tensor other = at::rand(wanted.sizes()).lt(0.5 / static_cast<double>(parts));
      const at::Tensor said = (wanted + other).remainder(10);
      EXPECT_GT(count_on_cpu(config, Tally::kSamples, said, wanted).counts[0].item<int64_t>(), 9);
      expect_equal(config, said, wanted, c10::str("labels, parts ", parts));
      const at::Tensor scores = at::one_hot(said, 10).transpose(1, 2).to(at::kFloat);
      expect_equal(config, scores, wanted, c10::str("scores, parts ", parts));
    }
}

// A batch is added in place, unless somebody else holds the state. The batches are smaller than the
// one matrix and larger than the other.
TEST(CountsOnCpu, ChangeOnlyWhatIsTheMetricsOwn) {
  const at::Tensor labels = at::tensor({1, 2, 2}, at::kLong);
  const auto total = [](const at::Tensor &x) { return x.sum().item<int64_t>(); };
  for (const int64_t classes : {3, 100}) {
    MulticlassConfusionMatrix metric(classes), other(classes);
    metric.update(labels, labels);
    const void *before = metric.states()[0].data_ptr();
    metric.update(labels, labels);
    EXPECT_EQ(metric.states()[0].data_ptr(), before);
    EXPECT_EQ(total(metric.compute()), 6);

    const auto checkpoint = metric.state_dict();
    metric.update(labels, labels);
    EXPECT_EQ(total(checkpoint["counts"]), 6);
    other.merge(metric);
    metric.update(labels, labels);
    EXPECT_EQ(total(other.compute()), 9);
    EXPECT_EQ(total(metric.compute()), 12);
    const at::Tensor view = metric.states()[0].view(-1);
    const at::Tensor result = metric.compute();
    metric.update(labels, labels);
    EXPECT_EQ(total(view), 12);
    EXPECT_EQ(total(result), 12);
    EXPECT_ERROR(metric.update(labels, labels + classes - 1), "3 of 3", "outside [0,");
    EXPECT_EQ(total(metric.compute()), 15);
  }
}

// A checkpoint may hold them in another layout.
TEST(CountsOnCpu, AreAddedInAnyLayout) {
  const at::Tensor target = at::tensor({1, 2, 2}, at::kLong),
                   preds = at::tensor({0, 0, 1}, at::kLong);
  for (const int64_t classes : {3, 100}) {
    MulticlassConfusionMatrix metric(classes), loaded(classes);
    metric.update(preds, target);
    torch::OrderedDict<std::string, at::Tensor> states;
    states.insert("counts", metric.states()[0].t().contiguous().t());
    states.insert("out_of_range", metric.states()[1]);
    loaded.load_state_dict(states);
    for (MulticlassConfusionMatrix *any : {&metric, &loaded})
      any->update(preds, target);
    EXPECT_EQ(values(loaded.compute()), values(metric.compute()));
  }
}

TEST(CountsOnCpu, LeaveTopKAndRowsOfPartsToTheOperators) {
  EXPECT_FALSE(
      counts_on_cpu(config_of(Task::kMultilabel, 4), Tally::kSamples, at::empty({1, 4, 2})));
  TaskConfig config = config_of(Task::kMulticlass, 4);
  EXPECT_FALSE(counts_on_cpu(config, Tally::kMargins, at::empty({1, 4}, at::kMeta)));
  config.top_k = 2;
  EXPECT_FALSE(counts_on_cpu(config, Tally::kMargins, at::empty({1, 4})));
}

} // namespace
} // namespace devsan::metrics
