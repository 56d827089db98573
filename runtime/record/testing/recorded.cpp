// The tests' program starts itself again under the preload shim, with two simulated devices, and
// reads its own event log while it runs.
#include "runtime/record/testing/recorded.h"

#include <ATen/ops/ones.h>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>

namespace devsan::runtime {

at::Tensor onSecond() {
  return at::ones({4, 4}, kSecond);
}

ProcessLog readOwnLog(pid_t pid) {
  for (const auto &entry : std::filesystem::directory_iterator(std::getenv("DEVSAN_LOG_DIR"))) {
    auto log = readLog(entry.path());
    EXPECT_TRUE(log) << (log ? "" : log.error().message);
    if (log && log->header.pid == std::uint32_t(pid))
      return *log;
  }
  return {};
}

ProcessLog readEvents() {
  ProcessLog log = readOwnLog();
  std::erase_if(log.events, [](const Event &e) { return e.kind == EventKind::kDeviceUse; });
  return log;
}

} // namespace devsan::runtime

int main(int argc, char **argv) {
  if (!std::getenv("DEVSAN_LOG_DIR")) {
    std::string directory =
        (std::filesystem::temp_directory_path() / "devsan-hooks-XXXXXX").string();
    if (!mkdtemp(directory.data()))
      return 1;
    setenv("DEVSAN_LOG_DIR", directory.c_str(), 1);
    setenv("DEVSAN_SIM_DEVICES", "2", 1);
    setenv("DEVSAN_LIBS", DEVSAN_SIM_LIBRARY ":" DEVSAN_RUNTIME_LIBRARY, 1);
    setenv("LD_PRELOAD", DEVSAN_PRELOAD_LIBRARY, 1);
    pid_t child = fork();
    if (child == 0) {
      execv("/proc/self/exe", argv);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::filesystem::remove_all(directory);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
