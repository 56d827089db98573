#include "command/process/launch.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::command {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t forwardedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kForwarded)
    sigaddset(&set, signal);
  return set;
}

void pauseFor(long ns) {
  const timespec pause = {0, ns};
  nanosleep(&pause, nullptr);
}

// Forgets those of `signals` that wait for this process.
void drop(const sigset_t &signals) {
  const timespec at_once = {0, 0};
  while (sigtimedwait(&signals, nullptr, &at_once) > 0) {
  }
}

// What a child can write. Not a pipe: descriptors may have run out.
template <typename T> class Shared {
public:
  Shared()
      : memory_(
            mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  ~Shared() {
    if (memory_ != MAP_FAILED)
      munmap(memory_, sizeof(T));
  }
  Shared(const Shared &) = delete;
  Shared &operator=(const Shared &) = delete;
  bool isThere() const { return memory_ != MAP_FAILED; }
  T &operator*() const { return *static_cast<T *>(memory_); }

private:
  void *memory_;
};

// A process of our group that only remembers its signals. One that it had, too, was sent to the
// group.
class GroupWitness {
public:
  GroupWitness() {
    if (!had_.isThere())
      return;
    const sigset_t forwarded = forwardedSignals();
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      prctl(PR_SET_NAME, "witness");
      // What is sent to each process of DevSan's name is not meant for the group.
      std::ifstream command_line("/proc/self/cmdline", std::ios::binary);
      const std::string words(std::istreambuf_iterator<char>(command_line), {});
      std::memset(program_invocation_name, 0, words.size());
      while (getppid() == parent)
        if (const int signal = sigwaitinfo(&forwarded, nullptr); signal > 0)
          (*had_)[signal] = true;
      _exit(0);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  ~GroupWitness() {
    if (process_ <= 0)
      return;
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  GroupWitness(const GroupWitness &) = delete;
  GroupWitness &operator=(const GroupWitness &) = delete;

  // Whether it had `signal`, which is then forgotten.
  bool had(int signal) {
    if (process_ <= 0)
      return false;
    for (int tries = 0; tries < 200 && isPending(signal); ++tries)
      pauseFor(1'000'000);
    return (*had_)[signal].exchange(false);
  }

private:
  bool isPending(int signal) const {
    constexpr std::string_view kField = "ShdPnd:";
    std::ifstream status("/proc/" + std::to_string(process_) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(kField))
        return std::strtoull(line.c_str() + kField.size(), nullptr, 16) >> (signal - 1) & 1;
    return false;
  }

  Shared<std::array<std::atomic<bool>, 32>> had_;
  pid_t process_ = -1;
};

// Passes on what the program has not got itself. A signal typed at the terminal goes to the whole
// process group (SI_KERNEL), but that of a terminal that closes to the leader of the session only.
void forward(const siginfo_t &info, pid_t program, GroupWitness &witness) {
  const bool is_in_group = getpgid(program) == getpgrp();
  if (info.si_code == SI_KERNEL) {
    if (info.si_signo != SIGHUP || getsid(0) != getpid())
      return;
  } else if (is_in_group) {
    // The kernel is at the next process of the group within microseconds.
    pauseFor(5'000'000);
    sigset_t same;
    sigemptyset(&same);
    sigaddset(&same, info.si_signo);
    drop(same);
    if (witness.had(info.si_signo))
      return;
  }
  kill(program, info.si_signo);
}

// In the child: becomes the program, or tells the parent why not.
[[noreturn]] void become(char *const *argv, const Environment &environment,
                         const Shared<std::atomic<int>> &exec_error) {
  for (const auto &[name, value] : environment)
    setenv(name.c_str(), value.c_str(), 1);
  execvp(argv[0], argv);
  *exec_error = errno;
  _exit(127);
}

// The kernel says "no such file" for a script whose interpreter is missing, too.
std::string whyNotFound(const std::string &program) {
  std::error_code error;
  if (program.find('/') == std::string::npos || !std::filesystem::exists(program, error))
    return "command not found";
  char start[256] = {}; // as much as the kernel looks at
  std::ifstream(program).getline(start, sizeof start);
  const std::string line = start;
  const std::size_t begin = line.starts_with("#!") ? line.find_first_not_of(" \t", 2) : line.npos;
  if (begin == line.npos)
    return "its loader is missing (the dynamic linker that the file names)";
  const std::string interpreter = line.substr(begin, line.find_first_of(" \t\r", begin) - begin);
  return "its interpreter " + interpreter + ", named in its first line, is missing" +
         (line.ends_with('\r') ? "; the line ends in a carriage return" : "");
}

} // namespace

core::Result<ProgramEnd> launch(const std::vector<std::string> &command,
                                const Environment &environment,
                                const std::function<void(pid_t)> &started) {
  std::vector<char *> argv;
  for (const std::string &argument : command)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);

  const Shared<std::atomic<int>> exec_error;
  if (!exec_error.isThere())
    return core::failure(std::string("cannot start a process: ") + std::strerror(errno));

  // Blocked before the program is there, so that no signal is lost on either side.
  sigset_t awaited = forwardedSignals(), previous;
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_BLOCK, &awaited, &previous);
  GroupWitness witness;
  // Where whoever started us ignores it, the program's status would be lost. The program inherits
  // what it would without us.
  struct sigaction collect = {}, children;
  collect.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &collect, &children);
  const pid_t child = fork();
  if (child == 0) {
    sigaction(SIGCHLD, &children, nullptr);
    sigprocmask(SIG_SETMASK, &previous, nullptr);
    if (started)
      started(getpid());
    become(argv.data(), environment, exec_error);
  }
  const int fork_error = errno;
  if (child < 0) {
    sigprocmask(SIG_SETMASK, &previous, nullptr);
    return core::failure(std::string("cannot start a process: ") + std::strerror(fork_error));
  }

  int wait_status = 0;
  siginfo_t info;
  while (waitpid(child, &wait_status, WNOHANG) == 0)
    if (sigwaitinfo(&awaited, &info) > 0 && info.si_signo != SIGCHLD)
      forward(info, child, witness);
  drop(awaited); // sent to both, and not meant for the report
  sigprocmask(SIG_SETMASK, &previous, nullptr);
  if (const int error = *exec_error)
    return core::failure("cannot execute '" + command[0] + "': " +
                         (error == ENOENT ? whyNotFound(command[0]) : std::strerror(error)));
  if (WIFSIGNALED(wait_status))
    return ProgramEnd{0, WTERMSIG(wait_status)};
  return ProgramEnd{WEXITSTATUS(wait_status), 0};
}

void endBySignal(int signal) {
  // The program left its own core file; a second one, of this process, would only hide it.
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}

} // namespace devsan::command
