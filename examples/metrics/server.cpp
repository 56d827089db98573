// An inference server: each worker thread has metrics of its own, so that no request waits for
// another, and whoever asks for the statistics merges copies of them.
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/ATen.h>

#include "metrics/aggregation/mean_metric.h"
#include "metrics/classification/accuracy.h"

using namespace devsan::metrics;

namespace {

constexpr int64_t kClasses = 10;

class Worker {
public:
  // One thread.
  void serve(const at::Tensor &scores, const at::Tensor &target, double milliseconds) {
    const std::lock_guard lock(mutex_); // held against statistics() alone
    accuracy_.update(scores, target);
    latency_.update(milliseconds);
  }

  // Any thread. Copies share their states until one of both goes on, so that the lock is held for a
  // moment.
  std::pair<MulticlassAccuracy, MeanMetric> statistics() const {
    const std::lock_guard lock(mutex_);
    return {accuracy_, latency_};
  }

private:
  mutable std::mutex mutex_;
  MulticlassAccuracy accuracy_{MulticlassAccuracyOptions(kClasses).average(Average::kMicro)};
  MeanMetric latency_;
};

} // namespace

int main() {
  constexpr int kThreads = 4, kRequests = 50, kBatch = 8;
  std::vector<Worker> workers(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&worker = workers[i], i] {
      for (int request = 0; request < kRequests; ++request) {
        // Every tenth prediction of the first worker is wrong.
        const at::Tensor target = at::arange(kBatch).remainder(kClasses);
        at::Tensor scores = at::one_hot(target, kClasses).to(at::kFloat);
        if (i == 0 && request % 10 == 0)
          scores = scores.roll(1, 1);
        worker.serve(scores, target, 2.0 + i);
      }
    });

  const auto statistics = [&] {
    auto [accuracy, latency] = workers.front().statistics();
    for (size_t i = 1; i < workers.size(); ++i) {
      const auto [other_accuracy, other_latency] = workers[i].statistics();
      accuracy.merge(other_accuracy);
      latency.merge(other_latency);
    }
    return std::pair(accuracy, latency);
  };
  statistics(); // while requests are served
  for (std::thread &thread : threads)
    thread.join();

  const auto [accuracy, latency] = statistics();
  std::cout << "accuracy " << accuracy.compute().item<float>() << ", latency "
            << latency.compute().item<float>() << " ms\n";
  const bool right = std::abs(accuracy.compute().item<float>() - 0.975) < 1e-6 &&
                     std::abs(latency.compute().item<float>() - 3.5) < 1e-6;
  return right ? 0 : 1;
}
