// What bench/metrics.py times in C++: update() of a metric that was made in Python, on the same
// tensors in the same process, and a plain read of the same memory.
#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <time.h>
#include <vector>

#include <ATen/ATen.h>

#include "metrics/aggregation/cat_metric.h"
#include "metrics/aggregation/max_metric.h"
#include "metrics/aggregation/mean_metric.h"
#include "metrics/aggregation/min_metric.h"
#include "metrics/aggregation/sum_metric.h"
#include "metrics/retrieval/retrieval_metric.h"

namespace {

using namespace devsan::metrics;

double seconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class Call> double seconds_of(int calls, const Call &call) {
  const double begin = seconds();
  for (int i = 0; i < calls; ++i)
    call();
  return seconds() - begin;
}

template <class M>
double of_values(Metric &metric, const std::vector<at::Tensor> &inputs, int calls) {
  return seconds_of(calls, [&] { static_cast<M &>(metric).update(inputs[0]); });
}

// Seconds of `calls` times update(), or reset(), update() and compute(). `name` is that of the
// class, `address` that of the object.
double update_seconds(const std::string &name, uintptr_t address,
                      const std::vector<at::Tensor> &inputs, int calls, bool with_compute) {
  auto &metric = *reinterpret_cast<Metric *>(address);
  const struct {
    const char *name;
    double (*time)(Metric &, const std::vector<at::Tensor> &, int);
  } aggregators[] = {
      {"MeanMetric", of_values<MeanMetric>}, {"SumMetric", of_values<SumMetric>},
      {"MaxMetric", of_values<MaxMetric>},   {"MinMetric", of_values<MinMetric>},
      {"CatMetric", of_values<CatMetric>},   {"RunningMean", of_values<RunningMean>},
      {"RunningSum", of_values<RunningSum>},
  };
  for (const auto &aggregator : aggregators)
    if (name == aggregator.name)
      return aggregator.time(metric, inputs, calls);
  if (inputs.size() == 3) {
    auto &rankings = static_cast<RetrievalMetric &>(metric);
    return seconds_of(calls, [&] { rankings.update(inputs[0], inputs[1], inputs[2]); });
  }
  auto &supervised = static_cast<SupervisedMetric &>(metric);
  if (with_compute)
    return seconds_of(calls, [&] {
      metric.reset();
      supervised.update(inputs[0], inputs[1]);
      metric.compute();
    });
  return seconds_of(calls, [&] { supervised.update(inputs[0], inputs[1]); });
}

// Every word, in as many lanes as a core loads at once.
__attribute__((target_clones("avx512f", "avx2", "default"))) uint64_t words(const uint64_t *data,
                                                                            size_t count) {
  constexpr size_t kLanes = 64;
  uint64_t lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] ^= data[i + lane];
  uint64_t all = 0;
  for (; i < count; ++i)
    all ^= data[i];
  for (const uint64_t lane : lanes)
    all ^= lane;
  return all;
}

// Seconds of `calls` times reading all inputs, which are contiguous.
double read_seconds(const std::vector<at::Tensor> &inputs, int calls) {
  volatile uint64_t sink = 0;
  return seconds_of(calls, [&] {
    for (const at::Tensor &input : inputs)
      sink = sink ^ words(static_cast<const uint64_t *>(input.data_ptr()), input.nbytes() / 8);
  });
}

// Of torch.Tensor._cdata.
std::vector<at::Tensor> tensors_at(c10::TensorImpl *const *tensors, int count) {
  std::vector<at::Tensor> all;
  for (int i = 0; i < count; ++i)
    all.emplace_back(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(tensors[i]));
  return all;
}

} // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED double devsan_bench_update(const char *name, uintptr_t metric,
                                    c10::TensorImpl *const *inputs, int count, int calls,
                                    int with_compute) {
  return update_seconds(name, metric, tensors_at(inputs, count), calls, with_compute);
}

EXPORTED double devsan_bench_read(c10::TensorImpl *const *inputs, int count, int calls) {
  return read_seconds(tensors_at(inputs, count), calls);
}
