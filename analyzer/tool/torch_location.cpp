#include "analyzer/tool/torch_location.h"

#include "analyzer/tool/cache_folder.h"
#include "analyzer/tool/run_program.h"
#include "analyzer/tool/source_files.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>

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

std::string virtualEnvPython(llvm::StringRef file) {
  const std::string folder = nearestFolderWith(file, {".venv"});
  return folder.empty() ? std::string() : pathIn(folder, ".venv/bin/python");
}

std::string findPython(const std::string &first_file) {
  if (auto env = llvm::sys::Process::GetEnv("VIRTUAL_ENV"); env && !env->empty())
    return pathIn(*env, "bin/python");
  llvm::SmallString<256> here;
  llvm::sys::fs::current_path(here);
  const std::string self = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  for (const std::string &start : {pathIn(here, "x"), first_file, self})
    if (std::string python = virtualEnvPython(start); llvm::sys::fs::can_execute(python))
      return python;
  // What the launcher of our wheel runs in.
  if (auto ours = llvm::sys::Process::GetEnv("DEVSAN_PYTHON");
      ours && llvm::sys::fs::can_execute(*ours))
    return *ours;
  auto found = llvm::sys::findProgramByName("python3");
  return found ? *found : std::string();
}

struct PythonAnswer {
  std::string torch;
  std::string python_include;
};

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

  std::optional<PythonAnswer> read() const {
    auto buffer = file_.empty() ? nullptr : llvm::MemoryBuffer::getFile(file_);
    if (file_.empty() || !buffer)
      return std::nullopt;
    llvm::StringRef text = (*buffer)->getBuffer();
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
    return PythonAnswer{torch.str(), include.str()};
  }

  void write(const PythonAnswer &answer, const std::string &python, llvm::StringRef paths) const {
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

PythonAnswer ask(const std::string &python, bool use_cache) {
  if (python.empty())
    return {};
  const KeptAnswer kept(use_cache, python);
  if (std::optional<PythonAnswer> answer = kept.read())
    return *answer;
  const ProgramOutput asked = runProgram(python, {"-I", "-c", kAskPython});
  if (asked.status != 0)
    return {};
  const auto [torch, rest] = llvm::StringRef(asked.output).split('\n');
  const auto [include, paths] = rest.split('\n');
  const PythonAnswer answer = {torch.str(), include.trim().str()};
  kept.write(answer, python, paths);
  return answer;
}

std::string readVersion(llvm::StringRef folder) {
  auto text = llvm::MemoryBuffer::getFile(pathIn(folder, "version.py"));
  if (!text)
    return {};
  llvm::StringRef rest = (*text)->getBuffer();
  return rest.split("__version__ = '").second.split('\'').first.str();
}

} // namespace

core::Result<std::optional<TorchLocation>>
findTorch(const std::string &option, const std::string &first_file, bool use_cache) {
  if (option == "none")
    return std::nullopt;
  PythonAnswer answer = ask(findPython(first_file), use_cache);
  if (!option.empty()) {
    llvm::SmallString<256> path(option);
    llvm::sys::fs::make_absolute(path); // files are parsed in the folders of their commands
    answer.torch = std::string(path);
  }
  if (answer.torch.empty())
    return std::nullopt;
  TorchLocation torch;
  torch.folder = answer.torch;
  torch.include_folders = {pathIn(torch.folder, "include"),
                           pathIn(torch.folder, "include/torch/csrc/api/include")};
  if (!llvm::sys::fs::exists(pathIn(torch.include_folders[1], "torch/torch.h"))) {
    if (option.empty())
      return std::nullopt;
    return core::failure("--torch=" + option +
                         ": no include/torch/csrc/api/include/torch/torch.h in it; name the "
                         "folder of the installed torch package");
  }
  torch.version = readVersion(torch.folder);
  if (!answer.python_include.empty())
    torch.include_folders.push_back(answer.python_include);
  return torch;
}

} // namespace devsan::analyzer
