#include "analyzer/tool/torch_location.h"

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
                              "print(sysconfig.get_path('include'))\n";

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
  auto found = llvm::sys::findProgramByName("python3");
  return found ? *found : std::string();
}

struct Answer {
  std::string torch;
  std::string python_include;
};

Answer ask(const std::string &python) {
  llvm::SmallString<128> out;
  if (python.empty() || llvm::sys::fs::createTemporaryFile("devsan", "txt", out))
    return {};
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), llvm::StringRef(out),
                                                      llvm::StringRef()};
  const int status = llvm::sys::ExecuteAndWait(python, {python, "-I", "-c", kAskPython},
                                               std::nullopt, redirects, 60);
  auto text = llvm::MemoryBuffer::getFile(out);
  llvm::sys::fs::remove(out);
  if (status != 0 || !text)
    return {};
  const auto [torch, rest] = (*text)->getBuffer().split('\n');
  return {torch.str(), rest.trim().str()};
}

std::string readVersion(llvm::StringRef folder) {
  auto text = llvm::MemoryBuffer::getFile(pathIn(folder, "version.py"));
  if (!text)
    return {};
  llvm::StringRef rest = (*text)->getBuffer();
  return rest.split("__version__ = '").second.split('\'').first.str();
}

} // namespace

core::Result<std::optional<TorchLocation>> findTorch(const std::string &option,
                                                     const std::string &first_file) {
  if (option == "none")
    return std::nullopt;
  Answer answer = ask(findPython(first_file));
  if (!option.empty())
    answer.torch = option;
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
