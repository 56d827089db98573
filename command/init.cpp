// `devsan init`: the first .devsan.toml of a project, and a file for its CI.
#include "command/commands.h"
#include "core/system/project_root.h"
#include "core/system/whole_file.h"
#include "core/text/terminal_text.h"
#include "core/text/toml_text.h"

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

// A version of an index is the same file for all, as long as nobody adds another one to it.
constexpr const char *kPins =
    R"(# Pinned: DevSan by its version, and by its file where " --hash=sha256:..." stands behind it (`pip hash FILE` prints that);
# PyTorch by its version: take the one that the project uses. No index has DevSan yet: PIP_FIND_LINKS names the folder with the wheel of
# a release. PIP_EXTRA_INDEX_URL names an index with PyTorch's CPU builds (PyTorch's installation page has it): Python programs
# take a build for CUDA as well, which is larger; CMake finds that one only where there is a CUDA toolkit.
)";

constexpr const char *kGithub = R"(# DevSan in GitHub's CI, on simulated devices: no GPU is needed.
{pins}name: devsan
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
    env:
{variables}    steps:
      - run: {packages}
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1  # v7.0.1
      - run: |
{script})";

constexpr const char *kGitlab =
    R"(# DevSan in GitLab's CI, on simulated devices: no GPU is needed. Add to .gitlab-ci.yml:
#   include:
#     - local: .gitlab/devsan.yml
{pins}devsan:
  image: debian:12@sha256:813017f3d62be4b5891a7acca6a01bdcd4b8513daa81b1ab99d3a50385b26931
  variables:
{variables}  script:
    - {packages}
    - |
{script}  artifacts:
    when: always
    paths: [devsan-reports]
    reports:
      junit: devsan-reports/devsan.junit.xml
)";

constexpr const char *kShell = R"(#!/bin/sh
# DevSan on simulated devices, in any CI or by hand: no GPU is needed. Needs Python with venv{needs}.
{pins}set -eu
cd "$(dirname "$0")/.."
{variables}{script})";

// With the environment that is made for it, of which nothing stays.
constexpr const char *kScript = R"(venv=$(mktemp -d)
trap 'rm -rf "$venv"' EXIT
python3 -m venv "$venv"
. "$venv/bin/activate"
printf '%s\n' "$DEVSAN_REQUIREMENT" >"$venv/devsan.txt"
pip install --no-deps -r "$venv/devsan.txt"
pip install "$TORCH_REQUIREMENT"{project}
{package}{prefix}devsan-ci
)";

// setup.py may import the torch that is installed, and is built for that one.
constexpr const char *kSetup =
    R"(# What else it needs to be built stands here: it is built with the PyTorch of above.
pip install setuptools wheel ninja
pip install --no-build-isolation -e .
)";

constexpr const char *kPrefix = R"sh(python -c 'import os, shutil, sys, torch
if torch.version.cuda and not (shutil.which("nvcc") or os.getenv("CUDA_HOME") or os.path.exists("/usr/local/cuda")):
    sys.exit("devsan: error: this PyTorch is built for CUDA, and CMake cannot find it without a CUDA toolkit\n"
             "devsan: remedy: let PIP_EXTRA_INDEX_URL name the index with the CPU builds of PyTorch (its installation page has it)")'
CMAKE_PREFIX_PATH=$(python -c 'import torch; print(torch.utils.cmake_prefix_path)')
export CMAKE_PREFIX_PATH
)sh";

// docs/agents.md.
constexpr std::string_view kAgentsPage =
#include "agents_page.inc"
    ;

// With the names in braces replaced.
std::string filled(std::string text,
                   std::initializer_list<std::pair<std::string, std::string>> values) {
  for (const auto &[name, value] : values)
    text.replace(text.find(name), name.size(), value);
  return text;
}

std::string indented(const std::string &text, std::size_t by) {
  std::string result;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    result += std::string(by, ' ') + text.substr(begin, end - begin);
  }
  return result;
}

enum class Ci { kNone, kGithub, kGitlab, kShell };

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

// What a project has, and so what a job does.
struct Steps {
  bool cxx = false;
  bool python = false;       // has tests of Python
  bool has_setup = false;    // a package with a setup.py
  bool is_package = false;   // that pip installs
  bool requirements = false; // in requirements.txt
};

// pyproject.toml may hold nothing but settings of tools.
bool tellsOfPackage(const fs::path &file) {
  const core::Result<std::string> text = core::readFile(file, core::kMaxSettings);
  if (!text)
    return false;
  const core::Result<toml::table> table = core::parseToml(*text, file.string());
  return table && (table->contains("build-system") || table->contains("project"));
}

Steps stepsOf(const fs::path &root) {
  std::error_code error;
  const auto has = [&](const char *name) { return fs::exists(root / name, error); };
  Steps steps{.cxx = has("CMakeLists.txt"),
              .has_setup = has("setup.py"),
              .is_package = has("setup.py") || tellsOfPackage(root / "pyproject.toml"),
              .requirements = has("requirements.txt")};
  steps.python = steps.is_package || steps.requirements || has("pyproject.toml") ||
                 has("setup.cfg") || has("pytest.ini");
  return steps;
}

// What devsan-ci reads, as lines of `format`.
std::string variablesOf(const Steps &steps, Ci ci, const char *format) {
  std::vector<std::pair<const char *, std::string>> variables = {
      {"DEVSAN_REQUIREMENT", "devsan==" DEVSAN_VERSION},
      {"TORCH_REQUIREMENT", *DEVSAN_TORCH_RELEASE ? "torch==" DEVSAN_TORCH_RELEASE : "torch"},
      {"DEVSAN_CI_PATHS", "."},
      {"DEVSAN_CI_SIM", "2"}};
  if (ci == Ci::kGithub)
    variables.emplace_back("DEVSAN_CI_FORMAT", "github");
  std::string run;
  if (steps.cxx) {
    // Without what a former run found in its environment, which is gone.
    variables.emplace_back("DEVSAN_CI_BUILD",
                           "cmake -S . -B build -U*_LIBRARY -DCMAKE_BUILD_TYPE=RelWithDebInfo "
                           "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON && cmake --build build");
    variables.emplace_back("DEVSAN_CI_BUILD_DIR", "build");
    run = "ctest --test-dir build";
  }
  if (steps.python)
    run += std::string(run.empty() ? "" : " && ") + "python -m pytest --devsan";
  if (!run.empty())
    variables.emplace_back("DEVSAN_CI_RUN", run);
  std::string text;
  for (const auto &[name, value] : variables)
    text += fmt::format(fmt::runtime(format), name, value);
  if (run.empty())
    text += "# DEVSAN_CI_RUN: the program to watch\n";
  return text;
}

std::string scriptOf(const Steps &steps, std::size_t indent) {
  std::string text = kScript;
  std::string project = steps.python ? " pytest" : "";
  project += steps.requirements ? " -r requirements.txt" : "";
  const std::string package = steps.has_setup    ? kSetup
                              : steps.is_package ? "pip install -e .\n"
                                                 : "";
  return indented(filled(text, {{"{project}", project},
                                {"{package}", package},
                                {"{prefix}", steps.cxx ? kPrefix : ""}}),
                  indent);
}

std::string fileFor(Ci ci, const Steps &steps) {
  const std::string packages =
      std::string("apt-get update && apt-get install -y --no-install-recommends ca-certificates "
                  "git python3 python3-venv") +
      (steps.cxx || steps.is_package ? " g++ python3-dev" : "") + (steps.cxx ? " cmake make" : "");
  const std::pair<std::string, std::string> pins("{pins}", kPins), needed("{packages}", packages);
  if (ci == Ci::kGithub)
    return filled(kGithub, {pins,
                            needed,
                            {"{variables}", variablesOf(steps, ci, "      {}: '{}'\n")},
                            {"{script}", scriptOf(steps, 10)}});
  if (ci == Ci::kGitlab)
    return filled(kGitlab, {pins,
                            needed,
                            {"{variables}", variablesOf(steps, ci, "    {}: '{}'\n")},
                            {"{script}", scriptOf(steps, 6)}});
  return filled(kShell, {pins,
                         {"{needs}", steps.cxx ? ", CMake and a C++ compiler" : ""},
                         {"{variables}", variablesOf(steps, ci, "export {}='{}'\n")},
                         {"{script}", scriptOf(steps, 0)}});
}

core::Result<Ci> chosen(const std::string &text, const fs::path &root) {
  if (text == "github")
    return Ci::kGithub;
  if (text == "gitlab")
    return Ci::kGitlab;
  if (text == "shell")
    return Ci::kShell;
  if (text == "none")
    return Ci::kNone;
  if (!text.empty())
    return core::failure("--ci=" + text + " is unknown; valid: github, gitlab, shell, none");
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
  const fs::path script = root / "ci" / "devsan.sh";
  if (*ci != Ci::kNone)
    files.emplace_back(*ci == Ci::kGithub   ? root / ".github" / "workflows" / "devsan.yml"
                       : *ci == Ci::kGitlab ? root / ".gitlab" / "devsan.yml"
                                            : script,
                       fileFor(*ci, steps));
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
    if (path == script)
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    std::printf("wrote %s\n", core::printable(path.string()).c_str());
  }
  std::puts("\nnext:");
  if (*ci == Ci::kNone && arguments.ci.empty())
    std::puts(
        "  devsan init --ci=github, --ci=gitlab or --ci=shell  also writes a file for CI; the "
        "repository does not tell which");
  if (*ci == Ci::kGitlab)
    std::puts("  add `include: [{local: .gitlab/devsan.yml}]` to .gitlab-ci.yml");
  if (*ci == Ci::kShell)
    std::puts("  ci/devsan.sh                             what CI is to run");
  if (steps.cxx)
    std::puts("  devsan check -p build .                  look at the sources");
  if (steps.python)
    std::puts("  pytest --devsan-sim=2                    run the tests on simulated devices");
  std::puts("  devsan run --sim=2 -- CMD...             watch a program");
  return kSuccess;
}

} // namespace devsan::command
