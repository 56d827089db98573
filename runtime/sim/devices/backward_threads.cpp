#include "runtime/sim/c_api.h"

#include <cstdio>
#include <cstring>

#include <dirent.h>

#include <ATen/ops/ones.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include "devices.h"

namespace {

// LibTorch starts a thread for each device at the first backward of the process.
bool hasBackwardThreads() {
  DIR *threads = opendir("/proc/self/task");
  if (!threads)
    return false;
  bool found = false;
  while (const dirent *thread = found ? nullptr : readdir(threads)) {
    char path[sizeof "/proc/self/task//comm" + sizeof thread->d_name], name[16] = "";
    std::snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread->d_name);
    if (std::FILE *file = std::fopen(path, "re")) {
      found = std::fgets(name, sizeof name, file) && std::strncmp(name, "pt_autograd", 11) == 0;
      std::fclose(file);
    }
  }
  closedir(threads);
  return found;
}

} // namespace

// A thread works off its queue one task at a time, and drops a task before it takes the next: when
// it has done one of ours, which Python knows nothing of, it owes Python nothing.
void devsan_sim_finish_backward() try {
  devsan::sim::stopNotingUses();
  if (!hasBackwardThreads())
    return;
  c10::InferenceMode no_inference(false);
  c10::AutoGradMode with_grad(true);
  for (c10::DeviceIndex index = 0; index < devsan::sim::deviceCount(); ++index)
    at::ones({}, at::TensorOptions(c10::Device(c10::kCUDA, index)))
        .set_requires_grad(true)
        .neg()
        .backward();
} catch (...) {
  // The program is about to end, and may have ended its threads already.
}
