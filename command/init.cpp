// `devsan init`: the first .devsan.toml of a project, and a file for its CI.
#include "command/commands.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"
#include "core/text/terminal_text.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

constexpr const char *kProjectFile =
    R"(# Settings of DevSan for this project. Options of the command line go before them; paths are relative to this file.
# `devsan rules` lists the rules, `devsan explain RULE` shows one, `devsan run --help` the options.

[run]
# What fails a run: note, warning, error, none, or rules.
fail-on = "error"
# Simulated CUDA devices; without it, those of the machine.
{sim}sim = 2
# Findings that there are already: `devsan run --baseline=devsan-baseline.json --update-baseline -- CMD` writes them,
# and then only new ones fail a run.
#baseline = "devsan-baseline.json"
# Reports beside the one on the terminal: .txt, .json, .sarif, .html, .junit.xml, .md.
#report = ["devsan.json"]
# What copies and waits mean where no scope of the program says it: allow, log, disallow, log_explicit, disallow_explicit.
#transfer = ["host_to_device:log"]
#sync = "log"
# Copies and waits in the first steps are exempt.
#warmup = 2

[check]
# Globs; a minus takes away.
#checks = ["device-*", "-device-host-sync"]
# Files and folders that are not the project's own, as globs.
#exclude = ["vendor", "src/*.pb.cpp"]
# May be the same file as that of [run].
#baseline = "devsan-baseline.json"

[budgets]
# How often a rule may happen in a run, or in each step of it.
#device-host-sync = "1/step"

[suppressions]
# Globs on files, or on functions of the stack. One that covers nothing any more is reported.
#device-host-sync = ["src/logging.cpp", "function:*print_loss*"]
)";

constexpr const char *kGithub =
    R"(# DevSan in GitHub's CI, on simulated devices: no GPU is needed.
# Set the repository variables DEVSAN_REPOSITORY, the OWNER/NAME of DevSan's sources, and DEVSAN_REVISION, a full commit id there.
# What is not DevSan's is pinned, too: take later ones as you like.
name: devsan
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  devsan:
    runs-on: ubuntu-latest
    container: debian:12@sha256:813017f3d62be4b5891a7acca6a01bdcd4b8513daa81b1ab99d3a50385b26931
    steps:
      - run: apt-get update && apt-get install -y git python3 python3-venv
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
      # A tag or a branch can be moved to other code, a commit cannot.
      - run: |
          printf %s "$DEVSAN_REVISION" | grep -qxE '[0-9a-f]{40}' || {
            echo "set the repository variable DEVSAN_REVISION to the full commit id of the DevSan that is to run" >&2
            exit 2
          }
        env:
          DEVSAN_REVISION: ${{ vars.DEVSAN_REVISION }}
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
        with:
          repository: ${{ vars.DEVSAN_REPOSITORY }}
          ref: ${{ vars.DEVSAN_REVISION }}
          path: .devsan
      - uses: ./.devsan  # its action.yml lists the inputs
        with:
)";

constexpr const char *kGitlab =
    R"(# DevSan in GitLab's CI, on simulated devices: no GPU is needed. Add to .gitlab-ci.yml:
#   include:
#     - local: .gitlab/devsan.yml
# and set the variables DEVSAN_REPOSITORY, the address of DevSan's sources, and DEVSAN_REVISION, a full commit id there.
# `.devsan/script/ci --help` lists those below.
variables:
  DEVSAN_CI_PATHS: "."
  DEVSAN_CI_SIM: "2"
)";

// ci/gitlab.yml, whose job is the same for all.
constexpr std::string_view kGitlabTemplate =
#include "gitlab_template.inc"
    ;
constexpr std::size_t kGitlabJob = kGitlabTemplate.find("\ndevsan:\n");
static_assert(kGitlabJob != std::string_view::npos);

// docs/agents.md.
constexpr std::string_view kAgentsPage =
#include "agents_page.inc"
    ;

enum class Ci { kNone, kGithub, kGitlab };

// By what the repository has; by where it came from, else.
Ci recognized(const fs::path &root) {
  std::error_code error;
  if (fs::exists(root / ".gitlab-ci.yml", error))
    return Ci::kGitlab;
  if (fs::is_directory(root / ".github", error))
    return Ci::kGithub;
  const core::Result<std::string> config =
      core::readFile(root / ".git" / "config", core::kMaxSettings);
  if (config && config->find("github") != std::string::npos)
    return Ci::kGithub;
  if (config && config->find("gitlab") != std::string::npos)
    return Ci::kGitlab;
  return Ci::kNone;
}

struct Steps {
  bool cxx = false;
  bool python = false;
};

Steps stepsOf(const fs::path &root) {
  std::error_code error;
  const auto has = [&](const char *name) { return fs::exists(root / name, error); };
  return {has("CMakeLists.txt"), has("setup.py") || has("pyproject.toml") || has("setup.cfg") ||
                                     has("pytest.ini") || has("requirements.txt")};
}

// What script/ci is told. What it builds with comes with DevSan's sources.
struct Settings {
  std::string build;
  std::string build_folder; // of compile_commands.json
  std::string run;
};

Settings settingsFor(const Steps &steps) {
  // The interpreter that DevSan's bootstrap makes has torch and pytest.
  constexpr const char *kPython = ".devsan/.venv/bin/python -m";
  Settings settings;
  const auto add = [](std::string &text, const std::string &command) {
    text += (text.empty() ? "" : " && ") + command;
  };
  if (steps.cxx) {
    add(settings.build,
        "cmake -S . -B build -DCMAKE_EXPORT_COMPILE_COMMANDS=ON && cmake --build build");
    settings.build_folder = "build";
    add(settings.run, "ctest --test-dir build");
  }
  if (steps.python) {
    add(settings.build, fmt::format("{} pip install -e .", kPython));
    add(settings.run, fmt::format("{} pytest --devsan", kPython));
  }
  return settings;
}

std::string linesOf(const Settings &settings, const char *format, const char *build,
                    const char *build_folder, const char *run) {
  std::string text;
  for (const auto &[key, value] :
       {std::pair(build, settings.build), std::pair(build_folder, settings.build_folder),
        std::pair(run, settings.run)})
    if (!value.empty())
      text += fmt::format(fmt::runtime(format), key, value);
  if (settings.run.empty())
    text += fmt::format(fmt::runtime(format), run, "./program  # the program to watch");
  return text;
}

std::string githubFile(const Steps &steps) {
  return kGithub + linesOf(settingsFor(steps), "          {}: {}\n", "build", "build-dir", "run");
}

std::string gitlabFile(const Steps &steps) {
  return kGitlab +
         linesOf(settingsFor(steps), "  {}: {}\n", "DEVSAN_CI_BUILD", "DEVSAN_CI_BUILD_DIR",
                 "DEVSAN_CI_RUN") +
         std::string(kGitlabTemplate.substr(kGitlabJob));
}

core::Result<Ci> chosen(const std::string &text, const fs::path &root) {
  if (text == "github")
    return Ci::kGithub;
  if (text == "gitlab")
    return Ci::kGitlab;
  if (text == "none")
    return Ci::kNone;
  if (!text.empty())
    return core::failure("--ci=" + text + " is unknown; valid: github, gitlab, none");
  return recognized(root);
}

// What is written is the project's, and not of wherever a link in it leads. Empty where there is
// none.
fs::path symlinkOnPath(const fs::path &root, const fs::path &path) {
  std::error_code error;
  fs::path at = root;
  for (const fs::path &name : path.lexically_relative(root))
    if (fs::is_symlink(fs::symlink_status(at /= name, error)))
      return at;
  return {};
}

} // namespace

int init(const InitArguments &arguments) {
  std::error_code error;
  const fs::path root = core::projectRootOf(fs::current_path(error));
  if (error)
    return fail("cannot tell the working directory: " + error.message());
  core::Result<Ci> ci = chosen(arguments.ci, root);
  if (!ci)
    return fail(ci.error().message);
  const Steps steps = stepsOf(root);
  std::string settings = kProjectFile;
  settings.replace(settings.find("{sim}"), 5, *ci == Ci::kNone ? "#" : "");
  std::vector<std::pair<fs::path, std::string>> files = {{root / ".devsan.toml", settings}};
  if (*ci == Ci::kGithub)
    files.emplace_back(root / ".github" / "workflows" / "devsan.yml", githubFile(steps));
  if (*ci == Ci::kGitlab)
    files.emplace_back(root / ".gitlab" / "devsan.yml", gitlabFile(steps));
  if (arguments.agents) {
    const fs::path name(arguments.agents->empty() ? "AGENTS.md" : *arguments.agents);
    const fs::path path = (root / name).lexically_normal();
    if (name.is_absolute() || *path.lexically_relative(root).begin() == "..")
      return fail("--agents=" + name.string() + " lies outside " + root.string() +
                  "; name a file in there, relative to it");
    files.emplace_back(path, kAgentsPage);
  }
  for (const auto &[path, text] : files)
    if (const fs::path link = symlinkOnPath(root, path); !link.empty())
      return fail(link.string() + " is a link, nothing was written; put a file or folder of the "
                                  "project there, or remove it");
  const auto is_there = [](const auto &file) {
    std::error_code ignored;
    return fs::exists(fs::symlink_status(file.first, ignored));
  };
  // Who asks for another file has settings, which may be his work.
  const bool asks_for_other = !arguments.ci.empty() || arguments.agents;
  if (files.size() > 1 && asks_for_other && is_there(files.front())) {
    std::printf("%s is there already, and stays\n",
                core::printable(files.front().first.string()).c_str());
    files.erase(files.begin());
  }
  for (const auto &file : files)
    if (!arguments.force && is_there(file))
      return fail(file.first.string() +
                  " is there already, nothing was written; --force replaces it");
  for (const auto &[path, text] : files) {
    fs::create_directories(path.parent_path(), error); // what is wrong shows below
    if (core::Result<void> written = core::writeFile(path, [&](std::ostream &out) { out << text; });
        !written)
      return fail(written.error().message);
    std::printf("wrote %s\n", core::printable(path.string()).c_str());
  }
  std::puts("\nnext:");
  if (*ci == Ci::kNone && arguments.ci.empty())
    std::puts(
        "  devsan init --ci=github, or --ci=gitlab  also writes a file for CI; the repository "
        "does not tell which");
  if (*ci == Ci::kGitlab)
    std::puts("  add `include: [{local: .gitlab/devsan.yml}]` to .gitlab-ci.yml, and set "
              "DEVSAN_REPOSITORY and DEVSAN_REVISION");
  if (*ci == Ci::kGithub)
    std::puts(
        "  set the repository variables DEVSAN_REPOSITORY and DEVSAN_REVISION, which the workflow "
        "reads");
  if (steps.cxx)
    std::puts("  devsan check -p build .                  look at the sources");
  if (steps.python)
    std::puts("  pytest --devsan-sim=2                    run the tests on simulated devices");
  std::puts("  devsan run --sim=2 -- CMD...             watch a program");
  return kSuccess;
}

} // namespace devsan::command
