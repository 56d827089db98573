#include "command/command_description.h"
#include "command/commands.h"
#include "command/install/runtime_cache.h"
#include "core/check_options.h"
#include "core/command_line.h"
#include "core/system/project_root.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace devsan::command {
namespace {

int runCommand(const InstallTree &tree, const RunArguments &arguments) {
#ifdef DEVSAN_WITH_RUNTIME
  return run(tree, arguments);
#else
  return fail("this devsan was built without the runtime; build it with -DDEVSAN_BUILD_RUNTIME=ON");
#endif
}

int reportCommand(const InstallTree &tree, const ReportArguments &arguments) {
#ifdef DEVSAN_WITH_RUNTIME
  return report(tree, arguments);
#else
  return fail("this devsan was built without the runtime; build it with -DDEVSAN_BUILD_RUNTIME=ON");
#endif
}

constexpr const char *kNextSteps =
    "devsan finds device bugs in LibTorch and PyTorch programs.\n"
    "\n"
    "  devsan check FILE|DIR...          look for them in C++ and CUDA sources\n"
    "  devsan run -- CMD...              report them while a program runs\n"
    "  devsan run --sim=2 -- CMD...      the same on two simulated GPUs\n"
    "  devsan report FILE...             show or merge reports and kept event logs\n"
    "  devsan doctor                     see what is installed\n"
    "  pytest --devsan                   fail tests for what they do (docs/testing.md)\n"
    "\n"
    "devsan COMMAND --help lists the options of a command, devsan --help the commands.\n";

constexpr const char *kColorDescription = "colours in text for people; auto: on a terminal";

int prepareCommand(const InstallTree &tree, const PrepareArguments &arguments) {
#ifdef DEVSAN_WITH_RUNTIME
  return prepare(tree, arguments);
#else
  return fail("this devsan was built without the runtime; build it with -DDEVSAN_BUILD_RUNTIME=ON");
#endif
}

int printPackageFolder(const InstallTree &tree) {
  std::error_code error;
  if (!std::filesystem::is_directory(tree.package(), error))
    return fail(tree.package().string() +
                " is not there: this DevSan is not installed; cmake --install BUILD --prefix DIR");
  std::puts(tree.package().c_str());
  return kSuccess;
}

OptionDescription descriptionOf(const CLI::Option &option) {
  OptionDescription description;
  for (const std::string &name : option.get_lnames())
    description.names.push_back("--" + name);
  for (const std::string &name : option.get_snames())
    description.names.push_back("-" + name);
  if (option.get_positional())
    description.value =
        option.get_type_name().empty() ? option.get_single_name() : option.get_type_name();
  else if (option.get_expected_max() > 0)
    description.value = option.get_type_name();
  description.description = option.get_description();
  description.default_value = option.get_default_str();
  return description;
}

CommandDescription descriptionOf(const CLI::App &app) {
  CommandDescription description{
      app.get_parent() ? app.get_name() : "", app.get_description(), app.get_footer(), {}};
  for (const CLI::Option *option : app.get_options())
    if (!option->get_group().empty())
      description.options.push_back(descriptionOf(*option));
  return description;
}

std::vector<CommandDescription> descriptionsOf(const CLI::App &app) {
  std::vector<CommandDescription> descriptions{descriptionOf(app)};
  for (const CLI::App *command : app.get_subcommands({}))
    descriptions.push_back(descriptionOf(*command));
  return descriptions;
}

int dispatch(std::vector<std::string> arguments) {
  const InstallTree tree = InstallTree::ofThisExecutable();
  if (arguments.empty()) {
    std::fputs(kNextSteps, stdout);
    std::error_code error;
    std::puts(
        !core::findProjectFile(std::filesystem::current_path(error)).empty()
            ? "Settings come from the project's .devsan.toml."
            : "This project has no .devsan.toml: `devsan init` writes one, and a file for CI.");
    return kSuccess;
  }
  if (arguments.front() == "help") { // as git has it
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  if (arguments.size() == 1 && arguments.front() == "--cmake-dir")
    return printPackageFolder(tree);
  // `check` has options of its own, --help among them: nothing of them is judged here.
  if (arguments.front() == "check")
    return check(tree, {arguments.begin() + 1, arguments.end()});

#ifdef DEVSAN_WITH_RUNTIME
  if (arguments.front() == "intent")
    return printIntent(tree, {arguments.begin() + 1, arguments.end()});
  if (arguments.front() == "session")
    return session(tree, {arguments.begin() + 1, arguments.end()});
#endif

  static const std::vector<std::string> kCommands = {"check",   "run",        "report",  "rules",
                                                     "explain", "doctor",     "prepare", "init",
                                                     "demo",    "completion", "man"};
  if (!arguments.front().starts_with("-") &&
      std::ranges::find(kCommands, arguments.front()) == kCommands.end())
    return fail(fmt::format("unknown command '{}'{}; valid: {}", arguments.front(),
                            core::didYouMean(arguments.front(), kCommands),
                            fmt::join(kCommands, ", ")));

  // What follows `--` belongs to the program under test.
  RunArguments run_arguments;
  const std::string first = arguments.front();
  const std::string name = first.starts_with("-") ? "" : first;
  auto separator = std::find(arguments.begin(), arguments.end(), "--");
  const bool has_separator = separator != arguments.end();
  if (has_separator) {
    run_arguments.command.assign(separator + 1, arguments.end());
    arguments.erase(separator, arguments.end());
  }

  CLI::App app("devsan finds device bugs in LibTorch and PyTorch programs.", "devsan");
  app.formatter(std::make_shared<core::HelpFormatter>());
  app.set_version_flag("--version", "devsan " DEVSAN_VERSION);
  constexpr const char *kPackageDescription =
      "Print the folder for CMake's find_package(DevSan), as in -DDevSan_DIR=$(devsan --cmake-dir)";
  bool is_ignored = false; // handled above
  app.add_flag("--cmake-dir", is_ignored, kPackageDescription);
  app.require_subcommand(1);
  // Which devsan-check parses; here for who describes them.
  core::CheckArguments check_arguments;
  core::addCheckOptions(
      *app.add_subcommand("check", "look for device bugs in C++ and CUDA sources: devsan check "
                                   "[OPTIONS] FILE|DIR... [-- FLAGS]"),
      check_arguments);

  CLI::App *run_app = app.add_subcommand(
      "run", "run a program and report its device bugs: devsan run [OPTIONS] -- CMD...");
  run_app->footer(
      "Exit status: that of CMD if it is not 0, else 3 with findings that --fail-on or --max "
      "names, else 0; 2 where CMD could not be started or a report not be written, or, with "
      "--strict, nothing was observed. Death by a signal is passed on.\n"
      "\n"
      "Settings ([run], [budgets]) and suppressions come from the nearest .devsan.toml, from the "
      "working directory upwards. Options override settings (--max overrides the budget of its "
      "rule). --suppressions adds to the project's suppressions.\n"
      "DEVSAN_OPTIONS=key=value:key=value sets what the runtime observes; DEVSAN_OPTIONS=help=1 "
      "lists the keys.\n"
      "For another LibTorch than DevSan was built with, the runtime is built on first use; see "
      "devsan prepare --help.");
  run_app->add_option("--sim", run_arguments.sim, "simulate N CUDA devices, from 1 to 64")
      ->type_name("N");
  run_app
      ->add_option("--sim-memory", run_arguments.sim_memory,
                   "memory of each simulated device, such as 2GiB; default: this machine's memory")
      ->type_name("SIZE");
  run_app
      ->add_option("--sim-protect", run_arguments.sim_protect,
                   "report host code that touches the memory of a simulated device; default: on")
      ->type_name("on|off");
  run_app->add_flag(
      "--sim-force", run_arguments.sim_force,
      "simulate for a CUDA build of PyTorch although this machine has a GPU's driver, "
      "which the program then does not see");
  run_app
      ->add_option("--fail-on", run_arguments.fail_on,
                   "rules, separated by commas, or the least severity that fails the run: note, "
                   "warning, error, none; default: error")
      ->type_name("RULES|SEVERITY|none");
  constexpr const char *kOwnDescription =
      "files that are the project's own code, as globs; default: what is not installed";
  run_app->add_option("--own", run_arguments.own, kOwnDescription)
      ->type_name("GLOB")
      ->allow_extra_args(false);
  run_app
      ->add_option(
          "--report", run_arguments.reports,
          "also write a report; the format follows the name's end: .txt, .json, .sarif, "
          ".html, .junit.xml or .md; github: annotations and the job's summary of GitHub's CI")
      ->type_name("FILE|github")
      ->allow_extra_args(false);
  run_app
      ->add_option("--suppressions", run_arguments.suppressions,
                   "read suppressions, beside those of .devsan.toml")
      ->type_name("FILE")
      ->allow_extra_args(false);
  run_app
      ->add_option("--max", run_arguments.budgets,
                   "allow RULE N times in the run, or in each step: more often fails the run, up "
                   "to N never does, whatever --fail-on says")
      ->type_name("RULE=N[/step]")
      ->allow_extra_args(false);
  run_app
      ->add_option("--transfer", run_arguments.transfer,
                   "what copies between devices mean where no scope of the program says it: allow, "
                   "log, disallow, log_explicit, disallow_explicit; in all directions or in one: "
                   "host_to_device, device_to_host, device_to_device")
      ->type_name("[DIRECTION:]LEVEL")
      ->join(',')
      ->allow_extra_args(false);
  run_app
      ->add_option(
          "--sync", run_arguments.sync,
          "what a wait of the host for a device means where no scope of the program says it")
      ->type_name("LEVEL");
  run_app
      ->add_option("--warmup", run_arguments.warmup,
                   "copies and waits in the first N steps are exempt")
      ->type_name("N");
  run_app
      ->add_option("--baseline", run_arguments.baseline,
                   "count the findings in FILE as known: only new ones fail the run and are shown")
      ->type_name("FILE");
  run_app->add_flag("--update-baseline", run_arguments.update_baseline,
                    "write the findings of this run to the baseline");
  run_app->add_flag_callback(
      "--strict", [&run_arguments] { run_arguments.strict = true; },
      "exit with 2 where no process of CMD loaded LibTorch, so that nothing was observed");
  run_app->add_flag_callback(
      "--no-strict", [&run_arguments] { run_arguments.strict = false; },
      "do not exit with 2 for that, even if .devsan.toml sets strict");
  run_app->add_flag("--quiet", run_arguments.quiet,
                    "print no findings after the program's output, only how many there are");
  run_app
      ->add_option("--trace", run_arguments.trace,
                   "write what was observed, with its times, for Perfetto and chrome://tracing: "
                   ".json or .json.gz")
      ->type_name("FILE");
  run_app
      ->add_option("--keep-logs", run_arguments.keep_logs,
                   "keep the event logs, in a new folder below DIR, for devsan report")
      ->type_name("DIR");

  run_app->add_option("--color", run_arguments.color, kColorDescription)
      ->type_name("auto|always|never")
      ->capture_default_str();

  ReportArguments report_arguments;
  CLI::App *report_app = app.add_subcommand(
      "report", "show reports and event logs, or merge them: devsan report [OPTIONS] FILE...");
  report_app->footer(
      "FILE: a JSON report of devsan run or devsan check, an event log "
      "(.devsanlog), or a folder of "
      "logs that devsan run --keep-logs wrote.\n"
      "Exit status: 3 with findings that --fail-on or --max names, else 0; 2 where "
      "a file cannot be "
      "read or written: then nothing is shown.\n"
      "Suppressions come from the nearest .devsan.toml and from --suppressions, budgets from "
      "its [budgets] and from --max, which goes before it for the same rule.");
  report_app->add_option("FILE", report_arguments.inputs, "reports, event logs, folders of logs")
      ->type_name("")
      ->required();
  report_app->add_flag("--merge", report_arguments.merge,
                       "make one report of all: the same finding in several is one");
  report_app->add_flag("--compare", report_arguments.compare,
                       "of two reports, OLD and NEW: show what is new, gone and changed; --fail-on "
                       "judges only what is new, and sarif, github and junit hold only that");
  report_app
      ->add_option("--explain", report_arguments.explain,
                   "print all that led to one finding, for a report that it is false; your data is "
                   "left out, and events are shown only for kept logs")
      ->type_name("FINGERPRINT");
  report_app->add_option("--format", report_arguments.format, "the form of the report")
      ->type_name("text|json|sarif|github|html|junit|markdown|trace")
      ->capture_default_str();
  report_app->add_option("-o", report_arguments.output, "write to FILE instead of stdout")
      ->type_name("FILE");
  report_app->add_option("--fail-on", report_arguments.fail_on, "as for devsan run; default: error")
      ->type_name("RULES|SEVERITY|none");
  report_app->add_option("--own", report_arguments.own, "as for devsan run")
      ->type_name("GLOB")
      ->allow_extra_args(false);
  report_app->add_option("--max", report_arguments.budgets, "as for devsan run")
      ->type_name("RULE=N[/step]")
      ->allow_extra_args(false);
  report_app->add_option("--suppressions", report_arguments.suppressions, "as for devsan run")
      ->type_name("FILE")
      ->allow_extra_args(false);
  report_app->add_option("--baseline", report_arguments.baseline, "as for devsan run")
      ->type_name("FILE");
  report_app->add_flag("--update-baseline", report_arguments.update_baseline,
                       "write the findings to the baseline");

  report_app->add_option("--color", report_arguments.color, kColorDescription)
      ->type_name("auto|always|never")
      ->capture_default_str();

  std::string rules_format = "text";
  CLI::App *rules_app = app.add_subcommand("rules", "list the rules");
  rules_app->add_option("--format", rules_format, "the form of the list")
      ->type_name("text|json")
      ->capture_default_str();

  std::string rule;
  CLI::App *explain_app = app.add_subcommand("explain", "print the page of a rule");
  explain_app->add_option("RULE", rule, "the rule's id, such as device-host-sync")
      ->type_name("")
      ->required();

  CLI::App *doctor_app =
      app.add_subcommand("doctor", "show which parts are present and what is missing");
  doctor_app->footer("Exit status: 0 where all that is needed is present (a part that is optional, "
                     "or built again by itself, is only noted), 1 where something is missing, 2 on "
                     "bad usage.");
  CLI::Option *doctor_sim =
      doctor_app->add_flag_callback("--sim", [] {}, "list what `run --sim` cannot simulate");
  std::string doctor_format = "text";
  doctor_app->add_option("--format", doctor_format, "of that list")
      ->type_name("text|json")
      ->capture_default_str()
      ->needs(doctor_sim);

  PrepareArguments prepare_arguments;
  CLI::App *prepare_app = app.add_subcommand(
      "prepare", "build the runtime for another LibTorch now, not in the first run that meets it");
  prepare_app
      ->add_option("--torch", prepare_arguments.torch,
                   "the folder of LibTorch, or its libtorch_cpu.so")
      ->type_name("PATH")
      ->required();
  prepare_app->add_option("--id", prepare_arguments.id)->group("");
  prepare_app->footer(
      "The libraries are kept in $XDG_CACHE_HOME/devsan/runtime, else in "
      "$HOME/.cache/devsan/runtime, which no other user may be able to write.\n"
      "CXX names the compiler, with arguments if need be, as in CXX=\"ccache g++\"; else the one "
      "that built DevSan is taken, else clang++ or g++ on PATH.\n"
      "Prints the paths of the libraries on stdout, separated by colons, and on stderr what it "
      "builds.\n"
      "Exit status: 0 where they are ready, 2 where they cannot be built or on bad usage.");

  InitArguments init_arguments;
  CLI::App *init_app = app.add_subcommand(
      "init", "write a first .devsan.toml and a file for CI into the repository");
  init_app->add_option("--ci", init_arguments.ci, "which CI; default: what the repository has")
      ->type_name("github|gitlab|shell|none");
  init_app
      ->add_option("--agents", init_arguments.agents,
                   "also write a guide for coding agents, to FILE; default: AGENTS.md")
      ->type_name("FILE")
      ->expected(0, 1);
  init_app->add_flag("--force", init_arguments.force, "replace files that are there");
  init_app->footer("Exit status: 0 where they were written, 2 where one is there already, and then "
                   "nothing is written.");

#ifdef DEVSAN_WITH_RUNTIME
  std::string demo_folder = "devsan-demo";
  CLI::App *demo_app = app.add_subcommand(
      "demo", "find a bug in a C++ source and one in a Python program, in seconds");
  demo_app->add_option("FOLDER", demo_folder, "where the two are written; must not be there yet")
      ->capture_default_str();
  demo_app->footer("The Python program needs PyTorch: of $DEVSAN_PYTHON, else of python3 on PATH.\n"
                   "Exit status: 0 where both bugs were found, 2 where something is missing.");
#endif

  std::string shell;
  CLI::App *completion_app =
      app.add_subcommand("completion", "print the completion of a shell: bash, zsh or fish");
  completion_app->add_option("SHELL", shell, "the shell")->type_name("bash|zsh|fish")->required();
  completion_app->footer("bash: source <(devsan completion bash)\n"
                         "zsh:  source <(devsan completion zsh), after compinit\n"
                         "fish: devsan completion fish | source");
  CLI::App *man_app = app.add_subcommand("man", "print the manual page: devsan man | man -l -");

  // CLI11 would take the next argument for the value.
  for (const std::string &argument : arguments)
    if (argument == "--")
      break;
    else if (argument.starts_with("--") && argument.ends_with('='))
      return fail(argument + " has no value; see devsan " + (name.empty() ? name : name + " ") +
                  "--help");

  try {
    std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
    app.parse(arguments);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    if (name.empty() && error.get_name() == "RequiredError")
      return fail(first + " stands where a command should: devsan COMMAND " + first +
                  " ..., or see devsan --help");
    const bool lacks_separator = name == "run" && !has_separator;
    return fail(core::messageOf(error, app, name.empty() ? app : *app.get_subcommand(name)) +
                (lacks_separator
                     ? "; the command comes after `--`, as in `devsan run -- ./train`"
                     : "; see devsan " + (name.empty() ? name : name + " ") + "--help"));
  }
  const std::size_t allowed = run_app->parsed()       ? run_arguments.command.size()
                              : prepare_app->parsed() ? 1
                                                      : 0;
  if (run_arguments.command.size() > allowed)
    return fail("devsan " + name + " takes nothing after `--" + (allowed ? " LIST" : "") +
                "`, but got '" + run_arguments.command[allowed] + "'; see devsan " + name +
                " --help");
  if (run_app->parsed())
    return runCommand(tree, run_arguments);
  if (report_app->parsed())
    return reportCommand(tree, report_arguments);
  if (prepare_app->parsed()) {
    if (!run_arguments.command.empty())
      prepare_arguments.list = run_arguments.command.front();
    return prepareCommand(tree, prepare_arguments);
  }
  if (rules_app->parsed())
    return printRules(rules_format);
  if (explain_app->parsed())
    return explainRule(rule);
  if (init_app->parsed())
    return init(init_arguments);
#ifdef DEVSAN_WITH_RUNTIME
  if (demo_app->parsed())
    return demo(tree, demo_folder);
#endif
  if (completion_app->parsed())
    return printCompletion(shell, descriptionsOf(app));
  if (man_app->parsed()) {
    std::fputs(manualPage(descriptionsOf(app)).c_str(), stdout);
    return kSuccess;
  }
  if (doctor_app->parsed())
    return doctor_sim->count() ? listNotSimulated(tree, doctor_format) : doctor(tree);
  return kCannotStart;
}

} // namespace
} // namespace devsan::command

int main(int argc, char **argv) try {
  return devsan::command::dispatch({argv + 1, argv + argc});
} catch (const std::exception &error) { // a full disk, a folder that went away
  std::fprintf(stderr, "devsan: error: %s\n", error.what());
  return devsan::command::kCannotStart;
}
