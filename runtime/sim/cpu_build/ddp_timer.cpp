// DistributedDataParallel times its iterations with a timer of its device's type; a CPU build has
// none for CUDA. Simulated work is done when its call returns, so host time is device time.
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

namespace devsan::sim {
namespace {

class CudaTimer final : public c10d::Timer {
public:
  explicit CudaTimer(c10::Device) {}

  std::optional<int64_t> measureDifference(Event start, Event end) override {
    int64_t from = getTimeRef(start);
    int64_t to = getTimeRef(end);
    // As on CUDA: an event that this iteration did not record is older than its start.
    if (from == c10d::kUnsetTime || to == c10d::kUnsetTime || to < from)
      return std::nullopt;
    return to - from;
  }
};

} // namespace
} // namespace devsan::sim

namespace c10d {
using devsan::sim::CudaTimer;
C10_REGISTER_TYPED_CLASS(TimerRegistry, c10::kCUDA, CudaTimer)
} // namespace c10d
