#include "command/process/keeper.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <new>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace devsan::command {

struct Keeper::Shared {
  std::atomic<pid_t> program{0};
  std::atomic<bool> has_ended{false};
  ProgramRun run;
  Bounds bounds;
};

namespace {

constexpr int kParentDied = SIGHUP;
constexpr int kProgramEnded = SIGUSR1;

sigset_t news() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, kParentDied);
  sigaddset(&set, kProgramEnded);
  return set;
}

// One that nobody collects has ended, too.
bool isAlive(pid_t process) {
  if (kill(process, 0) != 0 && errno != EPERM)
    return false;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const std::size_t name_end = text.rfind(')');
  return name_end == text.npos || text.find_first_of("ZX", name_end) != name_end + 2;
}

// Of a process that is nobody's child here.
void waitForEndOf(pid_t process) {
  if (process <= 0)
    return;
  const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (descriptor >= 0) {
    pollfd end = {descriptor, POLLIN, 0};
    while (poll(&end, 1, -1) < 0 && errno == EINTR) {
    }
    close(descriptor);
    return;
  }
  const timespec pause = {0, 200'000'000};
  while (isAlive(process))
    nanosleep(&pause, nullptr);
}

volatile std::sig_atomic_t interrupted_by = 0;
volatile pid_t interrupted_child = 0;

void interrupt(int signal) {
  const int saved_errno = errno;
  interrupted_by = signal;
  kill(interrupted_child, SIGKILL);
  errno = saved_errno;
}

// While a process makes the report, a key at the terminal ends that, but not where whoever started
// us ignores it.
class Interruptible {
public:
  explicit Interruptible(pid_t child) {
    interrupted_child = child;
    struct sigaction action = {};
    action.sa_handler = interrupt;
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      if (sigaction(kSignals[i], nullptr, &previous_[i]) == 0 && previous_[i].sa_handler != SIG_IGN)
        sigaction(kSignals[i], &action, nullptr);
  }
  ~Interruptible() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
      sigaction(kSignals[i], &previous_[i], nullptr);
  }

private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  struct sigaction previous_[std::size(kSignals)];
};

} // namespace

Keeper::Keeper(std::function<int(const ProgramRun &)> report, std::function<Bounds()> bounds)
    : report_(std::move(report)), bounds_(std::move(bounds)) {
  void *memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return;
  shared_ = new (memory) Shared;
  const pid_t parent = getpid();
  // Before the process is there: the program may end before it has run. And all of them: what is
  // sent to each process of our name means the program.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  child_ = fork();
  if (child_ == 0)
    keep(parent);
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

Keeper::~Keeper() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

void Keeper::keep(pid_t parent) {
  // What ends the process group of the run, a key or a SIGKILL, does not mean this process.
  setsid();
  const sigset_t awaited = news();
  prctl(PR_SET_PDEATHSIG, kParentDied);
  while (!shared_->has_ended.load() && getppid() == parent)
    sigwaitinfo(&awaited, nullptr);
  ProgramRun run;
  if (shared_->has_ended.load()) {
    run = shared_->run;
  } else {
    waitForEndOf(shared_->program.load());
    run.devsan_was_killed = true;
    run.wall_ns = static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count());
  }
  // For the symbolizer, where the program left few descriptors.
  rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < 64) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, 64);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  shared_->bounds = bounds_();
  endWithin(shared_->bounds, [&] { return report_(run); });
}

void Keeper::programStarted(pid_t program) {
  if (shared_)
    shared_->program.store(program);
}

core::Result<int> Keeper::finish(const ProgramRun &run, const std::function<void()> &clean_up) {
  if (child_ < 0)
    return runHere([&] { return report_(run); });
  shared_->run = run;
  {
    const Interruptible interruptible(child_);
    shared_->has_ended.store(true);
    kill(child_, kProgramEnded);
    // Not collected before the handlers are gone: its number would be another's.
    siginfo_t end;
    while (waitid(P_PID, static_cast<id_t>(child_), &end, WEXITED | WNOWAIT) < 0 &&
           errno == EINTR) {
    }
  }
  const pid_t child = std::exchange(child_, -1);
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  if (ended < 0)
    return core::failure("the report could not be made: its process is gone");
  if (interrupted_by && WIFSIGNALED(status)) {
    clean_up();
    // The program's own end says more.
    if (!run.end.signal && !run.end.status)
      endBySignal(interrupted_by);
    return core::failure("the report was interrupted by signal " + std::to_string(interrupted_by));
  }
  return statusOf(status, shared_->bounds);
}

} // namespace devsan::command
