#include "core/command/runtime_cache.h"

#include "core/command/commands.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <spawn.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace devsan::command {
namespace {

namespace fs = std::filesystem;

// FNV-1a over 8 bytes at a time: entries are checked at every start of a program.
class Hash {
public:
  void add(std::string_view data) {
    for (; data.size() >= 8; data.remove_prefix(8)) {
      std::uint64_t word;
      std::memcpy(&word, data.data(), 8);
      step(word);
    }
    for (unsigned char c : data)
      step(c);
    step(0x100);
  }
  std::string text() const { return fmt::format("{:016x}", value_); }

private:
  void step(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x100000001b3;
    value_ ^= value_ >> 29;
  }
  std::uint64_t value_ = 0xcbf29ce484222325;
};

std::optional<std::string> contents(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    return std::nullopt;
  // By read(), which does not throw where a folder or a broken disk is met.
  std::string text;
  char buffer[1 << 16];
  while (stream.read(buffer, sizeof buffer) || stream.gcount())
    text.append(buffer, std::size_t(stream.gcount()));
  if (stream.bad())
    return std::nullopt;
  return text;
}

std::string hashOfFile(const fs::path &path) {
  Hash hash;
  hash.add(contents(path).value_or(""));
  return hash.text();
}

bool isExecutable(const fs::path &path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path onPath(const std::string &program) {
  if (program.find('/') != std::string::npos)
    return isExecutable(program) ? fs::path(program) : fs::path();
  const char *path = std::getenv("PATH");
  std::string rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string directory = rest.substr(0, colon);
    if (!directory.empty() && isExecutable(fs::path(directory) / program))
      return fs::path(directory) / program;
    rest.erase(0, colon == std::string::npos ? rest.size() : colon + 1);
  }
  return {};
}

constexpr const char *kInstallCompiler =
    "install one that knows C++20 (apt install clang, or g++ from version 12), or name it in CXX";

using Command = std::vector<std::string>;

Command words(std::string_view text) {
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

// A program and perhaps arguments: CXX may be "ccache g++", as for make.
core::Result<Command> findCompiler(const RuntimeSources &sources) {
  const char *variable = std::getenv("CXX");
  const std::string named = variable ? variable : "";
  if (Command command = words(named); !command.empty()) {
    if (isExecutable(named))
      return Command{named};
    const fs::path found = onPath(command.front());
    if (found.empty())
      return core::failure(
          fmt::format("CXX names {}, which is no program; {}", command.front(), kInstallCompiler));
    command.front() = found;
    return command;
  }
  if (isExecutable(sources.compiler))
    return Command{sources.compiler};
  for (const char *name : {"clang++", "clang++-22", "clang++-19", "clang++-16", "g++", "c++"})
    if (fs::path found = onPath(name); !found.empty())
      return Command{found};
  return core::failure(fmt::format("there is no C++ compiler; {}", kInstallCompiler));
}

std::string versionOf(const fs::path &include) {
  for (const char *header :
       {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    const std::string text = contents(include / header).value_or("");
    const std::size_t define = text.find("#define TORCH_VERSION ");
    const std::size_t quote = define == std::string::npos ? define : text.find('"', define);
    if (quote != std::string::npos)
      return text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
  }
  return "of unknown version";
}

// LibTorch's own choice, from the names that its library exports.
const char *stringAbi(const fs::path &libraries) {
  const std::string symbols = contents(libraries / "libc10.so").value_or("");
  return symbols.find("NSt7__cxx1112basic_string") != std::string::npos ? "1" : "0";
}

// What one build needs to know.
struct Recipe {
  const RuntimeSources &sources;
  ProgramTorch torch;
  fs::path include;
  std::string version;
  Command compiler;
  std::string abi;
  bool is_simulator;
  fs::path directory; // of the cache
  fs::path name;      // of the library

  fs::path library() const { return directory / name; }
  fs::path seal() const { return directory / (name.string() + ".seal"); }
  fs::path failure() const { return directory / (name.string() + ".failed"); }
  fs::path log() const { return directory / (name.string() + ".log"); }
  // Absent where LibTorch comes without Python.
  fs::path operators() const {
    return include.parent_path().parent_path() /
           "torchgen/packaged/ATen/native/native_functions.yaml";
  }
  bool canGenerate() const {
    std::error_code error;
    return fs::exists(operators(), error) && isExecutable(sources.python);
  }
  const std::vector<fs::path> &files() const {
    return is_simulator ? sources.simulator : sources.hooks;
  }
};

constexpr const char *kCompileFlags[] = {
    "-std=c++20", "-O2", "-fPIC", "-fvisibility=hidden", "-fvisibility-inlines-hidden", "-DNDEBUG"};
constexpr const char *kCommonHeaders = "#include <ATen/core/Tensor.h>\n"
                                       "#include <ATen/core/dispatch/Dispatcher.h>\n"
                                       "#include <torch/library.h>\n";

// What cannot be read is left out.
std::vector<fs::path> filesBelow(const fs::path &folder, const std::string &extension) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
    if (entry->path().extension() == extension)
      files.push_back(entry->path());
  return files;
}

// Of everything that the library is made of, so that changed sources never meet an old build.
std::string keyOf(const Recipe &recipe) {
  Hash hash;
  std::vector<fs::path> files;
  for (const char *folder : {"runtime/hooks", "runtime/operators", "runtime/sim"})
    std::ranges::copy(filesBelow(recipe.sources.root / folder, ".h"), std::back_inserter(files));
  for (const auto *list : {&recipe.sources.hooks, &recipe.sources.simulator})
    files.insert(files.end(), list->begin(), list->end());
  for (const char *header :
       {"runtime/event.h", "runtime/log_format.h", "runtime/include/devsan/devsan.h"})
    files.push_back(recipe.sources.root / header);
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
    stat(onPath(word).c_str(), &program);
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

// A build that was cut short, a full disk or a stray write must not be loaded into a program.
std::string sealText(const Recipe &recipe) {
  return fmt::format("{}\nLibTorch {}, {}\n", hashOfFile(recipe.library()), recipe.version,
                     recipe.torch.library.string());
}

bool isIntact(const fs::path &library) {
  const std::optional<std::string> text = contents(library);
  const std::string seal = contents(library.string() + ".seal").value_or("");
  if (!text || seal.empty())
    return false;
  Hash hash;
  hash.add(*text);
  return seal.substr(0, seal.find('\n')) == hash.text();
}

// Whoever can write in the cache has code of theirs loaded into the user's programs.
core::Result<void> checkTrust(const fs::path &path) {
  struct stat link, file;
  if (lstat(path.c_str(), &link) != 0 || stat(path.c_str(), &file) != 0)
    return core::failure(fmt::format("cannot look at {}: {}", path.string(), std::strerror(errno)));
  auto isForeign = [](const struct stat &status) {
    return status.st_uid != geteuid() && status.st_uid != 0;
  };
  const char *why = isForeign(link) || isForeign(file)   ? "belongs to another user"
                    : file.st_mode & (S_IWGRP | S_IWOTH) ? "can be written by other users"
                                                         : nullptr;
  if (why)
    return core::failure(fmt::format("{} {}, so nothing is loaded from there; remove it, or set "
                                     "XDG_CACHE_HOME to a folder of your own",
                                     path.string(), why));
  return {};
}

core::Result<void> checkTrust(const std::vector<fs::path> &paths) {
  for (const fs::path &path : paths)
    if (core::Result<void> trusted = checkTrust(path); !trusted)
      return trusted;
  return {};
}

core::Result<void> makeFolder(const fs::path &path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return core::failure(
        fmt::format("{} cannot be written: {}; set XDG_CACHE_HOME to a folder that can be written",
                    path.string(), std::strerror(errno)));
  return checkTrust(path);
}

core::Result<void> makeEntry(const Recipe &recipe) {
  const fs::path cache = recipe.directory.parent_path();
  std::error_code error;
  fs::create_directories(cache.parent_path().parent_path(), error); // what is wrong shows below
  for (const fs::path &folder : {cache.parent_path(), cache, recipe.directory})
    if (core::Result<void> made = makeFolder(folder); !made)
      return made;
  std::vector<fs::path> files = {recipe.library(), recipe.seal()};
  std::erase_if(files,
                [&](const fs::path &file) { return !fs::exists(fs::symlink_status(file, error)); });
  return checkTrust(files);
}

class FileLock {
public:
  explicit FileLock(const fs::path &path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) {
      error_ = errno;
      return;
    }
    if (flock(file_, LOCK_EX | LOCK_NB) == 0)
      return;
    if (errno == EWOULDBLOCK) {
      waited_ = true;
      std::fprintf(stderr, "devsan: waiting for another process that builds the runtime (%s)\n",
                   path.c_str());
    }
    while (flock(file_, LOCK_EX) != 0)
      if (errno != EINTR) {
        error_ = errno;
        return;
      }
  }
  ~FileLock() {
    if (file_ >= 0)
      close(file_);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;
  bool held() const { return error_ == 0; }
  int error() const { return error_; } // of the system
  bool waited() const { return waited_; }

private:
  int file_;
  int error_ = 0;
  bool waited_ = false;
};

// A folder for a build that goes away with this object.
class ScratchFolder {
public:
  explicit ScratchFolder(const fs::path &parent) {
    std::string pattern = parent / "build-XXXXXX";
    if (mkdtemp(pattern.data()))
      path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code error;
    if (!path_.empty())
      fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  ScratchFolder &operator=(const ScratchFolder &) = delete;
  const fs::path &path() const { return path_; }

private:
  fs::path path_;
};

// Of builds that were killed; nobody else builds while this process holds the lock.
void removeLeftovers(const fs::path &parent) {
  std::error_code error, ignored;
  fs::directory_iterator entry(parent, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (entry->path().filename().string().starts_with("build-"))
      fs::remove_all(entry->path(), ignored);
}

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
  if (posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ) != 0)
    child = -1;
  posix_spawn_file_actions_destroy(&actions);
  return child;
}

std::string shown(const Command &command) {
  std::string text;
  for (const std::string &argument : command)
    text += (text.empty() ? "" : " ") + argument;
  return text;
}

// Runs commands, as many at once as there are processors, and collects what they print in one log.
class Workshop {
public:
  Workshop(const fs::path &scratch, const fs::path &log) : scratch_(scratch), log_(log) {}

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
          log_ << shown(commands[next]) << "\n" << std::strerror(errno) << "\n";
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
      log_ << shown(*found->second.first) << "\n"
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
core::Result<void> generate(const Recipe &recipe, const fs::path &scratch, Workshop &workshop) {
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
    if (!workshop.run({command}))
      return core::failure("cannot read ATen's device rules from " + list.string());
  }
  return {};
}

core::Result<void> compile(const Recipe &recipe, const fs::path &scratch) {
  Workshop workshop(scratch, recipe.log());
  if (recipe.is_simulator)
    if (core::Result<void> written = generate(recipe, scratch, workshop); !written)
      return written;
  const fs::path libraries = recipe.torch.library.parent_path();
  Command flags = recipe.compiler;
  flags.insert(flags.end(), std::begin(kCompileFlags), std::end(kCompileFlags));
  flags.insert(flags.end(),
               {"-D_GLIBCXX_USE_CXX11_ABI=" + recipe.abi, "-I" + recipe.sources.root.string(),
                "-I" + scratch.string(), "-isystem" + recipe.include.string(),
                "-isystem" + (recipe.include / "torch/csrc/api/include").string()});
  const fs::path common = scratch / "common.h";
  std::ofstream(common) << kCommonHeaders;
  Command precompile = flags;
  precompile.insert(precompile.end(), {"-x", "c++-header", common, "-o", common.string() + ".gch"});
  if (!workshop.run({precompile}))
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
  if (!workshop.run(commands))
    return core::failure("DevSan's sources do not compile with it");
  // Nothing that is not used must be asked of the loader; what the program's LibTorch lacks is
  // found now, not in the program.
  link.insert(link.end(), {libraries / "libtorch_cpu.so", libraries / "libc10.so", "-ldl",
                           "-Wl,-rpath," + libraries.string()});
  if (!workshop.run({link}))
    return core::failure("the library cannot be linked");
  return {};
}

core::Result<void> build(const Recipe &recipe) {
  const auto begin = std::chrono::steady_clock::now();
  std::fprintf(stderr,
               "devsan: building %s for LibTorch %s (%s), which takes a minute or more; the next "
               "run finds it in %s\n",
               recipe.name.c_str(), recipe.version.c_str(), recipe.torch.library.c_str(),
               recipe.directory.c_str());
  removeLeftovers(recipe.directory);
  ScratchFolder scratch(recipe.directory);
  if (scratch.path().empty())
    return core::failure(fmt::format("cannot write in {}: {}; set XDG_CACHE_HOME to a folder that "
                                     "can be written",
                                     recipe.directory.string(), std::strerror(errno)));
  if (core::Result<void> compiled = compile(recipe, scratch.path()); !compiled)
    return core::failure(fmt::format("{}; the compiler's messages are in {}",
                                     compiled.error().message, recipe.log().string()));
  std::error_code error;
  fs::remove(recipe.seal(), error);
  fs::permissions(scratch.path() / recipe.name, fs::perms::owner_all, error);
  if (!error)
    fs::rename(scratch.path() / recipe.name, recipe.library(), error);
  if (error)
    return core::failure(
        fmt::format("cannot write {}: {}", recipe.library().string(), error.message()));
  const fs::path seal = scratch.path() / "seal";
  std::ofstream stream(seal);
  stream << sealText(recipe);
  stream.close();
  fs::permissions(seal, fs::perms::owner_read | fs::perms::owner_write, error);
  if (stream && !error)
    fs::rename(seal, recipe.seal(), error);
  if (!stream || error)
    return core::failure("cannot write " + recipe.seal().string());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "devsan: built in %.0f s\n", took.count());
  return {};
}

// For those that wait meanwhile: they would fail the same way, after the same time.
core::Result<void> buildAndRecord(const Recipe &recipe) {
  std::error_code error;
  fs::remove(recipe.failure(), error);
  core::Result<void> built = build(recipe);
  if (!built)
    std::ofstream(recipe.failure()) << fmt::format(
        "{} {}\n{}", getpid(), std::chrono::steady_clock::now().time_since_epoch().count(),
        built.error().message);
  return built;
}

std::vector<fs::path> paths(const fs::path &root, const std::string &list) {
  std::vector<fs::path> result;
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(';', begin), list.size());
    if (end > begin)
      result.push_back(root / list.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

} // namespace

std::string torchId(const fs::path &library) {
  struct stat status;
  const int file = open(library.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  auto read = [file](std::uint64_t offset, void *to, std::size_t size) {
    return pread(file, to, size, off_t(offset)) == ssize_t(size);
  };
  std::string id;
  Elf64_Ehdr header;
  const bool is_elf = fstat(file, &status) == 0 && read(0, &header, sizeof header) &&
                      std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
  for (unsigned i = 0; is_elf && id.empty() && i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read(header.e_phoff + i * sizeof segment, &segment, sizeof segment) ||
        segment.p_type != PT_NOTE || segment.p_filesz > 1 << 20)
      continue;
    std::string notes(segment.p_filesz, 0);
    if (!read(segment.p_offset, notes.data(), notes.size()))
      continue;
    const std::size_t padding = segment.p_align == 8 ? 7 : 3;
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      const std::size_t name = at + sizeof note;
      const std::size_t text = name + ((note.n_namesz + padding) & ~padding);
      at = text + ((note.n_descsz + padding) & ~padding);
      if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || at > notes.size() ||
          notes.compare(name, 3, "GNU") != 0)
        continue;
      for (std::size_t k = 0; k < note.n_descsz; ++k)
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[text + k]));
      break;
    }
  }
  close(file);
  if (is_elf && id.empty())
    id = fmt::format("file-{:x}-{:x}", std::uint64_t(status.st_size),
                     std::uint64_t(status.st_mtime));
  return id;
}

core::Result<RuntimeSources> readRuntimeSources(const InstallTree &tree) {
  std::ifstream stream(tree.runtimeSources());
  if (!stream)
    return core::failure("no " + tree.runtimeSources().string() +
                         ": `devsan doctor` shows what is missing");
  std::map<std::string, std::string> values;
  RuntimeSources sources;
  for (std::string line; std::getline(stream, line);) {
    const std::size_t space = line.find(' ');
    if (space == std::string::npos)
      continue;
    const std::string key = line.substr(0, space), value = line.substr(space + 1);
    if (key == "generate") {
      std::vector<std::string> &step = sources.generated.emplace_back();
      for (const fs::path &item : paths("", value))
        step.push_back(item);
    } else {
      values[key] = value;
    }
  }
  sources.torch_id = values["torch-id"];
  sources.torch_version = values["torch-version"];
  sources.root = values["root"];
  sources.compiler = values["compiler"];
  sources.python = values["python"];
  sources.hooks = paths(sources.root / "runtime", values["hooks"]);
  sources.simulator = paths(sources.root / "runtime/sim", values["simulator"]);
  for (const fs::path &file : paths(sources.root / "runtime", values["shared"])) {
    sources.hooks.push_back(file);
    sources.simulator.push_back(file);
  }
  return sources;
}

core::Result<fs::path> runtimeCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/')
    return fs::path(cache) / "devsan/runtime";
  const char *home = std::getenv("HOME");
  if (home && *home == '/')
    return fs::path(home) / ".cache/devsan/runtime";
  return core::failure("there is no place to keep it: neither XDG_CACHE_HOME nor HOME names a "
                       "folder; set XDG_CACHE_HOME to one of your own");
}

core::Result<fs::path> libraryFor(const RuntimeSources &sources, const ProgramTorch &torch,
                                  const fs::path &prebuilt) {
  std::error_code error;
  const fs::path include = torch.library.parent_path().parent_path() / "include";
  const std::string version = versionOf(include);
  const std::string what = fmt::format("this program's LibTorch {} ({}) is not the one that DevSan "
                                       "was built with ({}), so the runtime must be built for it",
                                       version, torch.library.string(), sources.torch_version);
  if (!fs::exists(include / "ATen/core/Tensor.h", error))
    return core::failure(
        fmt::format("{}, but its headers are missing: no {}; install LibTorch with "
                    "its headers",
                    what, (include / "ATen/core/Tensor.h").string()));
  core::Result<Command> compiler = findCompiler(sources);
  if (!compiler)
    return core::failure(fmt::format("{}, but {}", what, compiler.error().message));
  Recipe recipe{sources,
                torch,
                include,
                version,
                *compiler,
                stringAbi(torch.library.parent_path()),
                prebuilt.filename() == "libdevsan_sim.so",
                {},
                prebuilt.filename()};
  core::Result<fs::path> cache = runtimeCache();
  if (!cache)
    return core::failure(fmt::format("{}, but {}", what, cache.error().message));
  recipe.directory = *cache / keyOf(recipe);
  if (core::Result<void> made = makeEntry(recipe); !made)
    return core::failure(fmt::format("{}, but {}", what, made.error().message));
  if (isIntact(recipe.library()))
    return recipe.library();
  const std::string old_failure = contents(recipe.failure()).value_or("");
  FileLock lock(recipe.directory / "lock");
  if (!lock.held())
    return core::failure(
        fmt::format("{}, but {} cannot be locked: {}; set XDG_CACHE_HOME to a folder where files "
                    "can be written and locked",
                    what, (recipe.directory / "lock").string(), std::strerror(lock.error())));
  if (isIntact(recipe.library()))
    return recipe.library();
  const std::string failure = contents(recipe.failure()).value_or("");
  if (lock.waited() && !failure.empty() && failure != old_failure)
    return core::failure(
        fmt::format("{}, and that failed in the process that this one waited for: {}", what,
                    failure.substr(failure.find('\n') + 1)));
  if (fs::exists(recipe.library(), error))
    std::fprintf(stderr, "devsan: %s is damaged and is built again\n", recipe.library().c_str());
  if (core::Result<void> built = buildAndRecord(recipe); !built)
    return core::failure(fmt::format("{}, and that failed: {}", what, built.error().message));
  return recipe.library();
}

std::vector<CacheEntry> cachedLibraries() {
  std::vector<CacheEntry> entries;
  core::Result<fs::path> cache = runtimeCache();
  if (!cache)
    return entries;
  for (const fs::path &library : filesBelow(*cache, ".so")) {
    const std::string seal = contents(library.string() + ".seal").value_or("");
    std::string torch = seal.substr(std::min(seal.find('\n') + 1, seal.size()));
    while (torch.ends_with('\n'))
      torch.pop_back();
    CacheEntry &entry = entries.emplace_back(library, torch);
    entry.is_damaged = !isIntact(library);
    if (entry.is_damaged)
      entry.problem = library.string() + " is damaged";
    else if (core::Result<void> trusted =
                 checkTrust({cache->parent_path(), *cache, library.parent_path(), library,
                             library.string() + ".seal"});
             !trusted)
      entry.problem = trusted.error().message;
  }
  std::ranges::sort(entries, {}, &CacheEntry::library);
  return entries;
}

int prepare(const InstallTree &tree, const PrepareArguments &arguments) {
  core::Result<RuntimeSources> sources = readRuntimeSources(tree);
  if (!sources)
    return fail(sources.error().message);
  std::error_code error;
  ProgramTorch torch{arguments.torch, arguments.id};
  if (fs::is_directory(torch.library, error))
    torch.library /= "lib/libtorch_cpu.so";
  torch.library = fs::absolute(torch.library, error);
  if (torch.id.empty())
    torch.id = torchId(torch.library);
  const bool is_torch = torch.library.filename() == "libtorch_cpu.so" && !torch.id.empty();
  if (!is_torch)
    return fail(
        "--torch: " +
        (fs::exists(torch.library, error) ? torch.library.string() + " is no LibTorch library"
                                          : "no " + torch.library.string()) +
        "; name the folder of LibTorch, as python -c 'import torch; print(torch.__path__[0])' "
        "prints it");
  std::string list = arguments.list;
  if (list.empty())
    list = tree.simulator().string() + ":" + tree.runtime().string();
  std::ranges::replace(list, ':', ';');
  std::string answer;
  for (const fs::path &prebuilt : paths("", list)) {
    fs::path library = prebuilt;
    if (torch.id != sources->torch_id) {
      core::Result<fs::path> built = libraryFor(*sources, torch, prebuilt);
      if (!built)
        return fail(built.error().message);
      library = *built;
    }
    answer += (answer.empty() ? "" : ":") + library.string();
  }
  std::printf("%s\n", answer.c_str());
  return kSuccess;
}

} // namespace devsan::command
