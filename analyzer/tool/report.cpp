#include "analyzer/tool/report.h"

#include "core/system/whole_file.h"
#include "core/text/quantities.h"
#include "core/text/terminal_text.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

#include <iostream>
#include <unistd.h>

namespace devsan::analyzer {

std::string subjectOf(const Options &options, std::size_t files, std::size_t all,
                      std::size_t excluded) {
  std::string text = core::countText(files, "file");
  if (!options.diff.empty() || options.shard.count > 1)
    text += " of " + std::to_string(all);
  if (excluded)
    text += ", " + std::to_string(excluded) + " excluded";
  if (options.shard.count > 1)
    text += ", shard " + std::to_string(options.shard.index) + "/" +
            std::to_string(options.shard.count);
  if (!options.diff.empty())
    text += ", changes since " + options.diff;
  return text;
}

core::Result<void> writeText(const std::string &text, const std::string &what,
                             const std::string &output) {
  if (!output.empty()) {
    const auto write = [&](std::ostream &file) { file << text; };
    if (core::Result<void> written = core::writeFile(output, write); !written)
      return core::failure("-o " + output + ": " + written.error().message);
    return {};
  }
  if (!(std::cout << text).flush())
    return core::failure("cannot write " + what + " to stdout");
  return {};
}

core::Result<void> writeReport(const Options &options, const std::vector<core::Finding> &findings,
                               const core::Summary &summary, const std::string &repository) {
  // With --fix=dry-run stdout is for the difference.
  const int shown_on = options.only_show_fixes ? STDERR_FILENO : STDOUT_FILENO;
  const core::Terminal terminal =
      options.output.empty() ? core::terminalOf(shown_on, options.color) : core::Terminal{};
  // These tell lines of sources, whose paths are relative to the repository.
  std::string output = options.output;
  if (!output.empty()) {
    llvm::SmallString<256> path(output);
    llvm::sys::fs::make_absolute(path);
    output = std::string(path);
  }
  const bool tells_lines =
      options.format == core::ReportFormat::kSarif || options.format == core::ReportFormat::kHtml;
  if (tells_lines && !repository.empty())
    llvm::sys::fs::set_current_path(repository);
  const auto content = [&](std::ostream &out) {
    core::writeReport(out, options.format, findings, summary, {.terminal = terminal});
  };
  if (!options.output.empty()) {
    if (core::Result<void> written = core::writeFile(output, content); !written)
      return core::failure("-o " + options.output + ": " + written.error().message);
    return {};
  }
  std::ostream &out = options.only_show_fixes ? std::cerr : std::cout;
  content(out);
  if (!out.flush())
    return core::failure(options.only_show_fixes ? "cannot write the report to stderr"
                                                 : "cannot write the report to stdout");
  return {};
}

} // namespace devsan::analyzer
