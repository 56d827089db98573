#include "analyzer/tool/git_repository.h"

#include "analyzer/tool/source_files.h"
#include "core/whole_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Process.h>

#include <filesystem>
#include <fstream>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;
using llvm::StringRef;

// Of the repository's settings those that say how its files are compared. None is a command.
constexpr char kKeptSettings[] =
    "^(core\\.(autocrlf|eol|filemode|ignorecase|symlinks|checkstat|trustctime)"
    "|extensions\\.(objectformat|refstorage))$";

// Of a worktree, and of the repository that it belongs to.
constexpr const char *kOfWorktree[] = {"ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD"};
constexpr const char *kOfRepository[] = {"refs", "packed-refs", "reftable",
                                         "logs", "info",        "shallow"};

// What a small file says, seen from its folder.
fs::path pathNamedIn(const fs::path &file, StringRef prefix) {
  const std::string line = firstLine(textOf(file));
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

} // namespace

GitRepository::GitRepository(GitRepository &&other) noexcept
    : root_(std::move(other.root_)), folder_(std::exchange(other.folder_, {})),
      objects_(std::move(other.objects_)), index_(std::move(other.index_)) {}

GitRepository::~GitRepository() {
  std::error_code ignored;
  if (!folder_.empty())
    fs::remove_all(folder_, ignored);
}

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
  const std::string head = firstLine(textOf(own / "HEAD"));
  if (head.empty())
    return core::failure(root_ + "/.git: no repository of git");

  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("devsan-git", folder))
    return core::failure("cannot make a folder for temporary files; set TMPDIR to one that you "
                         "may write to");
  folder_ = std::string(folder);
  const fs::path ours = folder_;
  std::ofstream(ours / "HEAD") << head << "\n";
  std::ofstream(ours / "config") << "[core]\n\trepositoryformatversion = 1\n\tbare = false\n";
  for (const char *name : kOfWorktree)
    link(own / name, ours / name);
  for (const char *name : kOfRepository)
    link(common / name, ours / name);
  fs::create_directory(ours / "objects", error); // by which git knows its folders
  fs::create_directory(ours / "refs", error);
  for (fs::directory_iterator entry(own, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().filename().string().starts_with("sharedindex."))
      link(entry->path(), ours / entry->path().filename());
  objects_ = common / "objects";
  // A hook before a commit sees what is to be committed.
  index_ = fs::path(root_) / llvm::sys::Process::GetEnv("GIT_INDEX_FILE").value_or(own / "index");
  if (!fs::is_regular_file(index_, error))
    index_ = ours / "index";
  copySettings(common / "config");
  return {};
}

void GitRepository::copySettings(const std::string &from) const {
  std::error_code error;
  if (!fs::is_regular_file(from, error))
    return;
  const ProgramOutput told =
      ask({"config", "--file", from, "--no-includes", "--null", "--get-regexp", kKeptSettings});
  llvm::SmallVector<StringRef> settings;
  StringRef(told.output).split(settings, '\0', -1, /*KeepEmpty=*/false);
  std::ofstream config(fs::path(folder_) / "config", std::ios::app);
  for (const StringRef setting : settings) {
    const auto [key, value] = setting.split('\n');
    const auto [section, name] = key.split('.');
    if (llvm::all_of(value, llvm::isAlnum))
      config << "[" << section.str() << "]\n\t" << name.str() << " = " << value.str() << "\n";
  }
}

ProgramOutput GitRepository::ask(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {"-C", root_, "-c", "core.quotePath=true"});
  return runProgram("git", arguments,
                    {{"GIT_DIR", folder_},
                     {"GIT_WORK_TREE", root_},
                     {"GIT_OBJECT_DIRECTORY", objects_},
                     {"GIT_INDEX_FILE", index_},
                     {"GIT_COMMON_DIR", std::nullopt},
                     {"GIT_EXTERNAL_DIFF", std::nullopt},
                     {"GIT_DIFF_OPTS", std::nullopt},
                     {"GIT_OPTIONAL_LOCKS", "0"}, // the index is not ours to write
                     {"GIT_ALLOW_PROTOCOL", ""},
                     {"GIT_TERMINAL_PROMPT", "0"}});
}

bool GitRepository::isShallow() const {
  std::error_code error;
  return fs::exists(fs::path(folder_) / "shallow", error);
}

} // namespace devsan::analyzer
