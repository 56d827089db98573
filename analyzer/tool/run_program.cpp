#include "analyzer/tool/run_program.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Process.h>
#include <llvm/Support/Program.h>

#include <unistd.h>

namespace devsan::analyzer {
namespace {

constexpr unsigned kSeconds = 30;

class OutputFile {
public:
  OutputFile() {
    if (llvm::sys::fs::createTemporaryFile("devsan", "txt", path_))
      path_.clear();
  }
  ~OutputFile() {
    if (!path_.empty())
      llvm::sys::fs::remove(path_);
  }
  llvm::StringRef path() const { return path_; }
  std::string text() const {
    auto buffer = llvm::MemoryBuffer::getFile(path_);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

private:
  llvm::SmallString<128> path_;
};

std::vector<std::string> environmentWith(const EnvironmentChanges &changes) {
  std::vector<std::string> result;
  for (char **variable = environ; *variable; ++variable) {
    const llvm::StringRef name = llvm::StringRef(*variable).split('=').first;
    if (llvm::none_of(changes, [&](const auto &change) { return name == change.first; }))
      result.emplace_back(*variable);
  }
  for (const auto &[name, value] : changes)
    if (value)
      result.push_back(name + "=" + *value);
  return result;
}

} // namespace

std::string findProgram(const std::string &name) {
  const std::string path = llvm::sys::Process::GetEnv("PATH").value_or("");
  llvm::SmallVector<llvm::StringRef> folders;
  llvm::StringRef(path).split(folders, llvm::sys::EnvPathSeparator, -1, /*KeepEmpty=*/false);
  llvm::erase_if(folders, [](llvm::StringRef f) { return !llvm::sys::path::is_absolute(f); });
  if (folders.empty())
    return {}; // LLVM would take its own PATH
  auto found = llvm::sys::findProgramByName(name, folders);
  return found ? *found : std::string();
}

ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments,
                         const EnvironmentChanges &changes) {
  std::string path = program;
  if (path.find('/') == std::string::npos) {
    path = findProgram(program);
    if (path.empty())
      return {-1, {}, program + ": not found on PATH"};
  }
  const OutputFile out, errors;
  if (out.path().empty() || errors.path().empty())
    return {-1, {}, "cannot make a temporary file"};
  std::vector<llvm::StringRef> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<std::string> variables = environmentWith(changes);
  const std::vector<llvm::StringRef> environment(variables.begin(), variables.end());
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), out.path(), errors.path()};
  std::string message;
  const int status =
      llvm::sys::ExecuteAndWait(path, words, environment, redirects, kSeconds, 0, &message);
  return {status, out.text(), message.empty() ? errors.text() : message};
}

} // namespace devsan::analyzer
