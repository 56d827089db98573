#include "core/command/commands.h"
#include "core/command/files.h"
#include "core/command/runtime_cache.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#ifdef DEVSAN_WITH_RUNTIME
#include "runtime/hooks/python_frames.h"
#include "runtime/offline/build_info.h"
#endif

extern char **environ;

namespace devsan::command {
namespace {

class Checkup {
public:
  void file(const char *part, const std::filesystem::path &path, const char *remedy) {
    std::error_code error;
    if (std::filesystem::exists(path, error))
      ok(part, path);
    else
      missing(part, "no " + path.string(), remedy);
  }
  void ok(const char *part, const std::string &detail) {
    std::printf("%-20s ok       %s\n", part, detail.c_str());
  }
  void missing(const char *part, const std::string &detail, const std::string &remedy) {
    std::printf("%-20s missing  %s\n%-20s          remedy: %s\n", part, detail.c_str(), "",
                remedy.c_str());
    status_ = 1;
  }
  // What the rest does without.
  void note(const char *part, const std::string &detail, const std::string &sentence) {
    std::printf("%-20s note     %s\n%-20s          %s\n", part, detail.c_str(), "",
                sentence.c_str());
  }
  int status() const { return status_; }

private:
  int status_ = 0;
};

#ifdef DEVSAN_WITH_RUNTIME
// First line of what a program prints, empty where it fails. Without a shell.
std::string outputOf(const std::vector<std::string> &command) {
  std::vector<char *> argv;
  for (const std::string &argument : command)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const bool started = posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t got; started && (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, std::size_t(got));
  close(ends[0]);
  int status = -1;
  while (started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? text.substr(0, text.find('\n')) : "";
}

void checkPython(Checkup &checkup) {
  const runtime::BuildInfo build = runtime::buildInfo();
  checkup.ok("LibTorch", "built against " + std::string(build.torch_version));
  const std::string python(build.python);
  // Isolated: a torch.py in the working directory must not be run.
  const std::string found = outputOf(
      {python, "-I", "-c", "import sys, torch; print(sys.version.split()[0], torch.__version__)"});
  const std::size_t space = found.find(' ');
  const std::string remedy = "run script/bootstrap";
  if (space == std::string::npos)
    checkup.missing("Python", python + " cannot import torch", remedy);
  else if (found.substr(space + 1) != build.torch_version)
    checkup.missing("Python",
                    python + " has torch " + found.substr(space + 1) +
                        ", the runtime is built for " + std::string(build.torch_version),
                    remedy + ", then build again");
  else
    checkup.ok("Python",
               found.substr(0, space) + " with torch " + found.substr(space + 1) + ", " + python);
}

void describePythonFrames(Checkup &checkup) {
  checkup.note("Python frames",
               "read of CPython " + std::string(runtime::kReadablePythons) + " only",
               "with another version stacks show native frames, and the report says so");
}

// The LibTorchs that programs can use without a build before.
void checkRuntimes(Checkup &checkup, const InstallTree &tree) {
  core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (!sources) {
    checkup.missing("other LibTorchs", sources.error().message, "build DevSan again");
    return;
  }
  checkup.ok("prebuilt for",
             "LibTorch " + sources->torch_version + ", build id " + sources->torch_id);
  const core::Result<std::filesystem::path> cache = runtimeCache();
  if (!cache) {
    checkup.note("other LibTorchs", "cannot be used: the runtime is built for them",
                 cache.error().message);
    return;
  }
  const std::vector<CacheEntry> entries = cachedLibraries();
  checkup.ok("other LibTorchs",
             entries.empty() ? "built on first use, into " + cache->string()
                             : std::to_string(entries.size()) + " libraries in " + cache->string());
  for (const CacheEntry &entry : entries)
    if (entry.problem.empty())
      checkup.ok("", entry.library.filename().string() + " for " + entry.torch);
    else
      checkup.note("", entry.problem,
                   entry.is_damaged ? "it is built again when a program asks for it"
                                    : "until then, programs that need it do not start");
}
#endif

} // namespace

int doctor(const InstallTree &tree) {
  const char *runtime = "build with -DDEVSAN_BUILD_RUNTIME=ON";
  const char *analyzer = "build with -DDEVSAN_BUILD_ANALYZER=ON";
  Checkup checkup;
  checkup.file("preload shim", tree.preload(), runtime);
  checkup.file("runtime", tree.runtime(), runtime);
  checkup.file("simulator", tree.simulator(), runtime);
  checkup.file("Python support", tree.python() / "sitecustomize.py", runtime);
  checkup.file("symbolizer", tree.symbolizer(), runtime);
  checkup.file("devsan check", tree.check(), analyzer);
  checkup.file("clang-tidy plugin", tree.tidyPlugin(), analyzer);
  if (!findProgram("clang-tidy-22").empty())
    checkup.ok("clang-tidy", "clang-tidy-22, which the plugin is built for");
  else
    checkup.note("clang-tidy", "no clang-tidy-22 on PATH, which the plugin is built for",
                 "optional: `devsan check` works without it; apt install clang-tidy-22");
#ifdef DEVSAN_WITH_RUNTIME
  checkPython(checkup);
  describePythonFrames(checkup);
  checkRuntimes(checkup, tree);
  std::printf("\n--sim computes on the CPU; `devsan doctor --sim` lists what fails there with "
              "'not simulated: NAME'.\n");
#endif
  return checkup.status();
}

} // namespace devsan::command
