#include "analyzer/tool/run_program.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongest{30};
constexpr std::size_t kMostOutput = std::size_t{64} << 20;

class Pipe {
public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      ends_ = {-1, -1};
  }
  ~Pipe() {
    for (const int end : ends_)
      if (end >= 0)
        close(end);
  }
  Pipe(const Pipe &) = delete;
  Pipe &operator=(const Pipe &) = delete;

  bool isOpen() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void closeWriter() {
    close(ends_[1]);
    ends_[1] = -1;
  }

private:
  std::array<int, 2> ends_;
};

std::string noEnd() {
  return "no end after " + std::to_string(kLongest.count()) + " s";
}

// Takes what the program writes, until it closes both. Empty, or why it was not let on.
std::string collectOutput(Pipe &out, Pipe &errors, Clock::time_point end, ProgramOutput &result) {
  std::array<pollfd, 2> files = {{{out.reader(), POLLIN, 0}, {errors.reader(), POLLIN, 0}}};
  const std::array<std::string *, 2> texts = {&result.output, &result.errors};
  while (files[0].fd >= 0 || files[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0)
      return noEnd();
    if (poll(files.data(), files.size(), static_cast<int>(left.count()) + 1) < 0)
      continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      char buffer[1 << 16];
      const ssize_t size = files[i].revents ? ::read(files[i].fd, buffer, sizeof buffer) : 1;
      if (size <= 0 && (size == 0 || errno != EINTR))
        files[i].fd = -1; // poll() passes over it
      else if (files[i].revents && size > 0)
        texts[i]->append(buffer, static_cast<std::size_t>(size));
      if (texts[i]->size() > kMostOutput)
        return "more than " + std::to_string(kMostOutput >> 20) + " MB of output";
    }
  }
  return {};
}

std::vector<std::string> environmentWith(const EnvironmentChanges &changes) {
  std::vector<std::string> result;
  for (char **variable = environ; *variable; ++variable) {
    const llvm::StringRef name = llvm::StringRef(*variable).split('=').first;
    if (llvm::none_of(changes, [&](const auto &change) { return name == change.first; }))
      result.emplace_back(*variable);
  }
  for (const auto &[name, value] : changes)
    if (value)
      result.push_back(name + "=" + *value);
  return result;
}

} // namespace

std::string firstLine(llvm::StringRef text) {
  return text.split('\n').first.trim().str();
}

std::string findProgram(const std::string &name) {
  const std::string path = llvm::sys::Process::GetEnv("PATH").value_or("");
  llvm::SmallVector<llvm::StringRef> folders;
  llvm::StringRef(path).split(folders, llvm::sys::EnvPathSeparator, -1, /*KeepEmpty=*/false);
  llvm::erase_if(folders, [](llvm::StringRef f) { return !llvm::sys::path::is_absolute(f); });
  if (folders.empty())
    return {}; // LLVM would take its own PATH
  auto found = llvm::sys::findProgramByName(name, folders);
  return found ? *found : std::string();
}

ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments,
                         const EnvironmentChanges &changes) {
  std::string path = program;
  if (path.find('/') == std::string::npos) {
    path = findProgram(program);
    if (path.empty())
      return {-1, {}, program + ": not found on PATH"};
  }
  Pipe out, errors;
  if (!out.isOpen() || !errors.isOpen())
    return {-1, {}, "cannot make a pipe"};
  std::vector<char *> words = {path.data()};
  for (const std::string &argument : arguments)
    words.push_back(const_cast<char *>(argument.c_str()));
  words.push_back(nullptr);
  std::vector<std::string> variables = environmentWith(changes);
  std::vector<char *> environment;
  for (std::string &variable : variables)
    environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.writer(), STDERR_FILENO);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, path.c_str(), &actions, nullptr, words.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error)
    return {-1, {}, path + ": " + std::strerror(error)};
  out.closeWriter();
  errors.closeWriter();
  ProgramOutput result;
  const Clock::time_point end = Clock::now() + kLongest;
  std::string broken_off = collectOutput(out, errors, end, result);
  int status = 0;
  while (broken_off.empty() && waitpid(process, &status, WNOHANG) == 0) {
    usleep(500);
    if (Clock::now() >= end)
      broken_off = noEnd();
  }
  if (!broken_off.empty()) {
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
    return {-1, {}, path + ": " + broken_off};
  }
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

} // namespace devsan::analyzer
