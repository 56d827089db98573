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
  return std::string(std::istreambuf_iterator<char>(stream), {});
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

core::Result<fs::path> findCompiler(const RuntimeSources &sources) {
  if (const char *named = std::getenv("CXX"); named && *named) {
    if (fs::path found = onPath(named); !found.empty())
      return found;
    return core::failure(fmt::format("CXX names {}, which is no program; {}", named, kInstallCompiler));
  }
  if (isExecutable(sources.compiler))
    return sources.compiler;
  for (const char *name : {"clang++", "clang++-22", "clang++-19", "clang++-16", "g++", "c++"})
    if (fs::path found = onPath(name); !found.empty())
      return found;
  return core::failure(fmt::format("there is no C++ compiler; {}", kInstallCompiler));
}

std::string versionOf(const fs::path &include) {
  for (const char *header : {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
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
  fs::path compiler;
  std::string abi;
  bool is_simulator;
  fs::path directory; // of the cache
  fs::path name;      // of the library

  fs::path library() const { return directory / name; }
  fs::path seal() const { return directory / (name.string() + ".seal"); }
  fs::path log() const { return directory / (name.string() + ".log"); }
  const std::vector<fs::path> &files() const {
    return is_simulator ? sources.simulator : sources.hooks;
  }
};

// Of everything that the library is made of, so that changed sources never meet an old build.
std::string keyOf(const Recipe &recipe) {
  Hash hash;
  std::vector<fs::path> files;
  for (const char *folder : {"runtime/hooks", "runtime/operators", "runtime/sim"}) {
    std::error_code error;
    for (const auto &entry : fs::recursive_directory_iterator(recipe.sources.root / folder, error))
      if (entry.path().extension() == ".h")
        files.push_back(entry.path());
  }
  for (const auto *list : {&recipe.sources.hooks, &recipe.sources.simulator})
    files.insert(files.end(), list->begin(), list->end());
  for (const char *header : {"runtime/event.h", "runtime/log_format.h"})
    files.push_back(recipe.sources.root / header);
  files.push_back(recipe.sources.generator);
  std::ranges::sort(files);
  for (const fs::path &file : files) {
    hash.add(file.filename().string());
    hash.add(contents(file).value_or(""));
  }
  hash.add(recipe.compiler.string());
  struct stat compiler = {};
  stat(recipe.compiler.c_str(), &compiler);
  hash.add(fmt::format("{} {} abi {}", compiler.st_size, compiler.st_mtime, recipe.abi));
  return recipe.torch.id.substr(0, 16) + "-" + hash.text();
}

// A build that was cut short, a full disk or a stray write must not be loaded into a program.
std::string sealText(const Recipe &recipe) {
  return fmt::format("{}\nLibTorch {}, {}\n", hashOfFile(recipe.library()), recipe.version,
                     recipe.torch.library.string());
}

bool isIntact(const fs::path &library) {
  const std::string seal = contents(library.string() + ".seal").value_or("");
  return !seal.empty() && seal.substr(0, seal.find('\n')) == hashOfFile(library);
}

class FileLock {
public:
  explicit FileLock(const fs::path &path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0)
      return;
    if (flock(file_, LOCK_EX | LOCK_NB) == 0)
      return;
    std::fprintf(stderr, "devsan: waiting for another process that builds the runtime\n");
    while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() {
    if (file_ >= 0)
      close(file_);
  }
  FileLock(const FileLock &) = delete;
  FileLock &operator=(const FileLock &) = delete;
  bool held() const { return file_ >= 0; }

private:
  int file_;
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
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(parent, error))
    if (entry.path().filename().string().starts_with("build-"))
      fs::remove_all(entry.path(), error);
}

using Command = std::vector<std::string>;

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

// The device rules of this LibTorch's operators. A LibTorch without Python brings no list of them;
// the one of the prebuilt simulator is the nearest then.
core::Result<void> writeOperators(const Recipe &recipe, const fs::path &scratch,
                                  Workshop &workshop) {
  std::error_code error;
  const fs::path list = recipe.include.parent_path().parent_path() /
                        "torchgen/packaged/ATen/native/native_functions.yaml";
  const fs::path out = scratch / "cuda_operators.inc";
  if (fs::exists(list, error) && isExecutable(recipe.sources.python)) {
    if (workshop.run({{recipe.sources.python, recipe.sources.generator, list, out}}))
      return {};
    return core::failure("cannot read ATen's device rules from " + list.string());
  }
  std::fprintf(stderr,
               "devsan: note: no %s; the simulator takes the operators' device rules from LibTorch "
               "%s\n",
               list.c_str(), recipe.sources.torch_version.c_str());
  if (!fs::copy_file(recipe.sources.operators, out, error))
    return core::failure("cannot read " + recipe.sources.operators.string());
  return {};
}

constexpr const char *kCommonHeaders = "#include <ATen/core/Tensor.h>\n"
                                       "#include <ATen/core/dispatch/Dispatcher.h>\n"
                                       "#include <torch/library.h>\n";

core::Result<void> compile(const Recipe &recipe, const fs::path &scratch) {
  Workshop workshop(scratch, recipe.log());
  if (recipe.is_simulator)
    if (core::Result<void> written = writeOperators(recipe, scratch, workshop); !written)
      return written;
  const fs::path libraries = recipe.torch.library.parent_path();
  const Command flags = {recipe.compiler,
                         "-std=c++20",
                         "-O2",
                         "-fPIC",
                         "-fvisibility=hidden",
                         "-fvisibility-inlines-hidden",
                         "-DNDEBUG",
                         "-D_GLIBCXX_USE_CXX11_ABI=" + recipe.abi,
                         "-I" + recipe.sources.root.string(),
                         "-I" + scratch.string(),
                         "-isystem" + recipe.include.string(),
                         "-isystem" + (recipe.include / "torch/csrc/api/include").string()};
  const fs::path common = scratch / "common.h";
  std::ofstream(common) << kCommonHeaders;
  Command precompile = flags;
  precompile.insert(precompile.end(), {"-x", "c++-header", common, "-o", common.string() + ".gch"});
  if (!workshop.run({precompile}))
    return core::failure("its headers in " + recipe.include.string() + " do not compile");

  std::vector<Command> commands;
  Command link = {recipe.compiler, "-shared", "-o", scratch / recipe.name};
  for (const fs::path &file : recipe.files()) {
    const fs::path object = scratch / fmt::format("{}-{}.o", commands.size(), file.stem().string());
    Command command = flags;
    command.insert(command.end(), {"-include", common, "-c", file, "-o", object});
    commands.push_back(std::move(command));
    link.push_back(object);
  }
  if (!workshop.run(commands))
    return core::failure("DevSan's sources do not compile with it");
  // Nothing that is not used must be asked of the loader; what the program's LibTorch lacks is found
  // now, not in the program.
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
  fs::rename(scratch.path() / recipe.name, recipe.library(), error);
  std::ofstream seal(recipe.seal());
  seal << sealText(recipe);
  seal.close();
  if (error || !seal)
    return core::failure("cannot write " + recipe.library().string());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::fprintf(stderr, "devsan: built in %.0f s\n", took.count());
  return {};
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
    id = fmt::format("file-{:x}-{:x}", std::uint64_t(status.st_size), std::uint64_t(status.st_mtime));
  return id;
}

core::Result<RuntimeSources> readRuntimeSources(const InstallTree &tree) {
  std::ifstream stream(tree.runtimeSources());
  if (!stream)
    return core::failure("no " + tree.runtimeSources().string() +
                         ": `devsan doctor` shows what is missing");
  std::map<std::string, std::string> values;
  for (std::string line; std::getline(stream, line);)
    if (const std::size_t space = line.find(' '); space != std::string::npos)
      values[line.substr(0, space)] = line.substr(space + 1);
  RuntimeSources sources;
  sources.torch_id = values["torch-id"];
  sources.torch_version = values["torch-version"];
  sources.root = values["root"];
  sources.compiler = values["compiler"];
  sources.python = values["python"];
  sources.operators = values["operators"];
  sources.generator = values["generator"];
  sources.hooks = paths(sources.root / "runtime", values["hooks"]);
  sources.simulator = paths(sources.root / "runtime/sim", values["simulator"]);
  for (const fs::path &file : paths(sources.root / "runtime", values["shared"])) {
    sources.hooks.push_back(file);
    sources.simulator.push_back(file);
  }
  return sources;
}

fs::path runtimeCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  const char *home = std::getenv("HOME");
  const fs::path root = cache && *cache == '/' ? fs::path(cache)
                        : home && *home        ? fs::path(home) / ".cache"
                                               : fs::temp_directory_path();
  return root / "devsan/runtime";
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
    return core::failure(fmt::format("{}, but its headers are missing: no {}; install LibTorch with "
                                     "its headers",
                                     what, (include / "ATen/core/Tensor.h").string()));
  core::Result<fs::path> compiler = findCompiler(sources);
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
  recipe.directory = runtimeCache() / keyOf(recipe);
  if (isIntact(recipe.library()))
    return recipe.library();
  fs::create_directories(recipe.directory, error);
  FileLock lock(recipe.directory / "lock");
  if (!lock.held())
    return core::failure(fmt::format("{}, but {} cannot be written: {}; set XDG_CACHE_HOME to a "
                                     "folder that can",
                                     what, recipe.directory.string(), std::strerror(errno)));
  if (isIntact(recipe.library()))
    return recipe.library();
  if (fs::exists(recipe.library(), error))
    std::fprintf(stderr, "devsan: %s is damaged and is built again\n", recipe.library().c_str());
  if (core::Result<void> built = build(recipe); !built)
    return core::failure(fmt::format("{}, and that failed: {}", what, built.error().message));
  return recipe.library();
}

std::vector<CacheEntry> cachedLibraries() {
  std::vector<CacheEntry> entries;
  std::error_code error;
  for (const auto &file : fs::recursive_directory_iterator(runtimeCache(), error)) {
    if (file.path().extension() != ".so")
      continue;
    const std::string seal = contents(file.path().string() + ".seal").value_or("");
    std::string torch = seal.substr(std::min(seal.find('\n') + 1, seal.size()));
    while (torch.ends_with('\n'))
      torch.pop_back();
    entries.push_back({file.path(), torch, isIntact(file.path())});
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
  if (torch.id.empty())
    return fail("--torch: no " + torch.library.string() +
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
