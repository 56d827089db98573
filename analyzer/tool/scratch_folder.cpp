#include "analyzer/tool/scratch_folder.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Process.h>

#include <cstdlib>

namespace devsan::analyzer {
namespace {

constexpr const char *kVariable = "TMPDIR"; // before any other in LLVM

} // namespace

ScratchFolder::ScratchFolder() {
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("devsan-check", folder))
    return;
  folder_ = std::string(folder);
  before_ = llvm::sys::Process::GetEnv(kVariable).value_or("");
  setenv(kVariable, folder_.c_str(), /*overwrite=*/1);
}

ScratchFolder::~ScratchFolder() {
  if (folder_.empty())
    return;
  if (before_.empty())
    unsetenv(kVariable);
  else
    setenv(kVariable, before_.c_str(), /*overwrite=*/1);
  llvm::sys::fs::remove_directories(folder_);
}

} // namespace devsan::analyzer
