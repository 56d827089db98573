#include "analyzer/tool/options.h"

#include "core/command_line.h"

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

core::Result<std::optional<Options>> parseOptions(int argc, const char *const *argv) {
  Options options;
  options.jobs = std::max(1u, std::thread::hardware_concurrency());
  std::string format = "text";
  std::string shard;
  std::string fail_on;
  std::string color = "auto";
  long timeout = kDefaultLimit.count();
  CLI::App app("Finds device bugs in C++ and CUDA sources that use LibTorch.\n"
               "devsan check [OPTIONS] FILE|DIR... [-- FLAGS]",
               "devsan check");
  app.formatter(std::make_shared<core::HelpFormatter>());
  app.set_version_flag("--version", "devsan " DEVSAN_VERSION);
  app.footer(
      "FLAGS are compiler flags for every file, such as -Iinclude -DUSE_CUDA; they replace "
      "compile_commands.json. Settings of a project stand in .devsan.toml, table [check].\n"
      "Exit status: 0 no findings that --fail-on names, 1 findings, 2 could not do its work.");
  app.add_option("-p", options.build_dir, "Folder of compile_commands.json")
      ->type_name("BUILD_DIR");
  app.add_option("--checks", options.checks,
                 "Rules to check, as globs with commas; -GLOB takes rules away (default device-*)")
      ->type_name("GLOBS");
  app.add_flag("--fix", options.fix, "Apply the fixes that are safe");
  app.add_option("--format", format,
                 "text, json, sarif, github, html, junit or markdown (default text)")
      ->type_name("FORMAT");
  app.add_option("--color", color, "Colours in text for people; auto: on a terminal")
      ->type_name("auto|always|never")
      ->capture_default_str();
  app.add_option("-o", options.output, "Write the report to a file")->type_name("FILE");
  app.add_option("-j", options.jobs, "Files analysed at a time (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u));
  app.add_option("--suppressions", options.suppressions,
                 "TOML file of `rule = \"glob\"` lines; may be given again")
      ->allow_extra_args(false) // one value each: the next argument may be a source file
      ->type_name("FILE");
  app.add_option("--diff", options.diff,
                 "Only what changed since a revision of git: its files and those that include "
                 "them, and of the findings those in changed lines and functions")
      ->type_name("REV");
  app.add_option("--shard", shard, "The I-th of N parts of the files, for N machines")
      ->type_name("I/N");
  app.add_option("--baseline", options.baseline,
                 "Count the findings in FILE as known: only new ones are shown and fail")
      ->type_name("FILE");
  app.add_flag("--update-baseline", options.update_baseline, "Write the findings to the baseline");
  app.add_option("--fail-on", fail_on,
                 "Rules, separated by commas, or the least severity that makes the exit status 1: "
                 "note, warning, error, none (default note)")
      ->type_name("RULES|SEVERITY|none");
  app.add_flag_callback(
      "--no-cache", [&options] { options.use_cache = false; }, "Neither use nor fill the cache");
  app.add_option("--timeout", timeout, "Seconds that the analysis of a file may take, 0: any")
      ->type_name("SECONDS")
      ->check(CLI::Range(0L, kLongestLimit.count()))
      ->capture_default_str();
  app.add_flag_callback(
      "--strict", [&options] { options.strict = true; },
      "Exit with 2 also where a file could only be parsed in part");
  app.add_flag_callback(
      "--no-strict", [&options] { options.strict = false; },
      "Exit with 2 for what does not parse in no case, though the project file says so");
  app.add_flag("--print-commands", options.print_commands,
               "Print how each file is read, as a compile_commands.json, and stop");
  app.add_option("--torch", options.torch,
                 "Folder of the torch package, or none (default: asked from the project's Python)")
      ->type_name("DIR");
  app.add_option("inputs", options.inputs, "Source files, or folders to walk")
      ->type_name("FILE|DIR");

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
  if (options.inputs.empty() && app.count("--diff"))
    options.inputs.push_back(".");
  if (options.inputs.empty())
    return core::failure("no input: name source files or folders, as in devsan check src/");
  if (app.count("--timeout"))
    options.limit = Seconds(timeout);
  core::Result<core::ReportFormat> known = core::parseReportFormat(format);
  if (!known)
    return tl::unexpected(known.error());
  options.format = *known;
  core::Result<core::ColorMode> color_mode = core::parseColorMode(color);
  if (!color_mode)
    return tl::unexpected(color_mode.error());
  options.color = *color_mode;
  if (app.count("--diff") && (options.diff.empty() || options.diff.starts_with("-")))
    return core::failure("--diff=" + options.diff +
                         ": no revision; name a commit, branch or tag, as in --diff=main");
  if (app.count("--fail-on")) {
    core::Result<core::FailOn> parsed = core::parseFailOn("--fail-on", fail_on);
    if (!parsed)
      return tl::unexpected(parsed.error());
    options.fail_on = std::move(*parsed);
  }
  if (app.count("--shard")) {
    core::Result<Shard> parsed = parseShard(shard);
    if (!parsed)
      return tl::unexpected(parsed.error());
    options.shard = *parsed;
  }
  return options;
}

} // namespace devsan::analyzer
