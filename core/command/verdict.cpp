#include "core/command/verdict.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

namespace {

core::Error cannotWrite(const fs::path &path, int error) {
  return {"cannot write " + path.string() + ": " + std::strerror(error ? error : EIO)};
}

// Of the error that a stream met, as far as the library tells.
core::Result<void> writeTo(const fs::path &path, const fs::path &shown,
                           const std::function<void(std::ostream &)> &content) {
  errno = 0;
  std::ofstream stream(path, std::ios::trunc);
  if (stream)
    content(stream);
  stream.close();
  if (!stream)
    return tl::unexpected(cannotWrite(shown, errno));
  return {};
}

} // namespace

core::Result<std::string> readFile(const fs::path &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return core::failure("cannot read " + path.string() + ": it is a directory");
  std::ifstream stream(path);
  if (!stream)
    return core::failure("cannot read " + path.string() + ": " + std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

core::Result<void> writeFile(const fs::path &path,
                             const std::function<void(std::ostream &)> &content) {
  std::error_code error;
  // Through a link, so that the link stays one.
  const fs::path target = fs::exists(path, error) ? fs::canonical(path, error) : path;
  if (error || (fs::exists(target, error) && !fs::is_regular_file(target, error)))
    return writeTo(path, path, content);
  const fs::path part = target.string() + ".part-" + std::to_string(getpid());
  core::Result<void> written = writeTo(part, path, content);
  if (written) {
    const fs::file_status before = fs::status(target, error);
    if (!error && fs::exists(before))
      fs::permissions(part, before.permissions(), error);
    fs::rename(part, target, error);
    if (error)
      written = tl::unexpected(cannotWrite(path, error.value()));
  }
  if (!written)
    fs::remove(part, error);
  return written;
}

core::Result<void> writeReport(const ReportFile &file, const core::Report &report) {
  return writeFile(file.path, [&](std::ostream &out) {
    if (file.format == ReportFormat::kJson)
      core::writeJsonReport(out, report.findings, report.summary);
    else
      out << core::textReport(report.findings, report.summary, false);
  });
}

core::Result<BaselineFile> openBaseline(const std::string &path, bool update) {
  BaselineFile baseline;
  if (path.empty()) {
    if (update)
      return core::failure("--update-baseline needs the file: add --baseline=FILE");
    return baseline;
  }
  std::error_code error;
  baseline.path = fs::absolute(path, error);
  baseline.update = update;
  if (update && !fs::exists(fs::symlink_status(baseline.path, error)))
    return baseline;
  core::Result<std::string> text = readFile(path);
  if (!text)
    return core::failure(text.error().message + "; `--baseline=" + path +
                         " --update-baseline` makes it");
  core::Result<core::Baseline> content = core::Baseline::parse(*text, path);
  if (!content)
    return tl::unexpected(content.error());
  baseline.content = std::move(*content);
  return baseline;
}

core::Result<bool> judge(core::Report &report, const FailureCriteria &failure,
                         BaselineFile &baseline, const std::set<core::Origin> &origins) {
  auto &[findings, summary] = report;
  if (!baseline.path.empty()) {
    if (baseline.update) {
      for (const core::Origin origin : origins)
        baseline.content.update(findings, origin, summary.partial);
      core::Result<void> written =
          writeFile(baseline.path, [&](std::ostream &out) { out << baseline.content.text(); });
      if (!written)
        return tl::unexpected(written.error());
    }
    baseline.content.apply(findings);
    summary.stale_baseline.clear();
    for (const core::Origin origin : origins)
      if (!summary.partial)
        std::ranges::move(baseline.content.stale(origin),
                          std::back_inserter(summary.stale_baseline));
  }
  for (std::string &sentence : failure.exceededBudgets(findings))
    summary.notes.push_back(std::move(sentence));
  core::rankByCost(findings, summary.basis);
  return failure.failed(findings);
}

} // namespace devsan::command
