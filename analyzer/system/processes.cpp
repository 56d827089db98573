#include "analyzer/system/processes.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <new>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace devsan::analyzer {

namespace {

constexpr int kLimitStatus = 100; // of a child's exit, plus the limit
constexpr std::size_t kMaxText = std::size_t{64} << 20;

// Of the processor. The hard limit stays, so that this one can be lifted.
void limitTime(rlim_t seconds) {
  rlimit time = {};
  getrlimit(RLIMIT_CPU, &time);
  time.rlim_cur = std::min(seconds, time.rlim_max);
  setrlimit(RLIMIT_CPU, &time);
}

} // namespace

bool writeAll(int file, const void *data, std::size_t size) {
  const char *at = static_cast<const char *>(data);
  while (size) {
    const ssize_t written = write(file, at, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return false;
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

void endBy(Limit limit) {
  _exit(kLimitStatus + static_cast<int>(limit));
}

Limit limitOf(int status) {
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGXCPU ? Limit::kTime : Limit::kNone;
  const int number = WEXITSTATUS(status) - kLimitStatus;
  return number > 0 && number <= static_cast<int>(Limit::kRun) ? static_cast<Limit>(number)
                                                               : Limit::kNone;
}

void attachToParent(pid_t parent, Seconds limit) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1); // it died before
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU})
    std::signal(signal, SIG_DFL);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (limit.count() > 0)
    limitTime(static_cast<rlim_t>(limit.count()));
  if (std::get_new_handler())
    std::set_new_handler([] { endBy(Limit::kMemory); });
  if (const int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0) {
    dup2(null, STDERR_FILENO);
    close(null);
  }
}

void liftTimeLimit() {
  limitTime(RLIM_INFINITY);
}

void detachFromParent(int kept, llvm::function_ref<void()> tell) {
  prctl(PR_SET_PDEATHSIG, 0);
  setsid();
  std::signal(SIGALRM, SIG_DFL);
  alarm(120);
  if (const int null = open("/dev/null", O_RDWR | O_CLOEXEC); null >= 0)
    for (int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
      dup2(null, file);
  tell();
  if (kept > STDERR_FILENO)
    close_range(STDERR_FILENO + 1, static_cast<unsigned>(kept) - 1, 0);
  close_range(static_cast<unsigned>(std::max(kept, STDERR_FILENO)) + 1, ~0u, 0);
}

Processes::~Processes() {
  clear();
}

void Processes::clear() {
  for (const auto &[file, child] : running_) {
    kill(child.process, SIGKILL);
    waitpid(child.process, nullptr, 0);
    close(file);
  }
  running_.clear();
  failed_.clear();
}

std::optional<int> Processes::fork(std::size_t task, Seconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    failed_.push_back(task);
    return std::nullopt;
  }
  const pid_t parent = getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    attachToParent(parent, limit);
    close(ends[0]);
    for (const auto &[file, other] : running_)
      close(file);
    running_.clear(); // they are the parent's
    failed_.clear();
    return ends[1];
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    failed_.push_back(task);
    return std::nullopt;
  }
  Running running{task, child, std::nullopt, {}};
  if (limit.count() > 0)
    running.deadline = Clock::now() + kClockFactor * limit;
  running_.emplace(ends[0], std::move(running));
  return std::nullopt;
}

void Processes::finish(int file, const std::string &text) {
  _exit(writeAll(file, text.data(), text.size()) ? 0 : 1);
}

int Processes::pollTime(std::optional<Clock::time_point> first) const {
  if (!failed_.empty())
    return 0;
  for (const auto &[file, child] : running_)
    if (child.deadline && (!first || *child.deadline < *first))
      first = child.deadline;
  if (!first)
    return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*first - Clock::now());
  return static_cast<int>(std::clamp<long long>(left.count() + 1, 0, 3'600'000));
}

void Processes::wait(std::vector<pollfd> &others, std::optional<Clock::time_point> until,
                     llvm::function_ref<void(std::size_t, Outcome)> done) {
  std::vector<pollfd> files = others;
  for (const auto &[file, child] : running_)
    files.push_back({file, POLLIN, 0});
  if (files.empty() && failed_.empty())
    return;
  if (poll(files.data(), files.size(), pollTime(until)) < 0)
    return; // interrupted: the caller comes again
  std::copy_n(files.begin(), others.size(), others.begin());

  std::vector<std::pair<std::size_t, Outcome>> ended;
  for (std::size_t task : std::exchange(failed_, {}))
    ended.emplace_back(task, Outcome());
  for (auto it = running_.begin(); it != running_.end();) {
    auto &[file, child] = *it;
    const auto end_by = [&](Limit limit) {
      child.limit = limit;
      child.deadline.reset();
      kill(child.process, SIGKILL);
    };
    if (child.deadline && Clock::now() >= *child.deadline)
      end_by(Limit::kTime);
    const auto polled = std::find_if(files.begin() + others.size(), files.end(),
                                     [&](const pollfd &entry) { return entry.fd == it->first; });
    ssize_t size = 1;
    if (polled != files.end() && polled->revents) {
      char buffer[1 << 16];
      size = ::read(file, buffer, sizeof buffer);
      if (size > 0 && child.text.size() <= kMaxText)
        child.text.append(buffer, static_cast<std::size_t>(size));
      if (child.text.size() > kMaxText && child.limit == Limit::kNone)
        end_by(Limit::kResult);
    }
    if (size > 0 || (size < 0 && errno == EINTR)) {
      ++it;
      continue;
    }
    int status = 0;
    waitpid(child.process, &status, 0);
    Outcome outcome;
    outcome.limit = child.limit == Limit::kNone ? limitOf(status) : child.limit;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      outcome.text = std::move(child.text);
    else if (WIFSIGNALED(status))
      outcome.signal = WTERMSIG(status);
    ended.emplace_back(child.task, std::move(outcome));
    close(file);
    it = running_.erase(it);
  }
  for (auto &[task, outcome] : ended)
    done(task, std::move(outcome));
}

} // namespace devsan::analyzer
