// Captures of CUDA graphs for devsan/sim/graphs.py, which records operators and runs them again:
// the driver knows the stream as capturing, so that PyTorch's own code does, and no wait gets
// through.
#include "graphs.h"

#include <atomic>

#include <dlfcn.h>

#include "runtime/sim/c_api.h"
#include "runtime/sim/streams/capturing.h"
#include "runtime/sim/streams/stream_accesses.h"

namespace devsan::sim {
namespace {

std::atomic<bool> is_capturing{false};

template <typename Function> Function *inDriver(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}

} // namespace

bool isCapturing() {
  return is_capturing.load(std::memory_order_relaxed);
}

} // namespace devsan::sim

using namespace devsan::sim;

// By the stream's handle: LibTorch's ids are c10_cuda's to read.
void devsan_sim_begin_capture(std::int64_t stream, int device) {
  static auto *begin = inDriver<void(void *)>("devsan_standin_begin_capture");
  begin(reinterpret_cast<void *>(stream));
  beginCapture(c10::Stream(c10::Stream::UNSAFE,
                           c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(device)), stream));
  is_capturing.store(true, std::memory_order_relaxed);
}

bool devsan_sim_end_capture() {
  static auto *end = inDriver<int()>("devsan_standin_end_capture");
  is_capturing.store(false, std::memory_order_relaxed);
  endCapture();
  return end() != 0;
}

void devsan_sim_note_accesses(bool noted) {
  noteAccessesOfThread(noted);
}
