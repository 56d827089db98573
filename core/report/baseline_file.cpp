#include "core/report/baseline_file.h"
#include "core/system/replace_file.h"
#include "core/system/whole_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

namespace devsan::core {

namespace fs = std::filesystem;

namespace {

// An empty one where there is no file and one shall be made.
Result<Baseline> contentOf(const fs::path &path, const std::string &shown, bool update,
                           bool is_found) {
  std::error_code error;
  if (update && !fs::exists(fs::symlink_status(path, error)))
    return Baseline();
  const Result<std::string> text =
      is_found ? readFile(path, kMaxReport) : readNamedFile(path, kMaxReport);
  if (!text)
    return failure(text.error().message + "; `--baseline=" + shown +
                   " --update-baseline` makes it");
  return Baseline::parse(*text, shown);
}

} // namespace

Result<BaselineFile> BaselineFile::open(const std::string &path, bool update, bool is_found) {
  BaselineFile baseline;
  if (path.empty()) {
    if (update)
      return failure("--update-baseline needs the file: add --baseline=FILE");
    return baseline;
  }
  std::error_code error;
  baseline.path_ = fs::absolute(path, error);
  baseline.update_ = update;
  baseline.is_found_ = is_found;
  Result<Baseline> content = contentOf(baseline.path_, path, update, is_found);
  if (!content)
    return tl::unexpected(content.error());
  baseline.content_ = std::move(*content);
  if (update)
    if (Result<void> good = tryToWriteFile(baseline.path_, "the baseline"); !good)
      return tl::unexpected(good.error());
  return baseline;
}

Result<void> BaselineFile::apply(std::span<Finding> findings, const std::set<Origin> &origins,
                                 Summary &summary, const IsAnalyzed &looked_at) {
  if (path_.empty())
    return {};
  if (update_) {
    // The sources' findings and a run's may come into one file at the same time.
    const Descriptor lock = lockFolderOf(path_);
    Result<Baseline> content = contentOf(path_, path_.string(), true, is_found_);
    if (!content)
      return tl::unexpected(content.error());
    content_ = std::move(*content);
    for (const Origin origin : origins)
      content_.update(findings, origin, summary.partial ? IsAnalyzed(nothing) : looked_at);
    Result<void> written = writeFile(path_, [&](std::ostream &out) { out << content_.text(); });
    if (!written)
      return written;
    const std::size_t count = content_.size();
    summary.notes.push_back(
        fmt::format("{}: holds {} finding{} now", path_.string(), count, count == 1 ? "" : "s"));
  }
  content_.apply(findings);
  summary.stale_baseline.clear();
  for (const Origin origin : origins)
    if (!summary.partial)
      std::ranges::move(content_.stale(origin, looked_at),
                        std::back_inserter(summary.stale_baseline));
  return {};
}

} // namespace devsan::core
