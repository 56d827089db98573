// devsan-check, which `devsan check` executes: command line → files → analysis in child processes →
// report.

#include "analyzer/check_registry.h"
#include "analyzer/tool/analyze_file.h"
#include "analyzer/tool/apply_fixes.h"
#include "analyzer/tool/options.h"
#include "analyzer/tool/print_commands.h"
#include "analyzer/tool/report_paths.h"
#include "analyzer/tool/torch_header.h"
#include "analyzer/tool/worker_pool.h"
#include "core/reports.h"
#include "core/rule_table.h"
#include "core/suppressions.h"

#include <clang-tidy/GlobList.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <set>
#include <unistd.h>

namespace devsan::analyzer {
namespace {

constexpr int kClean = 0;
constexpr int kFindings = 1;
constexpr int kFailed = 2;

std::string checkNames() {
  return llvm::join(
      llvm::map_range(allChecks(), [](const CheckEntry &check) { return check.rule; }), ", ");
}

// A glob that matches nothing is a spelling mistake, and a clean report would hide it.
core::Result<std::string> validChecks(const std::string &globs) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(globs).split(parts, ',', -1, /*KeepEmpty=*/false);
  if (parts.empty())
    return core::failure("--checks is empty; the rules are " + checkNames());
  for (llvm::StringRef part : parts) {
    llvm::StringRef glob = part.trim();
    glob.consume_front("-");
    const clang::tidy::GlobList list(glob, /*KeepNegativeGlobs=*/false);
    if (llvm::none_of(allChecks(),
                      [&](const CheckEntry &check) { return list.contains(check.rule); }))
      return core::failure("--checks: no rule is called '" + glob.str() + "'; the rules are " +
                           checkNames());
  }
  return parts.front().trim().starts_with("-") ? "device-*," + globs : globs;
}

core::Result<void> readSuppressions(const Options &options, const std::string &first_file,
                                    core::Suppressions &suppressions) {
  for (const std::string &path : options.suppressions) {
    auto text = llvm::MemoryBuffer::getFile(path);
    if (!text)
      return core::failure("--suppressions=" + path + ": " + text.getError().message());
    if (auto added = suppressions.add((*text)->getBuffer().str(), path, ""); !added)
      return added;
  }
  const std::string folder = nearestFolderWith(first_file, {".devsan.toml"});
  if (folder.empty())
    return {};
  const std::string path = folder + "/.devsan.toml";
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return core::failure(path + ": " + text.getError().message());
  return suppressions.add((*text)->getBuffer().str(), path, "suppressions");
}

std::string plural(std::size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

class Progress {
public:
  explicit Progress(std::size_t total) : total_(total), shown_(isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (shown_)
      llvm::errs() << "\r\x1b[K";
  }
  void step(llvm::StringRef what) {
    ++count_;
    if (shown_)
      llvm::errs() << "\r\x1b[K[" << count_ << "/" << total_ << "] " << what.take_back(70);
  }

private:
  std::size_t total_;
  std::size_t count_ = 0;
  bool shown_;
};

using Headers = std::vector<std::optional<PrecompiledHeader>>;

// Each header that several files need is built once, before them.
Headers prepareTorchHeaders(const std::vector<CompileCommand> &commands,
                            const std::string &torch_version, unsigned jobs) {
  Headers headers;
  std::vector<std::size_t> missing;
  std::set<std::string> planned;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    headers.push_back(torchHeaderOf(commands[i], torch_version));
    if (headers[i] && !llvm::sys::fs::exists(headers[i]->path) &&
        planned.insert(headers[i]->path).second)
      missing.push_back(i);
  }
  if (!missing.empty()) {
    Progress progress(missing.size());
    runInProcesses(
        missing.size(), jobs,
        [&](std::size_t i) {
          buildTorchHeader(*headers[missing[i]], commands[missing[i]]);
          return std::string();
        },
        [&](std::size_t, std::optional<std::string>, int) {
          progress.step("precompiling LibTorch's headers");
        });
    trimTorchHeaders();
  }
  for (std::optional<PrecompiledHeader> &header : headers)
    if (header && !llvm::sys::fs::exists(header->path))
      header.reset();
  return headers;
}

FileResult analyzeWith(const CompileCommand &command, const std::string &checks,
                       const std::optional<PrecompiledHeader> &header) {
  FileResult result = analyzeFile(command, checks, header ? &*header : nullptr);
  if (!header || !result.errors)
    return result;
  FileResult plain = analyzeFile(command, checks, nullptr);
  // The precompiled header was at fault: something that it was made from has changed. The next run
  // makes a new one.
  if (plain.errors < result.errors)
    llvm::sys::fs::remove(header->path);
  return plain;
}

void merge(std::vector<core::Finding> &all, std::vector<core::Finding> more,
           std::set<std::tuple<std::string, unsigned, unsigned, std::string, std::string>> &seen) {
  for (core::Finding &finding : more) {
    const core::Location &place = finding.locations.front();
    if (seen.emplace(place.file, place.line, place.column, finding.rule, finding.message).second)
      all.push_back(std::move(finding));
  }
}

core::Result<int> check(const Options &options) {
  auto checks = validChecks(options.checks);
  if (!checks)
    return tl::unexpected(checks.error());
  auto files = expandInputs(options.inputs);
  if (!files)
    return tl::unexpected(files.error());
  core::Suppressions suppressions;
  if (auto read = readSuppressions(options, files->front(), suppressions); !read)
    return tl::unexpected(read.error());
  auto torch = findTorch(options.torch, files->front());
  if (!torch)
    return tl::unexpected(torch.error());
  const std::string torch_version = *torch ? (*torch)->version : std::string();

  CompileCommands compile_commands(options, *torch);
  std::vector<CompileCommand> commands;
  for (const std::string &file : *files) {
    auto command = compile_commands.of(file);
    if (!command)
      return tl::unexpected(command.error());
    commands.push_back(std::move(*command));
  }
  if (options.print_commands) {
    llvm::outs() << printedCommands(commands);
    return kClean;
  }

  const Headers headers = prepareTorchHeaders(commands, torch_version, options.jobs);
  core::Summary summary{.tool = "devsan check", .subject = plural(files->size(), "file")};
  std::vector<std::optional<FileResult>> results(commands.size());
  std::vector<int> signals(commands.size());
  {
    Progress progress(commands.size());
    runInProcesses(
        commands.size(), options.jobs,
        [&](std::size_t i) { return serialize(analyzeWith(commands[i], *checks, headers[i])); },
        [&](std::size_t i, std::optional<std::string> text, int signal) {
          progress.step(commands[i].file);
          signals[i] = signal;
          if (text)
            if (auto result = parseFileResult(*text))
              results[i] = std::move(*result);
        });
  }

  std::vector<core::Finding> findings;
  std::set<std::tuple<std::string, unsigned, unsigned, std::string, std::string>> seen;
  bool complete = true;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const std::string name = shortPath(commands[i].file);
    if (!results[i]) {
      complete = false;
      summary.notes.push_back(
          name + ": not analysed, the analysis " +
          (signals[i] ? "was ended by signal " + std::to_string(signals[i]) : "failed"));
      continue;
    }
    FileResult &result = *results[i];
    if (commands[i].missing_in_database)
      summary.notes.push_back(name + ": not in compile_commands.json, its flags were derived");
    summary.suppressed += result.suppressed;
    if (result.isPartial()) {
      complete = false;
      summary.notes.push_back(name + ": parsed in part" +
                              (result.missing_headers.empty()
                                   ? std::string()
                                   : ", not found: " + llvm::join(result.missing_headers, ", ")) +
                              (result.errors ? "; " + plural(result.errors, "error") +
                                                   ", the first: " + shortPath(result.first_error)
                                             : std::string()));
    }
    merge(findings, std::move(result.findings), seen);
  }

  std::ranges::sort(findings, {}, [](const core::Finding &finding) {
    const core::Location &place = finding.locations.front();
    return std::tie(place.file, place.line, place.column, finding.rule, finding.message);
  });
  if (options.fix) {
    auto fixed = applyFixes(findings);
    if (!fixed)
      return tl::unexpected(fixed.error());
    if (*fixed)
      summary.notes.push_back(plural(*fixed, "finding") +
                              " fixed in the sources and left out of this report");
  }
  const std::string repository = nearestFolderWith(files->front(), {".git"});
  identify(findings, repository);
  summary.suppressed +=
      std::erase_if(findings, [&](const core::Finding &f) { return suppressions.covers(f); });
  const clang::tidy::GlobList wanted(*checks);
  summary.unused_suppressions = suppressions.unused([&](const core::Rule &rule) {
    return rule.on_static && wanted.contains(llvm::StringRef(rule.id.data(), rule.id.size()));
  });

  const bool to_terminal = options.output.empty() && isatty(STDOUT_FILENO);
  if (options.format == "text")
    showPathsFromHere(findings, repository);
  const std::string report = options.format == "json"
                                 ? core::jsonReport(findings, summary)
                                 : core::textReport(findings, summary, to_terminal);
  if (options.output.empty()) {
    llvm::outs() << report;
  } else {
    std::error_code error;
    llvm::raw_fd_ostream out(options.output, error);
    if (!error) {
      out << report;
      out.close();
      error = out.error();
      out.clear_error();
    }
    if (error)
      return core::failure("-o " + options.output + ": " + error.message());
  }
  if (options.strict && !complete)
    return kFailed;
  return findings.empty() ? kClean : kFindings;
}

int run(int argc, char **argv) {
  auto options = parseOptions(argc, argv);
  if (options && !*options)
    return kClean;
  core::Result<int> status =
      options ? check(**options) : core::Result<int>(tl::unexpected(options.error()));
  if (!status) {
    llvm::errs() << "devsan check: error: " << status.error().message << "\n";
    return kFailed;
  }
  return *status;
}

} // namespace
} // namespace devsan::analyzer

int main(int argc, char **argv) {
  return devsan::analyzer::run(argc, argv);
}
