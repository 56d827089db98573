// `devsan demo`: two small programs with a bug each, which the two sides find.
#include "command/commands.h"
#include "command/process/launch.h"
#include "core/system/run_program.h"
#include "core/text/terminal_text.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

// That of the installation, or the first on PATH.
std::string python() {
  const char *ours = std::getenv("DEVSAN_PYTHON");
  return ours && core::isExecutable(ours) ? ours : core::findProgram("python3");
}

// Whether the command, which is shown as a user types it, ends with `status`.
bool show(std::string_view typed, const std::vector<std::string> &command, int status) {
  fmt::print("\n$ {}\n", typed);
  std::fflush(stdout);
  const core::Result<ProgramEnd> end = launch(command, {});
  return end && end->signal == 0 && end->status == status;
}

// Without importing it, which takes long on a disk that is cold.
bool hasTorch(const std::string &python) {
  return core::runProgram(
             python,
             {"-c", "import importlib.util, sys; sys.exit(not importlib.util.find_spec('torch'))"},
             {})
             .status == 0;
}

} // namespace

int demo(const InstallTree &tree, const std::string &folder) {
  const fs::path place = fs::absolute(folder);
  std::error_code error;
  if (fs::exists(fs::symlink_status(place, error)))
    return fail(fmt::format(
        "{} is there already; remove it, or name another folder: devsan demo FOLDER", folder));
  fs::copy(tree.demo(), place, fs::copy_options::recursive, error);
  if (!error)
    fs::current_path(place, error);
  if (error)
    return fail(fmt::format("cannot write {}: {}", folder, error.message()));
  fmt::print("{}/ has two programs with a bug each.\n\n"
             "1. scale.cpp, a function of a C++ extension. No compiler, GPU or PyTorch is needed "
             "to check it.\n",
             core::printable(folder));
  if (!show("devsan check --torch=none scale.cpp -- -Iheaders",
            {tree.check(), "--torch=none", "--no-cache", "--checks=device-bare-cuda", "scale.cpp",
             "--", "-Iheaders"},
            1))
    return fail("the bug of scale.cpp was not found; devsan doctor tells which parts are missing");
  std::puts("\n2. train.py, a training loop in Python, on two simulated GPUs.");
  const std::string interpreter = python();
  if (interpreter.empty() || !hasTorch(interpreter))
    return fail(fmt::format("{} has no PyTorch to run train.py with; pip install torch, and remove "
                            "{} before devsan demo is run again",
                            interpreter.empty() ? "python3" : interpreter, folder));
  if (!show("devsan run --sim=2 --fail-on=device-host-sync -- python train.py",
            {tree.program(), "run", "--sim=2", "--fail-on=device-host-sync", "--", interpreter,
             "train.py"},
            kFindings))
    return fail("the bug of train.py was not found; devsan doctor tells which parts are missing");
  std::puts("\nIn a project of your own: devsan check src/, pytest --devsan-sim=2. What a rule "
            "means: devsan explain device-host-sync.");
  return kSuccess;
}

} // namespace devsan::command
