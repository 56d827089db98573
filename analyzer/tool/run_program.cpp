#include "analyzer/tool/run_program.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Program.h>

namespace devsan::analyzer {
namespace {

constexpr unsigned kSeconds = 60;

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

} // namespace

ProgramOutput runProgram(const std::string &program, const std::vector<std::string> &arguments) {
  std::string path = program;
  if (path.find('/') == std::string::npos) {
    auto found = llvm::sys::findProgramByName(program);
    if (!found)
      return {-1, {}, program + ": not found on PATH"};
    path = *found;
  }
  const OutputFile out, errors;
  if (out.path().empty() || errors.path().empty())
    return {-1, {}, "cannot make a temporary file"};
  std::vector<llvm::StringRef> words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(), out.path(), errors.path()};
  std::string message;
  const int status =
      llvm::sys::ExecuteAndWait(path, words, std::nullopt, redirects, kSeconds, 0, &message);
  return {status, out.text(), message.empty() ? errors.text() : message};
}

} // namespace devsan::analyzer
