#include "core/command/commands.h"
#include "core/command/runtime_cache.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#ifdef DEVSAN_WITH_RUNTIME
#include "runtime/offline/build_info.h"
#endif

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
  int status() const { return status_; }

private:
  int status_ = 0;
};

bool onPath(const std::string &program) {
  const char *path = std::getenv("PATH");
  std::string directory;
  for (const char *c = path ? path : "";; ++c) {
    if (*c && *c != ':') {
      directory += *c;
      continue;
    }
    if (access((directory + "/" + program).c_str(), X_OK) == 0)
      return true;
    if (!*c)
      return false;
    directory.clear();
  }
}

#ifdef DEVSAN_WITH_RUNTIME
// First line of what `command` prints, empty where it fails.
std::string outputOf(const std::string &command) {
  std::FILE *pipe = popen(command.c_str(), "r");
  if (!pipe)
    return {};
  char line[512] = "";
  const bool got = std::fgets(line, sizeof line, pipe);
  const bool succeeded = pclose(pipe) == 0;
  std::string text = got && succeeded ? line : "";
  while (text.ends_with('\n'))
    text.pop_back();
  return text;
}

void checkPython(Checkup &checkup) {
  const runtime::BuildInfo build = runtime::buildInfo();
  checkup.ok("LibTorch", "built against " + std::string(build.torch_version));
  const std::string python(build.python);
  const std::string found = outputOf(
      "'" + python +
      "' -c 'import sys, torch; print(sys.version.split()[0], torch.__version__)' 2>/dev/null");
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

// The LibTorchs that programs can use without a build before.
void checkRuntimes(Checkup &checkup, const InstallTree &tree) {
  core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (!sources) {
    checkup.missing("other LibTorchs", sources.error().message, "build DevSan again");
    return;
  }
  checkup.ok("prebuilt for",
             "LibTorch " + sources->torch_version + ", build id " + sources->torch_id);
  const std::vector<CacheEntry> entries = cachedLibraries();
  checkup.ok("other LibTorchs",
             entries.empty()
                 ? "built on first use, into " + runtimeCache().string()
                 : std::to_string(entries.size()) + " libraries in " + runtimeCache().string());
  for (const CacheEntry &entry : entries)
    if (entry.intact)
      checkup.ok("", entry.library.filename().string() + " for " + entry.torch);
    else
      checkup.missing("", entry.library.string() + " is damaged",
                      "none needed: it is built again when a program asks for it");
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
  if (onPath("clang-tidy-22"))
    checkup.ok("clang-tidy", "clang-tidy-22, which the plugin is built for");
  else
    checkup.missing("clang-tidy", "no clang-tidy-22 on PATH, which the plugin is built for",
                    "apt install clang-tidy-22; `devsan check` works without it");
#ifdef DEVSAN_WITH_RUNTIME
  checkPython(checkup);
  checkRuntimes(checkup, tree);
  std::printf("\n--sim computes on the CPU; `devsan doctor --sim` lists what fails there with "
              "'not simulated: NAME'.\n");
#endif
  return checkup.status();
}

} // namespace devsan::command
