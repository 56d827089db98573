#include "analyzer/tool/worker_pool.h"

#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

bool writeAll(int file, const std::string &text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n <= 0)
      return false;
    written += static_cast<std::size_t>(n);
  }
  return true;
}

std::string readAll(int file) {
  std::string text;
  char buffer[1 << 16];
  off_t at = 0;
  for (ssize_t n; (n = pread(file, buffer, sizeof buffer, at)) > 0; at += n)
    text.append(buffer, static_cast<std::size_t>(n));
  return text;
}

struct Running {
  std::size_t index;
  int file;
};

} // namespace

void runInProcesses(
    std::size_t count, unsigned jobs, llvm::function_ref<std::string(std::size_t)> task,
    llvm::function_ref<void(std::size_t, std::optional<std::string>, int signal)> done) {
  std::map<pid_t, Running> running;
  std::size_t next = 0;
  while (next < count || !running.empty()) {
    if (next < count && running.size() < jobs) {
      // A file in memory rather than a pipe: nobody has to read while the child writes.
      const int file = memfd_create("devsan-check", MFD_CLOEXEC);
      const pid_t child = file < 0 ? -1 : fork();
      if (child == 0) {
        // A crash of clang prints pages of stack; the parent says it in a line.
        if (const int null = open("/dev/null", O_WRONLY | O_CLOEXEC); null >= 0)
          dup2(null, STDERR_FILENO);
        // Without destructors: the process ends, and tearing down an AST takes seconds.
        _exit(writeAll(file, task(next)) ? 0 : 1);
      }
      if (child < 0) {
        if (file >= 0)
          close(file);
        if (running.empty()) {
          done(next++, std::nullopt, 0);
          continue;
        }
      } else {
        running.emplace(child, Running{next++, file});
        continue;
      }
    }
    int status = 0;
    const pid_t child = waitpid(-1, &status, 0);
    const auto ended = running.find(child);
    if (ended == running.end())
      continue;
    const auto [index, file] = ended->second;
    running.erase(ended);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
      done(index, readAll(file), 0);
    else
      done(index, std::nullopt, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    close(file);
  }
}

} // namespace devsan::analyzer
