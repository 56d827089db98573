#include "command/install/runtime_cache.h"

#include "command/install/files.h"
#include "command/install/runtime_build.h"
#include "command/install/torch_library.h"
#include "command/process/exit_status.h"
#include "core/system/run_program.h"
#include "core/system/user_cache.h"
#include "core/text/terminal_text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <optional>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

std::string hashOfFile(const fs::path &path) {
  Hash hash;
  hash.add(contents(path).value_or(""));
  return hash.text();
}

// A build that was cut short, a full disk or a stray write must not be loaded into a program.
std::string sealText(const Recipe &recipe) {
  return fmt::format("{}\nLibTorch {}, {}\n", hashOfFile(recipe.library()), recipe.version,
                     recipe.torch.library.string());
}

bool isIntact(const fs::path &library) {
  const std::optional<std::string> text = contents(library);
  const std::string seal = contents(library.string() + ".seal").value_or("");
  if (!text || seal.empty())
    return false;
  Hash hash;
  hash.add(*text);
  return seal.substr(0, seal.find('\n')) == hash.text();
}

core::Result<void> checkTrust(const std::vector<fs::path> &paths) {
  for (const fs::path &path : paths)
    if (core::Result<void> trusted = core::checkTrust(path); !trusted)
      return trusted;
  return {};
}

core::Result<void> makeFolder(const fs::path &path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return core::failure(
        fmt::format("{} cannot be written: {}; set XDG_CACHE_HOME to a folder that can be written",
                    path.string(), std::strerror(errno)));
  return core::checkTrust(path);
}

core::Result<void> makeEntry(const Recipe &recipe) {
  const fs::path cache = recipe.directory.parent_path();
  std::error_code error;
  fs::create_directories(cache.parent_path().parent_path(), error); // what is wrong shows below
  for (const fs::path &folder : {cache.parent_path(), cache, recipe.directory})
    if (core::Result<void> made = makeFolder(folder); !made)
      return made;
  return checkTrust({recipe.library(), recipe.seal()});
}

class FileLock {
public:
  explicit FileLock(const fs::path &path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)) {
    if (file_ < 0) {
      error_ = errno;
      return;
    }
    if (flock(file_, LOCK_EX | LOCK_NB) == 0)
      return;
    if (errno == EWOULDBLOCK) {
      waited_ = true;
      std::fprintf(stderr, "devsan: waiting for another process that builds the runtime (%s)\n",
                   core::printable(path.string()).c_str());
    }
    while (flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) {
        error_ = errno;
        return;
      }
  }
  ~FileLock() {
    if (file_ >= 0)
      close(file_);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;
  bool held() const { return error_ == 0; }
  int error() const { return error_; } // of the system
  bool waited() const { return waited_; }

private:
  int file_;
  int error_ = 0;
  bool waited_ = false;
};

// A folder for a build that goes away with this object.
class ScratchFolder {
public:
  explicit ScratchFolder(const fs::path &parent) {
    std::string pattern = parent / "build-XXXXXX";
    if (mkdtemp(pattern.data()))
      path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty())
      fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  const fs::path &path() const { return path_; }

private:
  fs::path path_;
};

// Of builds that were killed; nobody else builds while this process holds the lock.
void removeLeftovers(const fs::path &parent) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().filename().string().starts_with("build-"))
      fs::remove_all(entry->path(), ignored);
}

core::Result<void> build(const Recipe &recipe) {
  const auto begin = std::chrono::steady_clock::now();
  std::fprintf(stderr,
               "devsan: building %s for LibTorch %s (%s), which takes a minute or more; the next "
               "run finds it in %s\n",
               recipe.name.c_str(), recipe.version.c_str(),
               core::printable(recipe.torch.library.string()).c_str(),
               core::printable(recipe.directory.string()).c_str());
  removeLeftovers(recipe.directory);
  ScratchFolder scratch(recipe.directory);
  if (scratch.path().empty())
    return core::failure(fmt::format("cannot write in {}: {}; set XDG_CACHE_HOME to a folder that "
                                     "can be written",
                                     recipe.directory.string(), std::strerror(errno)));
  if (core::Result<void> compiled = compile(recipe, scratch.path()); !compiled)
    return core::failure(fmt::format("{}; the compiler's messages are in {}",
                                     compiled.error().message, recipe.log().string()));
  std::error_code error;
  fs::remove(recipe.seal(), error);
  fs::permissions(scratch.path() / recipe.name, fs::perms::owner_all, error);
  if (!error)
    fs::rename(scratch.path() / recipe.name, recipe.library(), error);
  if (error)
    return core::failure(
        fmt::format("cannot write {}: {}", recipe.library().string(), error.message()));
  const fs::path seal = scratch.path() / "seal";
  std::ofstream stream(seal);
  stream << sealText(recipe);
  stream.close();
  fs::permissions(seal, fs::perms::owner_read | fs::perms::owner_write, error);
  if (stream && !error)
    fs::rename(seal, recipe.seal(), error);
  if (!stream || error)
    return core::failure("cannot write " + recipe.seal().string());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "devsan: built in %.0f s\n", took.count());
  return {};
}

// For those that wait meanwhile: they would fail the same way, after the same time.
core::Result<void> buildAndRecord(const Recipe &recipe) {
  std::error_code error;
  fs::remove(recipe.failure(), error);
  core::Result<void> built = build(recipe);
  if (!built)
    std::ofstream(recipe.failure()) << fmt::format(
        "{} {}\n{}", getpid(), std::chrono::steady_clock::now().time_since_epoch().count(),
        built.error().message);
  return built;
}

std::vector<fs::path> paths(const fs::path &root, const std::string &list) {
  std::vector<fs::path> result;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(';', begin), list.size());
    if (end > begin)
      result.push_back(root / list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

// Of an installed tree: the Python that our launcher runs in, which knows where it is installed, or
// the one on PATH.
fs::path pythonNamed(const std::string &name) {
  const char *ours = std::getenv("DEVSAN_PYTHON");
  if (name.find('/') != std::string::npos)
    return name;
  return ours && core::isExecutable(ours) ? fs::path(ours) : fs::path(core::findProgram(name));
}

} // namespace

core::Result<RuntimeSources> readRuntimeSources(const InstallTree &tree) {
  std::ifstream stream(tree.runtimeSources());
  if (!stream)
    return core::failure("no " + tree.runtimeSources().string() +
                         ": `devsan doctor` shows what is missing");
  std::map<std::string, std::string> values;
  RuntimeSources sources;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos)
      continue;
    const std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "generate") {
      std::vector<std::string> &step = sources.generated.emplace_back();
      for (const fs::path &item : paths("", value))
        step.push_back(item);
    } else {
      values[key] = value;
    }
  }
  sources.torch_id = values["torch-id"];
  sources.torch_version = values["torch-version"];
  // Relative to the tree where it is an installed one, which may have been moved.
  sources.is_installed = fs::path(values["root"]).is_relative();
  sources.root = tree.root / values["root"];
  sources.compiler = values["compiler"];
  sources.python = pythonNamed(values["python"]);
  for (std::vector<std::string> &step : sources.generated)
    for (std::string &item : step)
      if (item.find('/') != std::string::npos)
        item = sources.root / item;
  sources.hooks = paths(sources.root / "runtime", values["hooks"]);
  sources.simulator = paths(sources.root / "runtime/sim", values["simulator"]);
  sources.simulator_cuda_build =
      paths(sources.root / "runtime/sim", values["simulator-cuda-build"]);
  sources.cuda_headers = sources.root / values["cuda-headers"];
  for (const fs::path &file : paths(sources.root / "runtime", values["shared"])) {
    sources.hooks.push_back(file);
    sources.simulator.push_back(file);
    sources.simulator_cuda_build.push_back(file);
  }
  return sources;
}

core::Result<fs::path> runtimeCache() {
  if (const fs::path cache = core::userCache(); !cache.empty())
    return cache / "runtime";
  return core::failure("there is no place to keep it: neither XDG_CACHE_HOME nor HOME names a "
                       "folder; set XDG_CACHE_HOME to one of your own");
}

std::map<std::string, fs::path> shippedReleases(const InstallTree &tree) {
  std::map<std::string, fs::path> releases;
  std::error_code error;
  fs::directory_iterator entry(tree.shipped(), error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (const std::optional<std::string> version = contents(entry->path() / "version"))
      releases.emplace(core::firstLine(*version), entry->path());
  return releases;
}

core::Result<fs::path> libraryFor(const RuntimeSources &sources, const ProgramTorch &torch,
                                  const fs::path &prebuilt, const fs::path &shipped) {
  std::error_code error;
  const bool is_name = !torch.id.empty() && torch.id.find_first_of("/.") == std::string::npos;
  if (fs::path library = shipped / torch.id / prebuilt.filename();
      is_name && fs::exists(library, error))
    return library;
  const fs::path include = torch.library.parent_path().parent_path() / "include";
  const std::string version = torchVersion(include);
  const std::string what = fmt::format("this program's LibTorch {} ({}) is not the one that DevSan "
                                       "was built with ({}), so the runtime must be built for it",
                                       version, torch.library.string(), sources.torch_version);
  if (!fs::exists(include / "ATen/core/Tensor.h", error))
    return core::failure(
        fmt::format("{}, but its headers are missing: no {}; install LibTorch with "
                    "its headers",
                    what, (include / "ATen/core/Tensor.h").string()));
  core::Result<std::vector<std::string>> compiler = findCompiler(sources);
  if (!compiler)
    return core::failure(fmt::format("{}, but {}", what, compiler.error().message));
  Recipe recipe{sources,
                torch,
                include,
                version,
                *compiler,
                stringAbi(torch.library.parent_path()),
                prebuilt.filename() == "libdevsan_sim.so",
                {},
                prebuilt.filename()};
  core::Result<fs::path> cache = runtimeCache();
  if (!cache)
    return core::failure(fmt::format("{}, but {}", what, cache.error().message));
  recipe.directory = *cache / keyOf(recipe);
  if (core::Result<void> made = makeEntry(recipe); !made)
    return core::failure(fmt::format("{}, but {}", what, made.error().message));
  if (isIntact(recipe.library()))
    return recipe.library();
  const std::string old_failure = contents(recipe.failure()).value_or("");
  FileLock lock(recipe.directory / "lock");
  if (!lock.held())
    return core::failure(
        fmt::format("{}, but {} cannot be locked: {}; set XDG_CACHE_HOME to a folder where files "
                    "can be written and locked",
                    what, (recipe.directory / "lock").string(), std::strerror(lock.error())));
  if (isIntact(recipe.library()))
    return recipe.library();
  const std::string failure = contents(recipe.failure()).value_or("");
  if (lock.waited() && !failure.empty() && failure != old_failure)
    return core::failure(
        fmt::format("{}, and that failed in the process that this one waited for: {}", what,
                    failure.substr(failure.find('\n') + 1)));
  if (fs::exists(recipe.library(), error))
    std::fprintf(stderr, "devsan: %s is damaged and is built again\n",
                 core::printable(recipe.library().string()).c_str());
  if (core::Result<void> built = buildAndRecord(recipe); !built)
    return core::failure(fmt::format("{}, and that failed: {}", what, built.error().message));
  return recipe.library();
}

std::vector<CacheEntry> cachedLibraries() {
  std::vector<CacheEntry> entries;
  core::Result<fs::path> cache = runtimeCache();
  if (!cache)
    return entries;
  for (const fs::path &library : filesBelow(*cache, ".so")) {
    const std::string seal = contents(library.string() + ".seal").value_or("");
    std::string torch = seal.substr(std::min(seal.find('\n') + 1, seal.size()));
    while (torch.ends_with('\n'))
      torch.pop_back();
    CacheEntry &entry = entries.emplace_back(library, torch);
    entry.is_damaged = !isIntact(library);
    if (entry.is_damaged)
      entry.problem = library.string() + " is damaged";
    else if (core::Result<void> trusted =
                 checkTrust({cache->parent_path(), *cache, library.parent_path(), library,
                             library.string() + ".seal"});
             !trusted)
      entry.problem = trusted.error().message;
  }
  std::ranges::sort(entries, {}, &CacheEntry::library);
  return entries;
}

int prepare(const InstallTree &tree, const PrepareArguments &arguments) {
  core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (!sources)
    return fail(sources.error().message);
  std::error_code error;
  ProgramTorch torch{arguments.torch, arguments.id};
  if (fs::is_directory(torch.library, error))
    torch.library /= "lib/libtorch_cpu.so";
  torch.library = fs::absolute(torch.library, error);
  if (torch.id.empty())
    torch.id = torchId(torch.library);
  const bool is_torch = torch.library.filename() == "libtorch_cpu.so" && !torch.id.empty();
  if (!is_torch)
    return fail(
        "--torch: " +
        (fs::exists(torch.library, error) ? torch.library.string() + " is no LibTorch library"
                                          : "no " + torch.library.string()) +
        "; name the folder of LibTorch, as python -c 'import torch; print(torch.__path__[0])' "
        "prints it");
  std::string list = arguments.list;
  if (list.empty())
    list = tree.simulator().string() + ":" + tree.runtime().string();
  std::ranges::replace(list, ':', ';');
  std::string answer;
  for (const fs::path &prebuilt : paths("", list)) {
    fs::path library = prebuilt;
    if (torch.id != sources->torch_id) {
      core::Result<fs::path> built = libraryFor(*sources, torch, prebuilt, tree.shipped());
      if (!built)
        return fail(built.error().message);
      library = *built;
    }
    answer += (answer.empty() ? "" : ":") + library.string();
  }
  std::printf("%s\n", answer.c_str());
  return kSuccess;
}

} // namespace devsan::command
