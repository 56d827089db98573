#include "analyzer/system/scratch_folder.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

constexpr const char *kVariable = "TMPDIR"; // before any other in LLVM

// Makes the folder, tells `user` of it, and removes it when nobody has the other end open. Whoever
// reads what this run prints to its end, waits for that.
[[noreturn]] void keepFolder(char *pattern, int user) {
  setsid(); // what the terminal sends is for the others
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
    std::signal(signal, SIG_IGN);
  dup2(user, STDIN_FILENO);
  dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
  close_range(STDERR_FILENO + 1, ~0u, 0);
  if (!mkdtemp(pattern))
    _exit(1);
  char byte;
  if (write(STDIN_FILENO, pattern, std::strlen(pattern)) > 0)
    while (::read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR) {
    }
  llvm::sys::fs::remove_directories(pattern);
  _exit(0);
}

} // namespace

TemporaryFolder::TemporaryFolder(const char *name) {
  llvm::SmallString<128> pattern;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, pattern);
  llvm::sys::fs::make_absolute(pattern);
  llvm::sys::path::append(pattern, std::string(name) + "-XXXXXX");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return;
  keeper_ = fork();
  if (keeper_ == 0) {
    close(ends[0]);
    keepFolder(const_cast<char *>(pattern.c_str()), ends[1]);
  }
  close(ends[1]);
  user_ = ends[0];
  char path[PATH_MAX];
  ssize_t size;
  while ((size = ::read(user_, path, sizeof path)) < 0 && errno == EINTR) {
  }
  if (size > 0)
    path_.assign(path, static_cast<std::size_t>(size));
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty())
    llvm::sys::fs::remove_directories(path_);
  if (keeper_ > 0) {
    kill(keeper_, SIGKILL); // children may have our end open still
    waitpid(keeper_, nullptr, 0);
  }
  if (user_ >= 0)
    close(user_);
}

ScratchFolder::ScratchFolder() : folder_("devsan-check") {
  if (folder_.path().empty())
    return;
  before_ = llvm::sys::Process::GetEnv(kVariable).value_or("");
  setenv(kVariable, folder_.path().c_str(), /*overwrite=*/1);
}

ScratchFolder::~ScratchFolder() {
  if (folder_.path().empty())
    return;
  if (before_.empty())
    unsetenv(kVariable);
  else
    setenv(kVariable, before_.c_str(), /*overwrite=*/1);
}

} // namespace devsan::analyzer
