#include "core/system/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sstream>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace devsan::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestRun{30};
constexpr std::size_t kMaxOutput = std::size_t{64} << 20;

class ProgramPipe {
public:
  ProgramPipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0)
      ends_ = {-1, -1};
  }
  ~ProgramPipe() {
    for (const int end : ends_)
      if (end >= 0)
        close(end);
  }
  ProgramPipe(const ProgramPipe &) = delete;
  ProgramPipe &operator=(const ProgramPipe &) = delete;

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
  return "no end after " + std::to_string(kLongestRun.count()) + " s";
}

// Takes what the program writes, until it closes both. Empty, or why it was not let on.
std::string collectOutput(ProgramPipe &out, ProgramPipe &errors, Clock::time_point end,
                          ProgramOutput &result) {
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
      if (texts[i]->size() > kMaxOutput)
        return "more than " + std::to_string(kMaxOutput >> 20) + " MB of output";
    }
  }
  return {};
}

std::vector<std::string> environmentWith(const EnvironmentChanges &changes) {
  std::vector<std::string> result;
  for (char **variable = environ; *variable; ++variable) {
    const std::string_view text = *variable, name = text.substr(0, text.find('='));
    if (name == "PWD" || name == "OLDPWD") // it works elsewhere
      continue;
    if (std::ranges::none_of(changes, [&](const auto &change) { return name == change.first; }))
      result.emplace_back(*variable);
  }
  for (const auto &[name, value] : changes)
    if (value)
      result.push_back(name + "=" + *value);
  return result;
}

} // namespace

std::string firstLine(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t first = text.find_first_not_of(" \t\r\v\f");
  if (first == std::string_view::npos)
    return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\v\f") - first + 1));
}

bool isExecutable(const std::string &file) {
  std::error_code error;
  return std::filesystem::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

std::string findProgram(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return isExecutable(name) ? name : std::string();
  const char *path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string file = folder + "/" + name; folder.starts_with('/') && isExecutable(file))
      return file;
  return {};
}

ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments,
                         const EnvironmentChanges &changes) {
  std::string path = program;
  if (path.find('/') == std::string::npos) {
    path = findProgram(program);
    if (path.empty())
      return {-1, {}, program + ": not found on PATH"};
  } else if (std::error_code error; !path.starts_with('/')) {
    path = std::filesystem::absolute(path, error).string();
  }
  ProgramPipe out, errors;
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
  // Not posix_spawn(), which can change the folder since glibc 2.29 only.
  volatile int error = 0;
  const pid_t process = vfork();
  if (process == 0) {
    const int input = open("/dev/null", O_RDONLY);
    if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(out.writer(), STDOUT_FILENO) >= 0 &&
        dup2(errors.writer(), STDERR_FILENO) >= 0 && chdir("/") == 0)
      execve(path.c_str(), words.data(), environment.data());
    error = errno;
    _exit(127);
  }
  if (process < 0)
    return {-1, {}, path + ": " + std::strerror(errno)};
  if (error) {
    waitpid(process, nullptr, 0);
    return {-1, {}, path + ": " + std::strerror(error)};
  }
  out.closeWriter();
  errors.closeWriter();
  ProgramOutput result;
  const Clock::time_point end = Clock::now() + kLongestRun;
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

} // namespace devsan::core
