#include "analyzer/run/changes.h"

#include "analyzer/files/git_repository.h"
#include "analyzer/files/source_files.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <deque>
#include <limits>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr std::pair<unsigned, unsigned> kAllLines = {0, std::numeric_limits<unsigned>::max()};

// Git quotes names with unusual characters as C strings.
std::string unquoted(StringRef name) {
  if (!name.consume_front("\"") || !name.consume_back("\""))
    return name.str();
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\' || i + 1 == name.size()) {
      result += name[i];
      continue;
    }
    const char escape = name[++i];
    unsigned code = 0;
    if (escape >= '0' && escape <= '7' && !name.substr(i, 3).getAsInteger(8, code)) {
      result += static_cast<char>(code);
      i += 2;
    } else {
      static constexpr StringRef kLetters = "abtnvfr";
      const std::size_t letter = kLetters.find(escape);
      result += letter == StringRef::npos ? escape : static_cast<char>('\a' + letter);
    }
  }
  return result;
}

// Of files: those that hold .git, each once.
core::Result<std::set<std::string>> repositoriesOf(const std::vector<std::string> &files) {
  std::set<std::string> repositories;
  std::set<StringRef> folders;
  for (const std::string &file : files) {
    if (!folders.insert(llvm::sys::path::parent_path(file)).second)
      continue;
    std::string repository = nearestFolderWith(file, {".git"});
    if (repository.empty())
      return core::failure(file + " lies in no repository of git");
    repositories.insert(std::move(repository));
  }
  return repositories;
}

} // namespace

core::Result<Changes> Changes::since(const std::string &revision,
                                     const std::vector<std::string> &files) {
  const auto failure = [&](const std::string &message) {
    return core::failure("--diff=" + revision + ": " + message);
  };
  const auto repositories = repositoriesOf(files);
  if (!repositories)
    return failure(repositories.error().message);
  Changes changes;
  for (const std::string &repository : *repositories)
    if (auto added = changes.addRepository(repository, revision); !added)
      return failure((repositories->size() > 1 ? repository + ": " : "") + added.error().message);
  return changes;
}

core::Result<void> Changes::addRepository(const std::string &repository,
                                          const std::string &revision) {
  core::Result<GitRepository> git = GitRepository::open(repository);
  if (!git)
    return tl::unexpected(git.error());
  // What others have changed since the branches parted is not this change.
  const core::ProgramOutput parting = git->ask({"merge-base", revision, "HEAD"});
  if (parting.status < 0)
    return core::failure(core::firstLine(parting.errors));
  const std::string base = parting.status == 0 ? core::firstLine(parting.output) : revision;
  const auto names = [](StringRef output) {
    llvm::SmallVector<StringRef> list;
    output.split(list, '\0', -1, /*KeepEmpty=*/false);
    return list;
  };
  const auto diff = [&](std::vector<std::string> options,
                        const std::vector<std::string> &paths) -> core::Result<std::string> {
    options.insert(options.begin(),
                   {"diff", "--no-renames", "--no-relative", "--ignore-submodules=all"});
    options.insert(options.end(), {base, "--"});
    llvm::append_range(options, paths);
    core::ProgramOutput told = git->ask(options);
    if (told.status == 0)
      return std::move(told.output);
    return core::failure(
        "git says: " +
        (told.errors.empty() ? "nothing, with status " + std::to_string(told.status)
                             : core::firstLine(told.errors)) +
        (git->isShallow() ? "; the clone is shallow: fetch its history (git fetch --unshallow, "
                            "or fetch-depth: 0 of actions/checkout)"
                          : ""));
  };
  const core::Result<std::string> changed = diff({"--name-only", "-z"}, {});
  if (!changed)
    return tl::unexpected(changed.error());
  for (const StringRef name : names(*changed))
    addWholeFile(repository + "/" + name.str());
  // Other files are seldom included, and may be large: they are not compared line by line.
  std::vector<std::string> code;
  for (const std::string_view extension : codeExtensions())
    code.push_back("*" + std::string(extension));
  const core::Result<std::string> lines =
      diff({"--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/",
            "--dst-prefix=b/"},
           code);
  if (!lines)
    return tl::unexpected(lines.error());
  addDiff(*lines, repository);
  const auto listed = [&](std::vector<std::string> options) -> core::Result<std::string> {
    options.insert(options.begin(), {"ls-files", "-z"});
    core::ProgramOutput told = git->ask(std::move(options));
    if (told.status == 0)
      return std::move(told.output);
    return core::failure("git ls-files: " + core::firstLine(told.errors) +
                         ": which files are new is not known");
  };
  const core::Result<std::string> untracked = listed({"--others", "--exclude-standard"});
  if (!untracked)
    return tl::unexpected(untracked.error());
  for (const StringRef name : names(*untracked))
    addWholeFile(repository + "/" + name.str());
  // Git does not look at files that the index calls unchanged (small letters) or left out of the
  // working tree (S).
  const core::Result<std::string> marked = listed({"-v"});
  if (!marked)
    return tl::unexpected(marked.error());
  for (const StringRef entry : names(*marked)) {
    const auto [mark, name] = entry.split(' ');
    const std::string file = repository + "/" + name.str();
    if ((mark == "S" || mark == mark.lower()) && llvm::sys::fs::exists(file))
      addWholeFile(file);
  }
  return {};
}

void Changes::addDiff(std::string_view diff, const std::string &repository) {
  std::vector<std::pair<unsigned, unsigned>> *ranges = nullptr;
  unsigned hunk_lines = 0; // of the hunk that have not come yet: they may look like headers
  StringRef rest(diff.data(), diff.size());
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (hunk_lines && (line.starts_with("+") || line.starts_with("-"))) {
      --hunk_lines;
      continue;
    }
    if (line.starts_with("\\"))
      continue; // no newline at the end
    hunk_lines = 0;
    if (line.consume_front("diff --git ")) { // a/NAME b/NAME
      const std::string name = unquoted(line.substr(line.size() / 2 + 1));
      ranges = &lines_[repository + name.substr(std::min<std::size_t>(name.size(), 1))];
      ranges->clear();
    } else if (ranges && line.starts_with("Binary files ")) {
      // Attributes or a zero byte make it that to git, not to a compiler.
      ranges->push_back(kAllLines);
    } else if (ranges && line.consume_front("@@ -")) {
      const auto count = [](StringRef &text) {
        unsigned number = 1;
        if (text.consume_front(",") && text.consumeInteger(10, number))
          number = 0;
        return number;
      };
      unsigned from = 0, first = 0;
      if (line.consumeInteger(10, from))
        continue;
      const unsigned removed = count(line);
      if (!line.consume_front(" +") || line.consumeInteger(10, first))
        continue;
      const unsigned added = count(line);
      hunk_lines = removed + added;
      // Where lines were only taken away, what was around them is touched.
      ranges->emplace_back(first, added ? first + added - 1 : first + 1);
    }
  }
}

void Changes::addWholeFile(const std::string &file) {
  lines_[file].push_back(kAllLines);
}

bool Changes::touches(const std::string &file, unsigned first, unsigned last) const {
  const auto found = lines_.find(file);
  return found != lines_.end() && std::ranges::any_of(found->second, [&](const auto &range) {
           return range.first <= last && first <= range.second;
         });
}

bool Changes::touches(const core::Finding &finding, const FindingContext &context) const {
  const auto at = [&](const core::Location &place) {
    return touches(place.file, place.line, place.line);
  };
  return std::ranges::any_of(finding.locations, at) ||
         std::ranges::any_of(finding.related, at, &core::Related::location) ||
         (context.first_line && !finding.locations.empty() &&
          touches(finding.locations.front().file, context.first_line, context.last_line));
}

const std::vector<Include> &Includes::in(const std::string &file) {
  auto [entry, is_new] = known_.try_emplace(file);
  if (!is_new)
    return entry->second;
  return entry->second = includesOf(file);
}

bool Includes::reaches(const CompileCommand &command, const Changes &changes) {
  return walk(command, [&](const std::string &file) { return changes.touchesFile(file); });
}

const std::set<std::string> &Includes::reachedFrom(const CompileCommand &command) {
  auto [entry, is_new] = reached_.try_emplace(command.file);
  if (is_new)
    walk(command, [&](const std::string &file) {
      entry->second.insert(file);
      return false;
    });
  return entry->second;
}

bool Includes::walk(const CompileCommand &command,
                    llvm::function_ref<bool(const std::string &file)> visit) {
  std::vector<std::string> folders;
  std::deque<std::string> open = {command.file};
  for (const std::vector<std::string> *list : {&command.local, &command.common})
    for (std::size_t i = 0; i + 1 < list->size(); ++i) {
      const StringRef option = (*list)[i];
      if (option == "-I" || option == "-iquote" || option == "-idirafter")
        folders.push_back((*list)[++i]);
      else if (option == "-include" || option == "-imacros")
        open.push_back((*list)[++i]);
    }
  std::set<std::string> seen(open.begin(), open.end());
  while (!open.empty()) {
    const std::string file = open.front();
    open.pop_front();
    if (visit(file))
      return true;
    for (const Include &include : in(file)) {
      const auto add = [&](StringRef folder) {
        llvm::SmallString<256> path(folder);
        llvm::sys::path::append(path, include.spelling);
        llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
        if (!llvm::sys::fs::exists(path))
          return false;
        if (seen.insert(std::string(path)).second)
          open.push_back(std::string(path));
        return true;
      };
      if (include.angled || !add(llvm::sys::path::parent_path(file)))
        llvm::any_of(folders, add);
    }
  }
  return false;
}

} // namespace devsan::analyzer
