#include "analyzer/files/git_repository.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Process.h>

#include <filesystem>
#include <fstream>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;
using llvm::StringRef;

// Of the settings those that say how files are compared and what @{upstream}
// is. None is a command.
constexpr char kKeptSettings[] =
    "^(core\\.(autocrlf|eol|filemode|ignorecase|symlinks|checkstat|trustctime)"
    "|extensions\\.(objectformat|refstorage)"
    "|branch\\..*\\.(remote|merge)|remote\\..*\\.fetch)$";

// Of a worktree, and of the repository that it belongs to.
constexpr const char *kOfWorktree[] = {"ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "logs/HEAD"};
constexpr const char *kOfRepository[] = {"packed-refs", "reftable", "logs/refs", "info", "shallow"};
// Some 10 million files.
constexpr std::uintmax_t kLargestIndex = std::uintmax_t{1} << 30;
constexpr const char *kReferencesOfWorktree[] = {"bisect", "worktree", "rewritten"};

// What a small file says, seen from its folder.
fs::path pathNamedIn(const fs::path &file, StringRef prefix) {
  const std::string line = core::firstLine(textOf(file));
  StringRef name = line;
  if (!name.consume_front(prefix) || name.trim().empty())
    return {};
  return file.parent_path() / name.trim().str();
}

void link(const fs::path &target, const fs::path &link) {
  std::error_code ignored;
  if (fs::is_regular_file(target, ignored) || fs::is_directory(target, ignored))
    fs::create_symlink(target, link, ignored);
}

void linkEach(const fs::path &from, const fs::path &to,
              llvm::function_ref<bool(StringRef name)> is_wanted) {
  std::error_code error;
  for (fs::directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error))
    if (const fs::path name = entry->path().filename(); is_wanted(name.native()))
      link(entry->path(), to / name);
}

// In a file of settings. Whatever it holds is data there.
std::string quoted(StringRef value) {
  std::string result = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? "\\n" : std::string(1, c);
  }
  return result + '"';
}

// As `git config --null --get-regexp` tells them.
void writeSettings(StringRef told, std::ostream &config) {
  llvm::SmallVector<StringRef> settings;
  told.split(settings, '\0', -1, /*KeepEmpty=*/false);
  for (const StringRef setting : settings) {
    const auto [key, value] = setting.split('\n');
    const auto [place, name] = key.rsplit('.');
    const auto [section, subsection] = place.split('.');
    config << "[" << section.str();
    if (place.contains('.'))
      config << " " << quoted(subsection);
    config << "]\n\t" << name.str();
    if (setting.contains('\n')) // else it is true
      config << " = " << quoted(value);
    config << "\n";
  }
}

} // namespace

core::Result<GitRepository> GitRepository::open(const std::string &root) {
  GitRepository repository(root);
  if (core::Result<void> prepared = repository.prepare(); !prepared)
    return tl::unexpected(prepared.error());
  return repository;
}

core::Result<void> GitRepository::prepare() {
  std::error_code error;
  fs::path own = fs::path(root_) / ".git";
  if (!fs::is_directory(own, error))
    own = pathNamedIn(own, "gitdir:");
  fs::path common = own;
  if (const fs::path named = pathNamedIn(own / "commondir", ""); !named.empty())
    common = named;
  const std::string head = core::firstLine(textOf(own / "HEAD"));
  if (head.empty())
    return core::failure(root_ + "/.git: no repository of git");

  ours_ = std::make_unique<TemporaryFolder>("devsan-git");
  folder_ = ours_->path();
  if (folder_.empty())
    return core::failure("cannot make a folder for temporary files; set TMPDIR to one that you "
                         "may write to");
  const fs::path ours = folder_;
  std::ofstream(ours / "HEAD") << head << "\n";
  std::ofstream(ours / "config") << "[core]\n\trepositoryformatversion = 1\n\tbare = false\n";
  for (const char *name : {"objects", "refs"}) // by which git knows its folders
    fs::create_directory(ours / name, error);
  fs::create_directory(ours / "logs", error);
  for (const char *name : kOfWorktree)
    link(own / name, ours / name);
  for (const char *name : kOfRepository)
    link(common / name, ours / name);
  for (const char *name : kReferencesOfWorktree)
    link(own / "refs" / name, ours / "refs" / name);
  linkEach(common / "refs", ours / "refs",
           [](StringRef name) { return !llvm::is_contained(kReferencesOfWorktree, name); });
  linkEach(own, ours, [](StringRef name) { return name.starts_with("sharedindex."); });
  objects_ = common / "objects";
  // A copy: git writes what it learns about the files into it. A hook before a
  // commit sees what is to be committed. Git compares the time of the index
  // with those of the files.
  const fs::path index =
      fs::path(root_) / llvm::sys::Process::GetEnv("GIT_INDEX_FILE").value_or(own / "index");
  if (fs::is_regular_file(index, error)) {
    if (fs::file_size(index, error) > kLargestIndex)
      return core::failure(index.string() + ": over " + std::to_string(kLargestIndex >> 20) +
                           " MB, more than is read of an index of git");
    fs::copy_file(index, ours / "index", error);
    fs::last_write_time(ours / "index", fs::last_write_time(index, error), error);
  }
  copySettings(common / "config");
  return {};
}

void GitRepository::copySettings(const std::string &of_repository) const {
  const auto kept_in = [this](std::vector<std::string> where, Settings settings) {
    where.insert(where.begin(), "config");
    where.insert(where.end(), {"--null", "--get-regexp", kKeptSettings});
    return ask(std::move(where), settings).output;
  };
  const std::string of_user = kept_in({}, Settings::kUsers);
  // Git's default lies in the user's home, which git does not see later.
  fs::path ignored = core::firstLine(
      ask({"config", "--type=path", "--get", "core.excludesFile"}, Settings::kUsers).output);
  if (ignored.empty()) {
    const fs::path home = llvm::sys::Process::GetEnv("HOME").value_or("");
    ignored = fs::path(llvm::sys::Process::GetEnv("XDG_CONFIG_HOME").value_or(home / ".config")) /
              "git" / "ignore";
  }
  std::error_code error;
  const std::string told =
      fs::is_regular_file(of_repository, error)
          ? kept_in({"--file", of_repository, "--no-includes"}, Settings::kOurs)
          : std::string();
  std::ofstream config(fs::path(folder_) / "config", std::ios::app);
  writeSettings(of_user, config);
  if (ignored.is_absolute())
    config << "[core]\n\texcludesFile = " << quoted(ignored.string()) << "\n";
  writeSettings(told, config);
}

core::ProgramOutput GitRepository::ask(std::vector<std::string> arguments,
                                       Settings settings) const {
  arguments.insert(arguments.begin(), {"-C", root_, "-c", "core.quotePath=true"});
  core::EnvironmentChanges changes = {{"GIT_DIR", folder_},
                                      {"GIT_WORK_TREE", root_},
                                      {"GIT_OBJECT_DIRECTORY", objects_},
                                      {"GIT_INDEX_FILE", std::nullopt},
                                      {"GIT_COMMON_DIR", std::nullopt},
                                      {"GIT_EXTERNAL_DIFF", std::nullopt},
                                      {"GIT_DIFF_OPTS", std::nullopt},
                                      // A repository can say that a commit is another one.
                                      {"GIT_NO_REPLACE_OBJECTS", "1"},
                                      {"GIT_GRAFT_FILE", "/dev/null"},
                                      {"GIT_ALLOW_PROTOCOL", ""},
                                      {"GIT_TERMINAL_PROMPT", "0"}};
  if (settings == Settings::kOurs)
    changes.insert(changes.end(), {{"GIT_CONFIG_GLOBAL", "/dev/null"},
                                   {"GIT_CONFIG_NOSYSTEM", "1"},
                                   {"GIT_CONFIG_COUNT", std::nullopt},
                                   {"GIT_CONFIG_PARAMETERS", std::nullopt},
                                   // Before git 2.32 these are the way.
                                   {"HOME", folder_},
                                   {"XDG_CONFIG_HOME", folder_}});
  return core::runProgram("git", arguments, changes);
}

bool GitRepository::tracks(const std::string &file) const {
  return !ask({"ls-files", "--", ":(literal)" + fs::path(file).lexically_relative(root_).string()})
              .output.empty();
}

bool GitRepository::isShallow() const {
  std::error_code error;
  return fs::exists(fs::path(folder_) / "shallow", error);
}

} // namespace devsan::analyzer
