#include "analyzer/files/report_paths.h"

#include "core/finding/fingerprint.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace devsan::analyzer {
namespace {

std::string relativeTo(llvm::StringRef folder, llvm::StringRef path) {
  llvm::StringRef rest = path;
  if (!folder.empty() && rest.consume_front(folder) && rest.consume_front("/"))
    return rest.str();
  return path.str();
}

} // namespace

void forEachPath(std::vector<core::Finding> &findings,
                 llvm::function_ref<void(std::string &)> change) {
  for (core::Finding &finding : findings) {
    for (core::Location &location : finding.locations)
      change(location.file);
    for (core::Related &related : finding.related)
      change(related.location.file);
    for (core::Replacement &fix : finding.fix)
      change(fix.file);
  }
}

std::string currentFolder() {
  llvm::SmallString<256> here;
  llvm::sys::fs::current_path(here);
  return std::string(here);
}

std::string shortPath(const std::string &path) {
  return relativeTo(currentFolder(), path);
}

void identify(std::vector<core::Finding> &findings, const std::string &repository) {
  forEachPath(findings, [&](std::string &path) { path = relativeTo(repository, path); });
  const std::string here = currentFolder();
  if (!repository.empty())
    llvm::sys::fs::set_current_path(repository);
  core::assignFingerprints(findings);
  llvm::sys::fs::set_current_path(here);
}

void showPathsFromHere(std::vector<core::Finding> &findings, const std::string &repository) {
  const std::string here = currentFolder();
  forEachPath(findings, [&](std::string &path) {
    llvm::SmallString<256> full(path);
    llvm::sys::path::make_absolute(repository.empty() ? here : repository, full);
    path = relativeTo(here, full);
  });
}

} // namespace devsan::analyzer
