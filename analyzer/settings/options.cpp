#include "analyzer/settings/options.h"

#include "core/check_options.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

namespace devsan::analyzer {

core::Result<Shard> parseShard(const std::string &text) {
  Shard shard;
  const char *end = text.data() + text.size();
  const auto index = std::from_chars(text.data(), end, shard.index);
  if (index.ec == std::errc() && index.ptr != end && *index.ptr == '/') {
    const auto count = std::from_chars(index.ptr + 1, end, shard.count);
    if (count.ec == std::errc() && count.ptr == end && shard.index >= 1 &&
        shard.index <= shard.count)
      return shard;
  }
  return core::failure("--shard=" + text + ": must be I/N with I from 1 to N, as in --shard=2/8");
}

namespace {

// Each run has its own part of the options, where files are analysed in one and judged in another.
core::Result<void> checkForSummaries(const CLI::App &app, const core::CheckArguments &given) {
  const auto refuse = [&](const std::string &name, std::initializer_list<const char *> options,
                          const std::string &remedy) -> core::Result<void> {
    for (const char *option : options)
      if (app.count(option))
        return core::failure(name + " goes without " + option + ": " + remedy);
    return {};
  };
  const std::string alone = "a run over the sources themselves takes it";
  const std::string name = given.from_summaries ? "--from-summaries" : "--summary";
  if (!given.from_summaries && !app.count("--summary"))
    return {};
  if (auto good = refuse(name, {"--fix", "--diff", "--print-commands", "--dump-facts"}, alone);
      !good)
    return good;
  if (given.from_summaries)
    return refuse(name, {"--summary", "--shard", "--checks", "--alone"},
                  "give it to the runs that write the summaries");
  return refuse(name,
                {"--format", "-o", "--baseline", "--update-baseline", "--suppressions", "--fail-on",
                 "--strict", "--no-strict"},
                "give it to the run with --from-summaries, which judges and reports");
}

} // namespace

static_assert(kDefaultLimit.count() == core::kDefaultTimeout &&
              kLongestLimit.count() == core::kLongestTimeout);

core::Result<std::optional<Options>> parseOptions(int argc, const char *const *argv) {
  core::CheckArguments given;
  CLI::App app("Finds device bugs in C++ and CUDA sources that use LibTorch.\n"
               "devsan check [OPTIONS] FILE|DIR... [-- FLAGS]",
               "devsan check");
  app.formatter(std::make_shared<core::HelpFormatter>());
  core::addCheckOptions(app, given);

  Options options;
  const char *const *end = argv + argc;
  const char *const *dashes =
      std::find_if(argv, end, [](const char *arg) { return std::strcmp(arg, "--") == 0; });
  options.has_flags = dashes != end;
  if (options.has_flags)
    options.flags.assign(dashes + 1, end);

  // CLI11 would take the next argument for the value.
  for (const char *const *arg = argv + 1; arg < dashes; ++arg)
    if (const std::string_view text = *arg; text.starts_with("--") && text.ends_with("="))
      return core::failure(std::string(*arg) + " has no value; see devsan check --help");

  // CLI11 reports through exceptions; they end here.
  try {
    app.parse(static_cast<int>(dashes - argv), argv);
  } catch (const CLI::Success &answer) {
    app.exit(answer);
    return std::nullopt;
  } catch (const CLI::ParseError &error) {
    return core::failure(core::messageOf(error, app, app) + "; see devsan check --help");
  }
  if (auto good = checkForSummaries(app, given); !good)
    return tl::unexpected(good.error());
  options.summary = std::move(given.summary);
  options.from_summaries = given.from_summaries;
  options.root = std::move(given.root);
  options.build_dir = std::move(given.build_dir);
  options.checks = std::move(given.checks);
  options.output = std::move(given.output);
  options.jobs = given.jobs ? given.jobs : std::max(1u, std::thread::hardware_concurrency());
  options.suppressions = std::move(given.suppressions);
  options.diff = std::move(given.diff);
  options.baseline = std::move(given.baseline);
  options.torch = std::move(given.torch);
  options.python = std::move(given.python);
  options.inputs = std::move(given.inputs);
  options.update_baseline = given.update_baseline;
  options.use_cache = given.use_cache;
  options.alone = given.alone;
  options.strict = given.strict;
  options.print_commands = given.print_commands;
  options.dump_facts = given.dump_facts;
  options.total_limit = Seconds(given.total_timeout);
  options.memory = given.memory;
  if (given.timeout)
    options.limit = Seconds(*given.timeout);
  if (options.inputs.empty() && app.count("--diff"))
    options.inputs.push_back(".");
  if (options.inputs.empty())
    return core::failure(options.from_summaries
                             ? "no input: name the files that devsan check --summary wrote"
                             : "no input: name source files or folders, as in devsan check src/");
  options.fix = app.count("--fix") != 0;
  llvm::SmallVector<llvm::StringRef, 2> fix_words;
  llvm::StringRef(options.fix ? given.fix : "").split(fix_words, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word : fix_words) {
    if (word != "true" && word != "all" && word != "dry-run")
      return core::failure("--fix=" + given.fix +
                           " is unknown; valid: --fix writes the sources, --fix=dry-run shows how, "
                           "--fix=all and --fix=all,dry-run do so for every fix");
    options.fix_all |= word == "all";
    options.only_show_fixes |= word == "dry-run";
  }
  core::Result<core::ReportFormat> known = core::parseReportFormat(given.format);
  if (!known)
    return tl::unexpected(known.error());
  options.format = *known;
  if (options.only_show_fixes && options.output.empty() &&
      options.format != core::ReportFormat::kText)
    return core::failure(
        "--fix=dry-run prints the difference to stdout; name a file for the report "
        "with -o");
  core::Result<core::ColorMode> color_mode = core::parseColorMode(given.color);
  if (!color_mode)
    return tl::unexpected(color_mode.error());
  options.color = *color_mode;
  if (app.count("--diff") && (options.diff.empty() || options.diff.starts_with("-")))
    return core::failure("--diff=" + options.diff +
                         ": no revision; name a commit, branch or tag, as in --diff=main");
  if (app.count("--fail-on")) {
    core::Result<core::FailOn> parsed = core::parseFailOn("--fail-on", given.fail_on);
    if (!parsed)
      return tl::unexpected(parsed.error());
    options.fail_on = std::move(*parsed);
  }
  if (app.count("--shard")) {
    core::Result<Shard> parsed = parseShard(given.shard);
    if (!parsed)
      return tl::unexpected(parsed.error());
    options.shard = *parsed;
  }
  return options;
}

} // namespace devsan::analyzer
