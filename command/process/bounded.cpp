#include "command/process/bounded.h"

#include "command/process/launch.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::command {
namespace {

constexpr std::uint64_t kMemory = std::uint64_t{1792} << 20;
constexpr std::uint64_t kBytesPerSecond = std::uint64_t{8} << 20;

// Beyond all statuses of `devsan`.
constexpr int kNoMemory = 101;
constexpr int kThrew = 102;

// Of the processor: a pager that reads the output may take its time, and so may who stopped us.
constexpr int kTimeIsOver = SIGPROF;

std::string quoted(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

int guarded(const std::function<int()> &work) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return kNoMemory;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "devsan: error: %s\n", error.what());
    return kThrew;
  }
}

} // namespace

Bounds boundsFor(std::span<const std::filesystem::path> logs, unsigned seconds) {
  std::uint64_t sum = 0;
  for (const std::filesystem::path &log : logs) {
    struct stat status;
    if (stat(log.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      sum += static_cast<std::uint64_t>(status.st_blocks) * 512;
  }
  return {seconds + static_cast<unsigned>(sum / kBytesPerSecond), kMemory + sum};
}

void endWithin(const Bounds &bounds, const std::function<int()> &work) {
  std::signal(kTimeIsOver, SIG_IGN); // forgets one that came while it was blocked
  std::signal(kTimeIsOver, SIG_DFL);
  sigset_t timer;
  sigemptyset(&timer);
  sigaddset(&timer, kTimeIsOver);
  sigprocmask(SIG_UNBLOCK, &timer, nullptr);
  const itimerval time = {{}, {static_cast<time_t>(bounds.seconds), 0}};
  setitimer(ITIMER_PROF, &time, nullptr);
  rlimit data;
  if (getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur > bounds.memory) {
    data.rlim_cur = bounds.memory;
    setrlimit(RLIMIT_DATA, &data);
  }
  const int status = guarded(work);
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
}

core::Result<int> statusOf(int wait_status, const Bounds &bounds) {
  const auto failed = [](const std::string &why) {
    return core::failure("the report could not be made: " + why);
  };
  if (WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == kTimeIsOver)
    return failed("it took more than " + std::to_string(bounds.seconds) + " s of processor time");
  if (WIFSIGNALED(wait_status))
    return failed("its process was ended by signal " + std::to_string(WTERMSIG(wait_status)) +
                  " (" + strsignal(WTERMSIG(wait_status)) + ")");
  if (WEXITSTATUS(wait_status) == kNoMemory)
    return failed("it needed more memory than it may take" +
                  (bounds.memory ? ", " + quoted(bounds.memory) : ""));
  if (WEXITSTATUS(wait_status) == kThrew)
    return failed("the line above says why");
  return WEXITSTATUS(wait_status);
}

core::Result<int> runHere(const std::function<int()> &work) {
  return statusOf(W_EXITCODE(guarded(work), 0), {});
}

core::Result<int> runWithin(const Bounds &bounds, const std::function<int()> &work) {
  std::fflush(nullptr);
  std::signal(SIGCHLD, SIG_DFL); // where it is ignored, a child's status is lost
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0)
    return runHere(work);
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
      _exit(kThrew);
    endWithin(bounds, work);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status))
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE})
      if (WTERMSIG(status) == signal)
        endBySignal(signal);
  return statusOf(status, bounds);
}

} // namespace devsan::command
