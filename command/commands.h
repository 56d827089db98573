// The subcommands of `devsan`. Each prints its own errors and returns the exit status of the
// process.
#pragma once

#include "command/install/install_tree.h"
#include "command/process/exit_status.h"

#include <optional>
#include <string>
#include <vector>

namespace devsan::command {

inline constexpr const char *kDefaultFailOn = "error";

// Replaces the process by libexec/devsan-check; returns only where that fails.
int check(const InstallTree &tree, const std::vector<std::string> &arguments);

int printRules(const std::string &format);
int explainRule(const std::string &id);
int doctor(const InstallTree &tree);
// `devsan doctor --sim`: what no simulated device can run, and why. Formats: text, json.
int listNotSimulated(const InstallTree &tree, const std::string &format);

// For programs that run with raise=1: prints "implicit" or "explicit"
// (runtime/record/intent_query.h).
int printIntent(const InstallTree &tree, const std::vector<std::string> &arguments);

// For test frameworks, beside the program: which findings came while which test ran
// (command/session.cpp).
int session(const InstallTree &tree, const std::vector<std::string> &arguments);

// As the user gave them; run() judges them.
struct RunArguments {
  std::string sim;
  std::string sim_memory;
  std::string sim_protect;
  bool sim_force = false;
  std::optional<std::string> fail_on; // default: kDefaultFailOn
  std::vector<std::string> reports;
  std::vector<std::string> own;
  std::vector<std::string> suppressions;
  std::vector<std::string> budgets;
  std::string transfer;
  std::string sync;
  std::string warmup;
  std::string baseline;
  bool baseline_is_found = false; // in the project file
  bool update_baseline = false;
  std::string keep_logs;
  std::string trace;
  bool quiet = false;
  std::optional<bool> strict;
  std::string color = "auto";
  std::vector<std::string> command;
};

int run(const InstallTree &tree, RunArguments arguments);

struct InitArguments {
  std::string ci;                    // github, gitlab, shell, none; empty: what the repository has
  std::optional<std::string> agents; // the file for the guide for coding agents; empty: AGENTS.md
  bool force = false;
};

int init(const InitArguments &arguments);

// Writes its programs into `folder`, which is not there yet, and runs both sides on them.
int demo(const InstallTree &tree, const std::string &folder);

struct ReportArguments {
  std::vector<std::string> inputs;
  bool merge = false;
  bool compare = false; // of two inputs
  std::string explain;  // a fingerprint
  std::string format = "text";
  std::string output; // empty: stdout
  std::optional<std::string> fail_on;
  std::vector<std::string> own;
  std::vector<std::string> suppressions;
  std::vector<std::string> budgets;
  std::string baseline;
  bool update_baseline = false;
  std::string color = "auto";
};

int report(const InstallTree &tree, const ReportArguments &arguments);

} // namespace devsan::command
