#include "runtime/sim/api/c_api.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include <dirent.h>

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "devices.h"

namespace {

bool hasThreads(const char *name_start) {
  DIR *threads = opendir("/proc/self/task");
  if (!threads)
    return false;
  bool found = false;
  while (const dirent *thread = found ? nullptr : readdir(threads)) {
    char path[sizeof "/proc/self/task//comm" + sizeof thread->d_name], name[16] = "";
    std::snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread->d_name);
    if (std::FILE *file = std::fopen(path, "re")) {
      found = std::fgets(name, sizeof name, file) &&
              std::strncmp(name, name_start, std::strlen(name_start)) == 0;
      std::fclose(file);
    }
  }
  closedir(threads);
  return found;
}

// LibTorch starts a thread for each device at the first backward of the process.
void finishBackwardThreads() {
  if (!hasThreads("pt_autograd"))
    return;
  c10::InferenceMode no_inference(false);
  c10::AutoGradMode with_grad(true);
  for (c10::DeviceIndex index = 0; index < devsan::sim::deviceCount(); ++index)
    if (devsan::sim::isUsed(index))
      at::ones({}, at::TensorOptions(c10::Device(c10::kCUDA, index)))
          .set_requires_grad(true)
          .neg()
          .backward();
}

// TorchScript's forks run on a pool. Its threads all have a task of ours at the same time: then
// none has another. One that is busy for long is not waited for.
void finishPoolThreads() {
  if (!hasThreads("PTThreadPool"))
    return;
  struct Meeting {
    std::mutex mutex;
    std::condition_variable all_here;
    int missing = at::get_num_interop_threads();

    bool wait(std::unique_lock<std::mutex> &lock) {
      return all_here.wait_for(lock, std::chrono::seconds(1), [&] { return missing == 0; });
    }
  };
  auto meeting = std::make_shared<Meeting>();
  const int count = meeting->missing;
  for (int i = 0; i < count; ++i)
    at::launch([meeting] {
      std::unique_lock lock(meeting->mutex);
      if (--meeting->missing == 0)
        meeting->all_here.notify_all();
      meeting->wait(lock);
    });
  std::unique_lock lock(meeting->mutex);
  meeting->wait(lock);
}

} // namespace

// A thread works off its queue one task at a time, and drops a task before it takes the next: when
// it has done one of ours, which Python knows nothing of, it owes Python nothing.
void devsan_sim_finish_backward() try {
  devsan::sim::stopRecordingUses();
  finishBackwardThreads();
  finishPoolThreads();
} catch (...) {
  // The program is about to end, and may have ended its threads already.
}
