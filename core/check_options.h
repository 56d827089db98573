// The options of `devsan check`: devsan-check parses them, and `devsan` describes them in its
// completions and its manual page.
#pragma once

#include "core/command_line.h"
#include "core/system/memory_limit.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::core {

inline constexpr long kDefaultTimeout = 30, kLongestTimeout = 86'400; // seconds
inline constexpr long kDefaultTotalTimeout = 3'600;

// As they stand on the command line.
struct CheckArguments {
  std::string build_dir;
  std::optional<std::string> checks; // globs
  std::string format = "text";
  std::string color = "auto";
  std::string output;
  unsigned jobs = 0; // 0: one per core
  std::vector<std::string> suppressions;
  std::string diff;
  std::string shard;
  std::string summary;
  bool from_summaries = false;
  std::string baseline;
  std::string fail_on;
  std::optional<long> timeout; // seconds
  long total_timeout = kDefaultTotalTimeout;
  unsigned memory = kDefaultMemory; // megabytes
  std::string torch;
  std::string python;
  std::string root;
  std::vector<std::string> inputs;
  std::string fix; // "true", "dry-run"; empty: not asked for
  bool update_baseline = false;
  bool use_cache = true;
  bool alone = false;
  std::optional<bool> strict;
  bool print_commands = false;
  bool dump_facts = false;
};

inline void addCheckOptions(CLI::App &app, CheckArguments &arguments) {
  app.set_version_flag("--version", "devsan " DEVSAN_VERSION);
  app.footer(
      "FLAGS are compiler flags for every file, such as -Iinclude -DUSE_CUDA; they replace "
      "compile_commands.json. Settings of a project stand in .devsan.toml, table [check].\n"
      "Exit status: 0 no findings that --fail-on names, 1 findings, 2 could not do its work.");
  app.add_option("-p", arguments.build_dir, "Folder of compile_commands.json")->type_name("DIR");
  app.add_option("--checks", arguments.checks,
                 "Rules to check, as globs with commas; -GLOB takes rules away (default device-*)")
      ->type_name("GLOBS");
  app.add_flag(
      "--fix", arguments.fix,
      "Apply the fixes that are safe; --fix=all also those that change more than the code, as the "
      "keys of checkpoints; --fix=dry-run or --fix=all,dry-run prints a unified diff instead");
  app.add_option("--format", arguments.format, "The form of the report")
      ->type_name("text|json|sarif|github|html|junit|markdown")
      ->capture_default_str();
  app.add_option("--color", arguments.color, "Colours in text for people; auto: on a terminal")
      ->type_name("auto|always|never")
      ->capture_default_str();
  app.add_option("-o", arguments.output, "Write the report to a file")->type_name("FILE");
  app.add_option("-j", arguments.jobs, "Files analysed at a time (default: one per core)")
      ->type_name("N")
      ->check(CLI::Range(1u, 1024u).description(""));
  app.add_option("--suppressions", arguments.suppressions,
                 "TOML file of `rule = \"glob\"` lines; may be given again")
      ->allow_extra_args(false) // one value each: the next argument may be a source file
      ->type_name("FILE");
  app.add_option("--diff", arguments.diff,
                 "Only what changed since a git revision: look at changed files and files that "
                 "include them; report findings in changed lines and functions")
      ->type_name("REV");
  app.add_option("--shard", arguments.shard, "The I-th of N parts of the files, for N machines")
      ->type_name("I/N");
  app.add_option("--summary", arguments.summary,
                 "Decide nothing across files and report nothing: write what --from-summaries "
                 "needs of the files, or of their part")
      ->type_name("FILE");
  app.add_flag("--from-summaries", arguments.from_summaries,
               "The files named are summaries of all parts: report what a run over all files "
               "would");
  app.add_option("--root", arguments.root,
                 "Folder that paths are relative to; nothing of a project is looked for above it "
                 "(default: the repository)")
      ->type_name("DIR");
  app.add_option("--baseline", arguments.baseline,
                 "Count the findings in FILE as known: only new ones are shown and fail")
      ->type_name("FILE");
  app.add_flag("--update-baseline", arguments.update_baseline,
               "Write the findings to the baseline");
  app.add_option("--fail-on", arguments.fail_on,
                 "Rules, separated by commas, or the least severity that makes the exit status 1: "
                 "note, warning, error, none (default note)")
      ->type_name("RULES|SEVERITY|none");
  app.add_flag_callback(
      "--no-cache", [&arguments] { arguments.use_cache = false; },
      "Neither use nor fill the cache");
  app.add_flag("--alone", arguments.alone,
               "Look for callers and launchers in the named files only, not in the rest of their "
               "project");
  app.add_option(
         "--timeout", arguments.timeout,
         "Seconds of processor time that the analysis of a file may take, 0: any (default " +
             std::to_string(kDefaultTimeout) + ")")
      ->type_name("SECONDS")
      ->check(CLI::Range(0L, kLongestTimeout).description(""));
  app.add_option(
         "--total-timeout", arguments.total_timeout,
         "Seconds that the whole run may take, 0: any; files that are left are not analysed")
      ->type_name("SECONDS")
      ->check(CLI::Range(0L, kLongestTimeout).description(""))
      ->capture_default_str();
  app.add_option("--memory", arguments.memory,
                 "Megabytes that each process of the run may take, 0: any")
      ->type_name("MB")
      ->check(CLI::Range(0u, 1u << 20).description(""))
      ->capture_default_str();
  app.add_flag_callback(
      "--strict", [&arguments] { arguments.strict = true; },
      "Exit with 2 also where a file could only be parsed in part");
  app.add_flag_callback(
      "--no-strict", [&arguments] { arguments.strict = false; },
      "Do not exit with 2 because of files that do not parse, even if .devsan.toml sets strict");
  app.add_flag("--print-commands", arguments.print_commands,
               "Print how each file is read, as a compile_commands.json, and stop");
  app.add_flag("--dump-facts", arguments.dump_facts,
               "Print what is believed of each function of one file, for who debugs a rule or a "
               "wrong finding, and stop");
  app.add_option("--torch", arguments.torch,
                 "Folder of the torch package, or none (default: looked for, see docs/check.md)")
      ->type_name("DIR");
  app.add_option("--python", arguments.python,
                 "Python to ask for its torch package; nothing of the checked code is run")
      ->type_name("FILE");
  app.add_option("inputs", arguments.inputs, "Source files, or folders to walk")
      ->type_name("FILE|DIR");
}

} // namespace devsan::core
