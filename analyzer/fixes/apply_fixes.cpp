#include "analyzer/fixes/apply_fixes.h"

#include "analyzer/files/launch_spelling.h"
#include "analyzer/files/report_paths.h"
#include "analyzer/files/source_files.h"
#include "analyzer/fixes/unified_diff.h"
#include "analyzer/system/cache_folder.h"
#include "core/system/project_root.h"
#include "core/system/replace_file.h"
#include "core/system/result.h"
#include "core/system/whole_file.h"

#include <clang/Tooling/Core/Replacement.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;
using clang::tooling::Replacement;
using clang::tooling::Replacements;

constexpr useconds_t kOthersOpen = 1000; // microseconds that an open() takes at most

// Links are followed, so that a file that is reached by two names is changed once.
std::string realPath(const std::string &file, const std::string &folder) {
  llvm::SmallString<256> path(file), real;
  if (!folder.empty())
    llvm::sys::path::make_absolute(folder, path);
  return std::string(llvm::sys::fs::real_path(path, real) ? path : real);
}

// What is to be done in one file, and for which findings.
struct FileFixes {
  std::string name; // as it was reached
  Replacements replacements;
  std::set<std::size_t> findings;
};

using FixesByFile = std::map<std::string, FileFixes>; // by real path

// All of a finding's replacements or none. Several findings may ask for the same one: one guard
// serves many launches. Files are replaced one by one, so a fix lies in one of them.
void addAll(const core::Finding &finding, std::size_t index, const std::string &folder,
            FixesByFile &by_file) {
  std::string file;
  for (const core::Replacement &fix : finding.fix) {
    const std::string real = realPath(fix.file, folder);
    if (!file.empty() && real != file)
      return;
    file = real;
  }
  FileFixes &fixes = by_file[file];
  Replacements attempt = fixes.replacements;
  for (const core::Replacement &fix : finding.fix) {
    const Replacement replacement(file, fix.offset, fix.length, fix.text);
    if (llvm::is_contained(attempt, replacement))
      continue;
    if (llvm::Error error = attempt.add(replacement)) {
      llvm::consumeError(std::move(error));
      return;
    }
  }
  fixes.replacements = std::move(attempt);
  fixes.findings.insert(index);
  llvm::SmallString<256> name(finding.fix.front().file);
  if (!folder.empty())
    llvm::sys::path::make_absolute(folder, name);
  fixes.name = std::string(name);
}

// Lines end as those of the file.
Replacements withReturns(const Replacements &replacements) {
  Replacements changed;
  for (const Replacement &replacement : replacements) {
    std::string text;
    for (const char c : replacement.getReplacementText()) {
      if (c == '\n' && (text.empty() || text.back() != '\r'))
        text += '\r';
      text += c;
    }
    llvm::consumeError(changed.add(Replacement(replacement.getFilePath(), replacement.getOffset(),
                                               replacement.getLength(), text)));
  }
  return changed;
}

bool endsLinesWithReturns(llvm::StringRef text) {
  const std::size_t end = text.find('\n');
  return end != llvm::StringRef::npos && end > 0 && text[end - 1] == '\r';
}

// One file that is to be fixed. Each function returns why it cannot go on, in words that follow
// "not fixed, "; nothing where all is well.
class Fixing {
public:
  using Refusal = std::optional<std::string>;

  Fixing(core::FilePlace place, const FileFixes &fixes) : place_(std::move(place)), fixes_(fixes) {}

  // What it holds, and that this is what was analysed.
  Refusal read(const std::string &analysed) {
    file_ = core::Descriptor(openat(place_.folder(), place_.name().c_str(),
                                    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file_ || fstat(file_.get(), &status_) != 0)
      return std::strerror(errno);
    if (!S_ISREG(status_.st_mode))
      return "it is no file";
    if (faccessat(place_.folder(), place_.name().c_str(), W_OK, AT_EACCESS) != 0)
      return errno == EACCES ? "it is read-only" : std::strerror(errno);
    if (Refusal busy = lockAgainstWriters())
      return busy;
    std::optional<std::string> text = contents();
    if (!text)
      return std::strerror(errno);
    const std::optional<std::string> respelled =
        isCudaFile(place_.name()) ? withClangsLaunches(*text) : std::nullopt;
    if (checksum(respelled ? *respelled : *text) != analysed)
      return "it has changed since it was analysed; run again";
    before_ = std::move(*text);
    replacements_ =
        endsLinesWithReturns(before_) ? withReturns(fixes_.replacements) : fixes_.replacements;
    return std::nullopt;
  }

  std::string diff(const std::string &name) const {
    return unifiedDiff(name, before_, replacements_);
  }

  Refusal write() {
    auto fixed = clang::tooling::applyAllReplacements(before_, replacements_);
    if (!fixed)
      return llvm::toString(fixed.takeError());
    core::NewFile file(place_, 0600);
    if (!file)
      return std::strerror(errno);
    core::DescriptorStream stream(file.descriptor());
    if (!(stream << *fixed).flush())
      return std::strerror(stream.error());
    if (!file.resemble(status_))
      return "its owner and permissions cannot be kept";
    if (!file.tradePlaces())
      return errno == EINVAL || errno == ENOSYS ? takePlace(file) : std::strerror(errno);
    struct stat out;
    if (file.look(out) && isUnchanged(out))
      return std::nullopt;
    if (!file.putBack())
      return "somebody else wrote it meanwhile, and what it held is in " +
             (place_.path().parent_path() / file.keep()).string();
    return kWritten;
  }

private:
  static constexpr const char *kWritten = "somebody else wrote it meanwhile; run again";

  // Until file_ is closed, whoever opens the file for writing waits, and whoever had it open before
  // keeps us from it. Not every file system can do that, nor may everybody on another's file.
  Refusal lockAgainstWriters() {
    fcntl(file_.get(), F_SETSIG, SIGURG); // the usual one ends a process
    is_held_ = fcntl(file_.get(), F_SETLEASE, F_RDLCK) == 0;
    if (!is_held_ && errno == EAGAIN && supportsLeases())
      return "another program has it open to write it; run again";
    return std::nullopt;
  }

  // Some file systems say of every file that it is open elsewhere. So one is asked for that nobody
  // else can have open.
  bool supportsLeases() const {
    const auto make = [&] {
      core::NewFile file(place_, 0600);
      return file ? file.keep() : std::string();
    };
    const std::string name = make();
    const core::Descriptor file(
        openat(place_.folder(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!name.empty())
      unlinkat(place_.folder(), name.c_str(), 0);
    return file && fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0;
  }

  std::optional<std::string> contents() const {
    auto buffer = llvm::MemoryBuffer::getOpenFile(
        llvm::sys::fs::convertFDToNativeFile(file_.get()), place_.name(), -1,
        /*RequiresNullTerminator=*/true, /*IsVolatile=*/true);
    if (!buffer) {
      errno = buffer.getError().value();
      return std::nullopt;
    }
    return (*buffer)->getBuffer().str();
  }

  // Whether what was in its place is the file that was read, and as it was then.
  bool isUnchanged(const struct stat &out) const {
    if (out.st_ino != status_.st_ino || out.st_dev != status_.st_dev)
      return false;
    // Whoever found it under its name before it lost that has opened it by then, or waits to.
    usleep(kOthersOpen);
    return is_held_ ? fcntl(file_.get(), F_GETLEASE) == F_RDLCK : contents() == before_;
  }

  // Where a file system cannot trade names.
  Refusal takePlace(core::NewFile &file) const {
    struct stat now;
    if (!place_.look(now) || !isUnchanged(now))
      return kWritten;
    return file.takePlace() ? std::nullopt : Refusal(std::strerror(errno));
  }

  core::FilePlace place_;
  const FileFixes &fixes_;
  core::Descriptor file_;
  struct stat status_ = {};
  bool is_held_ = false;
  std::string before_;
  Replacements replacements_;
};

Fixing::Refusal fix(const std::string &real, const FileFixes &fixes, const FixRequest &request,
                    const std::map<std::string, std::string> &texts, std::string &diff) {
  core::Result<core::FilePlace> place = core::FilePlace::of(fixes.name);
  if (!place)
    return place.error().message;
  if (llvm::none_of(request.roots,
                    [&](const fs::path &root) { return core::isWithin(place->path(), root); }))
    return "it is outside of " +
           (request.roots.empty() ? "the project" : request.roots.front().string());
  const auto analysed = texts.find(real);
  Fixing fixing(std::move(*place), fixes);
  if (Fixing::Refusal refusal = fixing.read(analysed == texts.end() ? "" : analysed->second))
    return refusal;
  if (!request.only_show)
    return fixing.write();
  diff += fixing.diff(shortPath(real));
  return std::nullopt;
}

// Of one file, beside those of the same file that are in `fixes` already.
FileFixes with(const core::Finding &finding, std::size_t index, const std::string &folder,
               const std::string &real, const FileFixes &fixes) {
  FixesByFile one{{real, fixes}};
  addAll(finding, index, folder, one);
  return one[real];
}

std::optional<std::string> fixedText(const std::string &real, const FileFixes &fixes) {
  const core::Result<std::string> text = core::readFile(real, core::kMaxSource);
  if (!text)
    return std::nullopt;
  auto fixed = clang::tooling::applyAllReplacements(*text, fixes.replacements);
  if (!fixed) {
    llvm::consumeError(fixed.takeError());
    return std::nullopt;
  }
  return isCudaFile(real) ? withClangsLaunches(*fixed).value_or(*fixed) : *fixed;
}

// Takes back what keeps a file from parsing, and tells.
void keepWhatParses(FixesByFile &by_file, const std::vector<core::Finding> &findings,
                    const FixRequest &request, std::vector<std::string> &told) {
  constexpr std::size_t kTries = 32; // of a file
  std::map<std::string, std::string> texts;
  for (const auto &[real, fixes] : by_file)
    if (std::optional<std::string> text = fixedText(real, fixes); text && !fixes.findings.empty())
      texts.emplace(real, std::move(*text));
  if (texts.empty() || !request.broken)
    return;
  for (const std::string &real : request.broken(texts)) {
    FileFixes kept{.name = by_file[real].name, .replacements = {}, .findings = {}};
    std::size_t tries = 0;
    for (const std::size_t i : by_file[real].findings) {
      FileFixes attempt = with(findings[i], i, request.folder, real, kept);
      const std::optional<std::string> text = fixedText(real, attempt);
      if (text && ++tries <= kTries && request.broken({{real, *text}}).empty())
        kept = std::move(attempt);
      else
        told.push_back(shortPath(by_file[real].name) + ":" +
                       std::to_string(findings[i].locations.front().line) +
                       ": not fixed, the file would not parse with the fix");
    }
    by_file[real] = std::move(kept);
  }
}

} // namespace

FixOutcome applyFixes(std::vector<core::Finding> &findings, const FixRequest &request) {
  FixesByFile by_file;
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (!findings[i].known && !findings[i].fix.empty() &&
        (request.all || findings[i].caution.empty()))
      addAll(findings[i], i, request.folder, by_file);
  // A file may have been read by several names.
  std::map<std::string, std::string> texts;
  if (!by_file.empty())
    for (const auto &[file, sum] : request.texts)
      if (const auto [known, is_new] = texts.emplace(realPath(file, request.folder), sum);
          !is_new && known->second != sum)
        known->second.clear();
  FixOutcome outcome;
  keepWhatParses(by_file, findings, request, outcome.skipped);
  std::set<std::size_t> repaired;
  for (const auto &[real, fixes] : by_file) {
    if (fixes.findings.empty())
      continue;
    if (Fixing::Refusal refusal = fix(real, fixes, request, texts, outcome.diff))
      outcome.skipped.push_back(shortPath(fixes.name) + ": not fixed, " + *refusal);
    else if (!request.only_show)
      repaired.insert(fixes.findings.begin(), fixes.findings.end());
  }
  std::size_t i = 0;
  std::erase_if(findings, [&](const core::Finding &) { return repaired.contains(i++); });
  outcome.findings = static_cast<unsigned>(repaired.size());
  return outcome;
}

std::vector<fs::path> rootsOf(const std::vector<std::string> &inputs) {
  std::set<fs::path> roots;
  for (const std::string &input : inputs) {
    const core::Result<core::FilePlace> place = core::FilePlace::of(input);
    struct stat status;
    if (!place || !place->look(status))
      continue;
    const fs::path folder = S_ISDIR(status.st_mode) ? place->path() : place->path().parent_path();
    roots.insert(core::projectAround(folder).value_or(folder));
  }
  return {roots.begin(), roots.end()};
}

} // namespace devsan::analyzer
