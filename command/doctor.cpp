#include "command/commands.h"
#include "command/install/files.h"
#include "command/install/real_driver.h"
#include "command/install/runtime_cache.h"
#include "core/system/run_program.h"
#include "core/text/terminal_text.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>
#include <vector>

#ifdef DEVSAN_WITH_RUNTIME
#include "command/run_board.h"
#include "runtime/stacks/python_frames.h"
#endif

namespace devsan::command {
namespace {

class Checkup {
public:
  // Named while somebody waits for what takes long; the line of its outcome replaces this one.
  void begin(const char *part) {
    if (!isatty(STDOUT_FILENO))
      return;
    std::printf("%-20s ...\r", part);
    std::fflush(stdout);
  }
  void file(const char *part, const std::filesystem::path &path, const char *remedy) {
    std::error_code error;
    if (std::filesystem::exists(path, error))
      ok(part, path);
    else
      missing(part, "no " + path.string(), remedy);
  }
  void ok(const char *part, const std::string &detail) {
    std::printf("%-20s ok       %s\n", part, core::printable(detail).c_str());
  }
  void missing(const char *part, const std::string &detail, const std::string &remedy) {
    std::printf("%-20s missing  %s\n%-20s          remedy: %s\n", part,
                core::printable(detail).c_str(), "", remedy.c_str());
    status_ = 1;
  }
  // What the rest does without.
  void note(const char *part, const std::string &detail, const std::string &sentence) {
    std::printf("%-20s note     %s\n%-20s          %s\n", part, core::printable(detail).c_str(), "",
                sentence.c_str());
  }
  int status() const { return status_; }

private:
  int status_ = 0;
};

// Empty where it fails.
std::string outputOf(const std::string &program, const std::vector<std::string> &arguments) {
  core::ProgramOutput told = core::runProgram(program, arguments);
  return told.status == 0 ? std::move(told.output) : std::string();
}

std::size_t countOf(const std::string &text, std::string_view word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

// 0 for what is no clang-tidy.
int releaseOf(const std::string &clang_tidy) {
  const std::string text = outputOf(clang_tidy, {"--version"});
  const std::size_t at = text.find("version ");
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + std::strlen("version "));
}

// Those of clang-tidy whose plugin is there, the newest first.
std::vector<int> releasesOfPlugins(const InstallTree &tree) {
  constexpr int kOldest = 16, kNewest = 40;
  std::vector<int> found;
  std::error_code error;
  for (int release = kNewest; release >= kOldest; --release)
    if (std::filesystem::exists(tree.tidyPlugin(release), error))
      found.push_back(release);
  return found;
}

// clang-tidy exits with 0 although it could not load a plugin, so that nobody would miss the
// checks: each clang-tidy that is found is asked for them.
void checkClangTidy(Checkup &checkup, const InstallTree &tree) {
  checkup.begin("clang-tidy");
  bool found = false;
  const std::vector<int> releases = releasesOfPlugins(tree);
  std::vector<std::string> names = {"clang-tidy"};
  for (const int release : releases)
    names.push_back("clang-tidy-" + std::to_string(release));
  for (const std::string &name : names) {
    const std::string program = core::findProgram(name);
    if (program.empty())
      continue;
    found = true;
    const int release = releaseOf(program);
    const std::string what = name + " of release " + std::to_string(release);
    const std::filesystem::path plugin = tree.tidyPlugin(release);
    std::error_code error;
    if (!std::filesystem::exists(plugin, error)) {
      checkup.note("clang-tidy", what + ": no plugin for it here",
                   fmt::format("there are plugins for clang-tidy {}", fmt::join(releases, ", ")));
      continue;
    }
    const std::size_t checks = countOf(
        outputOf(program, {"--load=" + plugin.string(), "--checks=-*,device-*", "--list-checks"}),
        "    device-");
    if (checks > 0)
      checkup.ok("clang-tidy", what + " lists " + std::to_string(checks) + " checks of " +
                                   plugin.filename().string());
    else
      checkup.missing("clang-tidy", what + " does not load " + plugin.string(),
                      "see what it says: " + program + " --load=" + plugin.string() +
                          " --checks='-*,device-*' --list-checks");
  }
  if (!found)
    checkup.note("clang-tidy", "no clang-tidy on PATH",
                 "optional: `devsan check` works without it; apt install clang-tidy-22");
}

#ifdef DEVSAN_WITH_RUNTIME
void checkPython(Checkup &checkup, const InstallTree &tree, const RuntimeSources &sources) {
  checkup.ok("LibTorch", "built against " + sources.torch_version);
  const std::string python = sources.python;
  checkup.begin("Python");
  // Isolated: a torch.py in the working directory must not be run.
  const std::string found = core::firstLine(outputOf(
      python, {"-I", "-c", "import sys, torch; print(sys.version.split()[0], torch.__version__)"}));
  const std::size_t space = found.find(' ');
  const std::string version = space == std::string::npos ? "" : found.substr(space + 1);
  const bool is_ours = version == sources.torch_version;
  const std::string what =
      version.empty() ? (python.empty() ? "no python3 on PATH" : python + " cannot import torch")
                      : python + " has torch " + version + ", the runtime is built for " +
                            sources.torch_version;
  if (is_ours || shippedReleases(tree).contains(version))
    checkup.ok("Python", found.substr(0, space) + " with torch " + version + ", " + python +
                             "; --sim starts at once");
  else if (sources.is_installed)
    checkup.note("Python", what,
                 version.empty() ? "programs may run in another one"
                                 : "--sim works with it once the runtime is built for it: by a C++ "
                                   "compiler on first use, some five minutes of processor time, or "
                                   "by `devsan prepare`");
  else
    checkup.missing("Python", what,
                    version.empty() ? "run script/bootstrap"
                                    : "run script/bootstrap, then build again");
}

void describePythonFrames(Checkup &checkup) {
  checkup.note("Python frames",
               "read of CPython " + std::string(runtime::kReadablePythons) + " only",
               "with another version stacks show native frames, and the report says so");
}

void checkDriver(Checkup &checkup) {
  const std::filesystem::path driver = realDriver("/");
  if (driver.empty())
    checkup.ok("GPU driver", "none: --sim takes CPU and CUDA builds of PyTorch");
  else
    checkup.note("GPU driver", driver,
                 "with a CUDA build of PyTorch --sim would hide the GPUs: it needs --sim-force");
}

void checkSharedMemory(Checkup &checkup) {
  const std::string error = RunBoard().sharedMemoryError();
  if (!error.empty())
    checkup.note("shared memory", "no System V shared memory: " + error,
                 "processes that become another user are not counted where they cannot record: "
                 "allow shmget(), raise kernel.shmmni");
}

// The LibTorchs that programs can use without a build before.
void checkRuntimes(Checkup &checkup, const InstallTree &tree, const RuntimeSources &sources) {
  checkup.ok("prebuilt for",
             "LibTorch " + sources.torch_version + ", build id " + sources.torch_id);
  for (const auto &[version, folder] : shippedReleases(tree))
    checkup.ok("", "LibTorch " + version + ", build id " + folder.filename().string());
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
  checkup.file("CUDA stand-ins", tree.cuda() / "libcuda.so.1", runtime);
  checkup.file("Python support", tree.python() / "sitecustomize.py", runtime);
  checkup.file("symbolizer", tree.symbolizer(), runtime);
  checkup.file("devsan check", tree.check(), analyzer);
  checkup.file("clang-tidy plugin", tree.tidyPlugin(), analyzer);
  checkClangTidy(checkup, tree);
#ifdef DEVSAN_WITH_RUNTIME
  const core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (sources)
    checkPython(checkup, tree, *sources);
  describePythonFrames(checkup);
  checkDriver(checkup);
  checkSharedMemory(checkup);
  if (sources)
    checkRuntimes(checkup, tree, *sources);
  else
    checkup.missing("other LibTorchs", sources.error().message, "build or install DevSan again");
  std::printf("\n--sim computes on the CPU; `devsan doctor --sim` lists what fails there with "
              "'not simulated: NAME'.\n");
#endif
  return checkup.status();
}

} // namespace devsan::command
