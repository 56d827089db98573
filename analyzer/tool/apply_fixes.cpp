#include "analyzer/tool/apply_fixes.h"

#include <clang/Tooling/Core/Replacement.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <map>

namespace devsan::analyzer {
namespace {

using clang::tooling::Replacements;

// Links are followed, so that a file that is reached by two names is changed once, and stays a
// link.
std::string realPath(const std::string &file, const std::string &folder) {
  llvm::SmallString<256> path(file), real;
  if (!folder.empty())
    llvm::sys::path::make_absolute(folder, path);
  return std::string(llvm::sys::fs::real_path(path, real) ? path : real);
}

// All of a finding's replacements or none. Several findings may ask for the same one: one guard
// serves many launches.
bool addAll(const core::Finding &finding, const std::string &folder,
            std::map<std::string, Replacements> &by_file) {
  std::map<std::string, Replacements> attempt = by_file;
  for (const core::Replacement &fix : finding.fix) {
    const std::string file = realPath(fix.file, folder);
    const clang::tooling::Replacement replacement(file, fix.offset, fix.length, fix.text);
    Replacements &replacements = attempt[file];
    if (llvm::is_contained(replacements, replacement))
      continue;
    if (llvm::Error error = replacements.add(replacement)) {
      llvm::consumeError(std::move(error));
      return false;
    }
  }
  by_file = std::move(attempt);
  return true;
}

core::Result<void> rewrite(const std::string &file, const Replacements &replacements) {
  auto buffer = llvm::MemoryBuffer::getFile(file);
  if (!buffer)
    return core::failure(file + ": cannot be read to fix it: " + buffer.getError().message());
  auto fixed = clang::tooling::applyAllReplacements((*buffer)->getBuffer(), replacements);
  if (!fixed)
    return core::failure(file + ": cannot be fixed: " + llvm::toString(fixed.takeError()));
  const auto permissions = llvm::sys::fs::getPermissions(file);
  llvm::Error error = llvm::writeToOutput(file, [&](llvm::raw_ostream &out) {
    out << *fixed;
    return llvm::Error::success();
  });
  if (error)
    return core::failure(file + ": cannot be written: " + llvm::toString(std::move(error)));
  // It was written as a new file.
  if (permissions)
    llvm::sys::fs::setPermissions(file, *permissions);
  return {};
}

} // namespace

core::Result<unsigned> applyFixes(std::vector<core::Finding> &findings, const std::string &folder) {
  std::map<std::string, Replacements> by_file;
  const size_t before = findings.size();
  std::erase_if(findings, [&](const core::Finding &finding) {
    return !finding.known && !finding.fix.empty() && addAll(finding, folder, by_file);
  });
  for (const auto &[file, replacements] : by_file)
    if (auto written = rewrite(file, replacements); !written)
      return tl::unexpected(written.error());
  return static_cast<unsigned>(before - findings.size());
}

} // namespace devsan::analyzer
