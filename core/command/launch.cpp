#include "core/command/launch.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::command {
namespace {

constexpr int kForwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Read by the signal handler.
volatile pid_t forward_to = 0;

// A signal typed at the terminal goes to the whole process group, so the program has it already
// (SI_KERNEL); one sent to this process alone must be passed on, and so must that of a terminal
// that closes, which the kernel sends to the leader of the session only.
void forward(int signal, siginfo_t *info, void *) {
  const int saved_errno = errno;
  const bool is_for_leader = signal == SIGHUP && getsid(0) == getpid();
  if (forward_to > 0 && (info->si_code != SI_KERNEL || is_for_leader))
    kill(forward_to, signal);
  errno = saved_errno;
}

// Installs the forwarding handlers, and restores what was there.
class SignalForwarding {
public:
  explicit SignalForwarding(pid_t child) {
    forward_to = child;
    struct sigaction action = {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < std::size(kForwarded); ++i)
      sigaction(kForwarded[i], &action, &previous_[i]);
  }
  ~SignalForwarding() {
    for (std::size_t i = 0; i < std::size(kForwarded); ++i)
      sigaction(kForwarded[i], &previous_[i], nullptr);
    forward_to = 0;
  }

private:
  struct sigaction previous_[std::size(kForwarded)];
};

// A number that a child can write. Not a pipe: descriptors may have run out.
class SharedError {
public:
  SharedError()
      : memory_(mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                     0)) {}
  ~SharedError() {
    if (memory_ != MAP_FAILED)
      munmap(memory_, sizeof(int));
  }
  SharedError(const SharedError &) = delete;
  SharedError &operator=(const SharedError &) = delete;
  bool isThere() const { return memory_ != MAP_FAILED; }
  volatile int &operator*() const { return *static_cast<volatile int *>(memory_); }

private:
  void *memory_;
};

// In the child: becomes the program, or tells the parent why not.
[[noreturn]] void become(char *const *argv, const Environment &environment,
                         const SharedError &exec_error) {
  for (const auto &[name, value] : environment)
    setenv(name.c_str(), value.c_str(), 1);
  execvp(argv[0], argv);
  *exec_error = errno;
  _exit(127);
}

// The kernel says "no such file" for a script whose interpreter is missing, too.
std::string whyNotThere(const std::string &program) {
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

  const SharedError exec_error;
  if (!exec_error.isThere())
    return core::failure(std::string("cannot start a process: ") + std::strerror(errno));

  // Blocked until the handlers are in place, so that a signal meanwhile is not lost on either side.
  sigset_t forwarded, previous;
  sigemptyset(&forwarded);
  for (int signal : kForwarded)
    sigaddset(&forwarded, signal);
  sigprocmask(SIG_BLOCK, &forwarded, &previous);
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
  {
    SignalForwarding forwarding(child);
    sigprocmask(SIG_SETMASK, &previous, nullptr);
    while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR) {
    }
  }
  if (const int error = *exec_error)
    return core::failure("cannot execute '" + command[0] + "': " +
                         (error == ENOENT ? whyNotThere(command[0]) : std::strerror(error)));
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
