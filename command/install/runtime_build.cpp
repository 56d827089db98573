#include "command/install/runtime_build.h"

#include "command/install/files.h"
#include "core/system/run_program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

using Command = std::vector<std::string>;

constexpr const char *kInstallCompiler =
    "install one that knows C++20 (apt install clang, or g++ from version 12), or name it in CXX";

Command commandWords(std::string_view text) {
  Command result;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    if (text.empty())
      return result;
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    result.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

constexpr const char *kCompileFlags[] = {
    "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-DNDEBUG"};
constexpr const char *kCommonHeaders = "#include <ATen/core/Tensor.h>\n"
                                       "#include <ATen/core/dispatch/Dispatcher.h>\n"
                                       "#include <torch/library.h>\n";

// Starts a command with its output in `log`; -1 where that is impossible.
pid_t start(const Command &command, const fs::path &log) {
  std::vector<char *> argv;
  for (const std::string &argument : command)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = -1;
  if (posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) != 0)
    child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

// Runs commands, as many at once as there are processors, and collects what they print in one log.
class ProcessPool {
public:
  ProcessPool(const fs::path &scratch, const fs::path &log) : scratch_(scratch), log_(log) {}

  bool run(const std::vector<Command> &commands) {
    std::map<pid_t, std::pair<const Command *, fs::path>> running;
    const std::size_t capacity = std::max(1u, std::thread::hardware_concurrency());
    bool succeeded = true;
    std::size_t next = 0;
    while (!running.empty() || (succeeded && next < commands.size())) {
      while (succeeded && next < commands.size() && running.size() < capacity) {
        const fs::path output = scratch_ / fmt::format("{}.out", count_++);
        const pid_t child = start(commands[next], output);
        if (child < 0) {
          log_ << fmt::format("{}", fmt::join(commands[next], " ")) << "\n"
               << std::strerror(errno) << "\n";
          succeeded = false;
        } else {
          running[child] = {&commands[next], output};
        }
        ++next;
      }
      int status = 0;
      const pid_t ended = running.empty() ? -1 : waitpid(-1, &status, 0);
      auto found = running.find(ended);
      if (found == running.end()) {
        if (ended < 0 && errno != EINTR)
          break;
        continue;
      }
      log_ << fmt::format("{}", fmt::join(*found->second.first, " ")) << "\n"
           << contents(found->second.second).value_or("") << std::flush;
      succeeded &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
      running.erase(found);
    }
    return succeeded;
  }

private:
  fs::path scratch_;
  std::ofstream log_;
  unsigned count_ = 0;
};

// What follows this LibTorch's own list of operators, as their device rules do. A LibTorch without
// Python brings no list; what the prebuilt simulator has is the nearest then.
core::Result<void> generate(const Recipe &recipe, const fs::path &scratch,
                            ProcessPool &process_pool) {
  std::error_code error;
  const fs::path list = recipe.operators();
  const bool can_generate = recipe.canGenerate();
  if (!can_generate)
    std::fprintf(stderr,
                 "devsan: note: no %s; the simulator takes the operators' device rules from "
                 "LibTorch %s\n",
                 list.c_str(), recipe.sources.torch_version.c_str());
  for (const std::vector<std::string> &step : recipe.sources.generated) {
    const fs::path prebuilt = step.front();
    const fs::path out = scratch / prebuilt.filename();
    if (!can_generate) {
      if (!fs::copy_file(prebuilt, out, error))
        return core::failure("cannot read " + prebuilt.string());
      continue;
    }
    // The program's Python settings are not for ours.
    Command command = {recipe.sources.python, "-E", "-s"};
    for (auto item = step.begin() + 1; item != step.end(); ++item)
      command.push_back(*item == "YAML"            ? list.string()
                        : item->starts_with("OUT") ? out.string() + item->substr(3)
                                                   : *item);
    if (!process_pool.run({command}))
      return core::failure("cannot read ATen's device rules from " + list.string());
  }
  return {};
}

// The hooks need far less of LibTorch than the simulator does.
core::Result<void> doesNotFit(const Recipe &recipe) {
  return core::failure(
      recipe.is_simulator
          ? "DevSan's simulator does not fit this release, so there are no simulated devices with "
            "it; without --sim the program runs observed, by DevSan's hooks alone"
          : "DevSan's hooks do not fit this release");
}

} // namespace

core::Result<Command> findCompiler(const RuntimeSources &sources) {
  const char *variable = std::getenv("CXX");
  const std::string named = variable ? variable : "";
  if (Command command = commandWords(named); !command.empty()) {
    if (core::isExecutable(named))
      return Command{named};
    const fs::path found = core::findProgram(command.front());
    if (found.empty())
      return core::failure(
          fmt::format("CXX names {}, which is no program; {}", command.front(), kInstallCompiler));
    command.front() = found;
    return command;
  }
  if (core::isExecutable(sources.compiler))
    return Command{sources.compiler};
  for (const char *name : {"clang++", "clang++-22", "clang++-19", "clang++-16", "g++", "c++"})
    if (fs::path found = core::findProgram(name); !found.empty())
      return Command{found};
  return core::failure(fmt::format("there is no C++ compiler; {}", kInstallCompiler));
}

bool Recipe::canGenerate() const {
  std::error_code error;
  return fs::exists(operators(), error) && core::isExecutable(sources.python);
}

bool Recipe::hasCuda() const {
  std::error_code error;
  return fs::exists(torch.library.parent_path() / "libtorch_cuda.so", error);
}

std::string keyOf(const Recipe &recipe) {
  Hash hash;
  std::vector<fs::path> files;
  for (const char *folder :
       {"protocol", "include", "log", "stacks", "record", "operators", "cuda", "sim", "hooks"})
    std::ranges::copy(filesBelow(recipe.sources.root / "runtime" / folder, ".h"),
                      std::back_inserter(files));
  std::ranges::copy(filesBelow(recipe.sources.cuda_headers, ".h"), std::back_inserter(files));
  for (const auto *list :
       {&recipe.sources.hooks, &recipe.sources.simulator, &recipe.sources.simulator_cuda_build})
    files.insert(files.end(), list->begin(), list->end());
  std::error_code error;
  for (const std::vector<std::string> &step : recipe.sources.generated)
    for (const std::string &item : step)
      if (item.starts_with('/') && fs::is_regular_file(item, error))
        files.push_back(item);
  std::ranges::sort(files);
  for (const fs::path &file : files) {
    hash.add(file.filename().string());
    hash.add(contents(file).value_or(""));
  }
  for (const std::string &word : recipe.compiler) {
    struct stat program = {};
    stat(core::findProgram(word).c_str(), &program);
    hash.add(fmt::format("{} {} {}", word, program.st_size, program.st_mtime));
  }
  for (const char *flag : kCompileFlags)
    hash.add(flag);
  hash.add(kCommonHeaders);
  hash.add(fmt::format("abi {} generated {}", recipe.abi, recipe.canGenerate()));
  hash.add(recipe.torch.id);
  // The id's beginning only tells people which folder is whose.
  return recipe.torch.id.substr(0, 16) + "-" + hash.text();
}

core::Result<void> compile(const Recipe &recipe, const fs::path &scratch) {
  ProcessPool process_pool(scratch, recipe.log());
  if (recipe.is_simulator)
    if (core::Result<void> written = generate(recipe, scratch, process_pool); !written)
      return written;
  const fs::path libraries = recipe.torch.library.parent_path();
  Command flags = recipe.compiler;
  flags.insert(flags.end(), std::begin(kCompileFlags), std::end(kCompileFlags));
  flags.insert(flags.end(),
               {"-D_GLIBCXX_USE_CXX11_ABI=" + recipe.abi, "-I" + recipe.sources.root.string(),
                "-I" + scratch.string(), "-isystem" + recipe.include.string(),
                "-isystem" + (recipe.include / "torch/csrc/api/include").string(),
                "-isystem" + recipe.sources.cuda_headers.string()});
  const fs::path common = scratch / "common.h";
  std::ofstream(common) << kCommonHeaders;
  Command precompile = flags;
  precompile.insert(precompile.end(), {"-x", "c++-header", common, "-o", common.string() + ".gch"});
  if (!process_pool.run({precompile}))
    return core::failure("its headers in " + recipe.include.string() + " do not compile");

  std::vector<Command> commands;
  Command link = recipe.compiler;
  link.insert(link.end(), {"-shared", "-o", scratch / recipe.name});
  for (const fs::path &file : recipe.files()) {
    const fs::path object = scratch / fmt::format("{}-{}.o", commands.size(), file.stem().string());
    Command command = flags;
    command.insert(command.end(), {"-include", common, "-c", file, "-o", object});
    commands.push_back(std::move(command));
    link.push_back(object);
  }
  if (!process_pool.run(commands))
    return doesNotFit(recipe);
  // Nothing that is not used must be asked of the loader; what the program's LibTorch lacks is
  // found now, not in the program.
  link.insert(link.end(), {libraries / "libtorch_cpu.so", libraries / "libc10.so", "-ldl",
                           "-Wl,-rpath," + libraries.string()});
  if (!process_pool.run({link}))
    return doesNotFit(recipe);
  return {};
}

} // namespace devsan::command
