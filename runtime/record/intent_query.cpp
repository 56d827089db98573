#include "runtime/record/intent_query.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <optional>
#include <spawn.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace devsan::runtime {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> ownLog() {
  const char *directory = std::getenv("DEVSAN_LOG_DIR");
  const std::string start = std::to_string(getpid()) + "-";
  std::error_code error;
  // The last one: a process that went on as another program has several, told by when they began.
  std::optional<std::string> last;
  for (fs::directory_iterator entry(directory ? directory : "", error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with(start))
      last = std::max(last, std::optional(entry->path().string()));
  return last;
}

// The environment of a process that is not observed.
std::vector<char *> plainEnvironment() {
  std::vector<char *> result;
  for (char **entry = environ; *entry; ++entry)
    if (!std::string_view(*entry).starts_with("LD_PRELOAD="))
      result.push_back(*entry);
  result.push_back(nullptr);
  return result;
}

std::string readAll(int descriptor) {
  std::string text;
  char buffer[256];
  for (;;) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count > 0)
      text.append(buffer, std::size_t(count));
    else if (count == 0 || errno != EINTR)
      return text;
  }
}

// What the command prints. Not its status: the program may collect its children itself.
std::string outputOf(const std::vector<std::string> &command) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::vector<char *> arguments;
  for (const std::string &argument : command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failed = posix_spawn(&child, command.front().c_str(), &actions, nullptr,
                                 arguments.data(), plainEnvironment().data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  if (!failed) {
    text = readAll(ends[0]);
    while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  close(ends[0]);
  return text;
}

bool ask(StackId stack, bool copies) {
  const char *devsan = std::getenv("DEVSAN_BUILDER");
  const std::optional<std::string> log = ownLog();
  if (!devsan || !*devsan || !log)
    return false;
  return outputOf({devsan, "intent", *log, std::to_string(stack), copies ? "copy" : "wait"}) ==
         "implicit\n";
}

} // namespace

bool isImplicit(StackId stack, bool copies) {
  // A thread's own, so that no lock can be held at a fork; a child's stacks have other ids.
  thread_local std::map<std::tuple<pid_t, StackId, bool>, bool> answers;
  auto [answer, added] = answers.try_emplace({getpid(), stack, copies}, false);
  if (added)
    answer->second = ask(stack, copies);
  return answer->second;
}

} // namespace devsan::runtime
