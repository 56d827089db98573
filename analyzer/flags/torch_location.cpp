#include "analyzer/flags/torch_location.h"

#include "analyzer/files/report_paths.h"
#include "analyzer/files/source_files.h"
#include "analyzer/system/cache_folder.h"
#include "core/system/run_program.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>

namespace devsan::analyzer {
namespace {

// Isolated mode keeps the current folder and $PYTHONPATH, that is the project's own code, out of
// the interpreter; a torch in the user's site-packages is still found. find_spec does not import
// torch.
constexpr char kAskPython[] = "import importlib.util, site, sys, sysconfig\n"
                              "sys.path.append(site.getusersitepackages())\n"
                              "spec = importlib.util.find_spec('torch')\n"
                              "print(spec.submodule_search_locations[0] if spec and "
                              "spec.submodule_search_locations else '')\n"
                              "print(sysconfig.get_path('include'))\n"
                              "print(*sys.path, sep='\\n')\n";

std::string pathIn(llvm::StringRef folder, llvm::StringRef rest) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, rest);
  return std::string(path);
}

// Headers that some place names.
struct Found {
  std::string torch;          // folder of the package
  std::string python_include; // nothing where none is known
};

constexpr llvm::StringLiteral kTorchHeader = "include/torch/csrc/api/include/torch/torch.h";

bool holdsTorch(llvm::StringRef folder) {
  return !folder.empty() && llvm::sys::fs::exists(pathIn(folder, kTorchHeader));
}

// Python's headers, for an environment whose libraries are in PREFIX/lib/NAME.
std::string pythonInclude(llvm::StringRef prefix, llvm::StringRef name) {
  std::vector<std::string> prefixes = {prefix.str()};
  // A virtual environment has none of its own, but says which Python it was made from.
  const std::string settings = textOf(pathIn(prefix, "pyvenv.cfg"));
  for (const llvm::StringRef line : llvm::split(settings, '\n'))
    if (const auto [key, value] = line.split('='); key.trim() == "home")
      prefixes.push_back(llvm::sys::path::parent_path(value.trim()).str());
  for (const std::string &place : prefixes)
    if (std::string folder = pathIn(place, ("include/" + name).str());
        llvm::sys::fs::exists(pathIn(folder, "Python.h")))
      return folder;
  return {};
}

// For LibTorch without Python.
std::string systemPythonInclude() {
  llvm::SmallString<256> python; // PREFIX/bin/python3.N
  if (llvm::sys::fs::real_path(core::findProgram("python3"), python))
    return {};
  using llvm::sys::path::parent_path;
  return pythonInclude(parent_path(parent_path(python)), llvm::sys::path::filename(python));
}

// The torch package PREFIX/lib/python3.N/site-packages/torch lies in an environment of Python.
std::string includeBeside(llvm::StringRef torch) {
  using llvm::sys::path::parent_path;
  const llvm::StringRef library = parent_path(parent_path(torch));
  return pythonInclude(parent_path(parent_path(library)), llvm::sys::path::filename(library));
}

// Read, and nothing in it started: an environment in a checkout is whoever's the checkout is.
std::optional<Found> inEnvironment(llvm::StringRef prefix) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(pathIn(prefix, "lib"), error), end;
       !error && entry != end; entry.increment(error))
    if (llvm::sys::path::filename(entry->path()).starts_with("python3"))
      if (const std::string torch = pathIn(entry->path(), "site-packages/torch"); holdsTorch(torch))
        return Found{torch, includeBeside(torch)};
  return std::nullopt;
}

// What CMake's find_package(Torch) found or would find: the folder of TorchConfig.cmake, or a
// prefix above it.
std::optional<Found> fromCMake(llvm::StringRef named) {
  llvm::SmallString<256> folder(named);
  for (int level = 0; level < 4 && !folder.empty(); ++level) {
    if (llvm::sys::path::is_absolute(folder) && holdsTorch(folder))
      return Found{std::string(folder), includeBeside(folder)};
    llvm::sys::path::remove_filename(folder);
  }
  return std::nullopt;
}

std::optional<Found> inCMakeCache(llvm::StringRef file) {
  const std::string text = textOf(file.str());
  for (const llvm::StringRef line : llvm::split(text, '\n'))
    if (line.starts_with("Torch_DIR:"))
      return fromCMake(line.split('=').second.trim());
  return std::nullopt;
}

std::optional<Found> inCMakeEnvironment() {
  for (const char *name : {"Torch_DIR", "Torch_ROOT", "CMAKE_PREFIX_PATH"}) {
    const std::string paths = llvm::sys::Process::GetEnv(name).value_or("");
    for (const llvm::StringRef path : llvm::split(paths, llvm::sys::EnvPathSeparator))
      if (auto found = fromCMake(path))
        return found;
  }
  return std::nullopt;
}

constexpr llvm::StringLiteral kPythonHead = "devsan-python/1 "; // then a checksum of what follows

// "PATH\tTIME" of a file or folder; a folder's time changes when something is installed into it.
std::string stamp(llvm::StringRef path) {
  llvm::sys::fs::file_status status;
  const bool is_there = !llvm::sys::fs::status(path, status);
  return (path + "\t" +
          (is_there ? llvm::Twine(status.getLastModificationTime().time_since_epoch().count())
                    : llvm::Twine("absent")) +
          "\n")
      .str();
}

// Starting Python takes longer than the rest of a run in which nothing has changed, so its answer
// is kept for as long as the folders that it imports from stay as they were.
class KeptAnswer {
public:
  KeptAnswer(bool enabled, const std::string &python) {
    const std::string folder = enabled ? cacheFolder("python") : std::string();
    if (folder.empty())
      return;
    std::string key = python;
    for (const char *name : {"HOME", "PYTHONHOME", "PYTHONUSERBASE"})
      key += "\n" + llvm::sys::Process::GetEnv(name).value_or("");
    file_ = folder + "/" + checksum(key);
  }

  std::optional<Found> read() const {
    const std::unique_ptr<llvm::MemoryBuffer> buffer = file_.empty() ? nullptr : readCached(file_);
    if (!buffer)
      return std::nullopt;
    llvm::StringRef text = buffer->getBuffer();
    if (!text.consume_front(kPythonHead))
      return std::nullopt;
    const auto [sum, body] = text.split('\n');
    if (sum != checksum(body))
      return std::nullopt;
    auto [torch, rest] = body.split('\n');
    auto [include, stamps] = rest.split('\n');
    for (llvm::StringRef left = stamps; !left.empty();) {
      llvm::StringRef line;
      std::tie(line, left) = left.split('\n');
      if (stamp(line.rsplit('\t').first) != (line + "\n").str())
        return std::nullopt;
    }
    return Found{torch.str(), include.str()};
  }

  void write(const Found &answer, const std::string &python, llvm::StringRef paths) const {
    if (file_.empty())
      return;
    llvm::StringRef home = llvm::sys::path::parent_path(llvm::sys::path::parent_path(python));
    std::string body = answer.torch + "\n" + answer.python_include + "\n" + stamp(python) +
                       stamp(pathIn(home, "pyvenv.cfg"));
    for (llvm::StringRef left = paths; !left.empty();) {
      llvm::StringRef line;
      std::tie(line, left) = left.split('\n');
      if (!line.empty())
        body += stamp(line);
    }
    storeFile(file_, {kPythonHead, checksum(body), "\n", body});
  }

private:
  std::string file_;
};

std::optional<Found> ask(const std::string &python, bool use_cache) {
  if (python.empty())
    return std::nullopt;
  const KeptAnswer kept(use_cache, python);
  if (std::optional<Found> answer = kept.read())
    return answer;
  const core::ProgramOutput asked = core::runProgram(python, {"-I", "-c", kAskPython});
  if (asked.status != 0)
    return std::nullopt;
  const auto [torch, rest] = llvm::StringRef(asked.output).split('\n');
  const auto [include, paths] = rest.split('\n');
  Found answer = {torch.str(), include.trim().str()};
  kept.write(answer, python, paths);
  return answer;
}

// The first place that holds LibTorch. Programs are started last, and only those that the user
// named: on the command line, in the environment, on PATH.
std::optional<Found> look(const TorchPlaces &places, bool use_cache) {
  const auto asked = [&](const std::string &python) {
    auto found = ask(python, use_cache);
    return found && holdsTorch(found->torch) ? found : std::nullopt;
  };
  if (!places.python.empty())
    return asked(places.python);
  if (auto env = llvm::sys::Process::GetEnv("VIRTUAL_ENV"); env && !env->empty())
    if (auto found = inEnvironment(*env); found || (found = asked(pathIn(*env, "bin/python"))))
      return found;
  const std::string build_cache =
      places.build_dir.empty() ? std::string()
                               : pathIn(currentFolder(), places.build_dir + "/CMakeCache.txt");
  if (auto found = inCMakeCache(build_cache))
    return found;
  const std::string here = pathIn(currentFolder(), "x");
  const std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  for (const std::string &start : {here, places.first_file, self})
    if (const std::string folder = nearestFolderWith(start, {".venv"}); !folder.empty())
      if (auto found = inEnvironment(pathIn(folder, ".venv")))
        return found;
  if (auto found = inCMakeEnvironment())
    return found;
  for (const char *name : {"CMakeCache.txt", "build/CMakeCache.txt"})
    if (const std::string folder = nearestFolderWith(places.first_file, {name}); !folder.empty())
      if (auto found = inCMakeCache(pathIn(folder, name)))
        return found;
  // What the launcher of our wheel runs in.
  if (auto found = asked(llvm::sys::Process::GetEnv("DEVSAN_PYTHON").value_or("")))
    return found;
  return asked(core::findProgram("python3"));
}

std::string quotedAfter(llvm::StringRef text, llvm::StringRef words, char quote) {
  return text.split(words).second.split(quote).first.str();
}

std::string readVersion(llvm::StringRef folder) {
  if (std::string version =
          quotedAfter(textOf(pathIn(folder, "version.py")), "__version__ = '", '\'');
      !version.empty())
    return version;
  // LibTorch without Python.
  return quotedAfter(textOf(pathIn(folder, "include/torch/csrc/api/include/torch/version.h")),
                     "#define TORCH_VERSION \"", '"');
}

} // namespace

core::Result<std::optional<TorchLocation>> findTorch(const TorchPlaces &places, bool use_cache) {
  if (places.option == "none")
    return std::nullopt;
  std::optional<Found> found;
  if (!places.option.empty()) {
    llvm::SmallString<256> path(places.option);
    llvm::sys::fs::make_absolute(path); // files are parsed in the folders of their commands
    found = Found{std::string(path), includeBeside(path)};
    if (!holdsTorch(path))
      return core::failure("--torch=" + places.option + ": no " + kTorchHeader.str() +
                           " in it; name the folder of the installed torch package");
  } else {
    found = look(places, use_cache);
    if (!found && !places.python.empty())
      return core::failure("--python=" + places.python +
                           ": it has no torch package; name the Python that torch is installed in, "
                           "or the folder of the package with --torch=DIR");
  }
  if (!found)
    return std::nullopt;
  TorchLocation torch;
  torch.folder = found->torch;
  torch.include_folders = {pathIn(torch.folder, "include"),
                           pathIn(torch.folder, "include/torch/csrc/api/include")};
  torch.version = readVersion(torch.folder);
  const std::string python =
      found->python_include.empty() ? systemPythonInclude() : found->python_include;
  if (!python.empty())
    torch.include_folders.push_back(python);
  return torch;
}

} // namespace devsan::analyzer
