#include "analyzer/files/project_devices.h"

#include "analyzer/files/build_scripts.h"
#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// More files than a program without devices has: nobody waits for them to be read.
constexpr std::size_t kMaxFiles = 5'000;
constexpr std::size_t kMaxLinks = 5'000'000; // between files, over all programs

// A program that shows or tests what others are to use.
bool isOfExample(StringRef path) {
  const auto names_example = [](StringRef name) {
    return llvm::StringSwitch<bool>(name)
        .Cases({"test", "tests", "example", "examples", "sample", "samples", "demo", "demos"}, true)
        .Cases({"benchmark", "benchmarks", "bench", "tutorial", "tutorials", "unittests"}, true)
        .Default(false);
  };
  const std::string lower = path.lower();
  llvm::SmallVector<StringRef> parts;
  StringRef(lower).rsplit('.').first.split(parts, '/');
  return llvm::any_of(parts, names_example) ||
         (!parts.empty() && (names_example(parts.back().split('_').first) ||
                             names_example(parts.back().rsplit('_').second)));
}

} // namespace

DeviceUse ProjectDevices::useAround(const std::string &file) {
  const std::string root = projectRoot(file);
  if (root.empty())
    return DeviceUse::all();
  const auto [known, is_new] = by_root_.try_emplace(root);
  Project &project = known->second;
  if (is_new)
    project = read(root);
  if (project.programs.empty())
    return project.use;
  const auto found = project.by_path.find(file);
  if (found != project.by_path.end() && project.files[found->second].is_part)
    return project.use & project.files[found->second].use_of_programs;
  // Whose it is, is not seen.
  DeviceUse use = project.use;
  use.chooseAny();
  return use;
}

ProjectDevices::Project ProjectDevices::read(const std::string &root) {
  Project project;
  DeviceUse of_build;
  bool is_called_from_elsewhere = false;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    // What is built for Python is called from there.
    const StringRef name = StringRef(path).rsplit('/').second;
    is_called_from_elsewhere |= name == "setup.py" || name == "pyproject.toml";
    if (isCode(path)) {
      project.by_name[name].push_back(project.files.size());
      project.by_path[path] = project.files.size();
      project.files.push_back({path, deviceWordsIn(textOf(path)), isHeader(path), {}, {}, {}});
      project.files.back().words.use.any |= isCudaFile(path);
    } else if (isBuildFile(path)) {
      of_build = of_build | deviceUseOfBuild(path, textOf(path));
    }
    return !is_called_from_elsewhere && project.files.size() <= kMaxFiles;
  });
  if (is_called_from_elsewhere || project.files.size() > kMaxFiles)
    return {};
  bool has_main = false, has_own_main = false, is_library = false, has_unknown = false;
  for (const File &file : project.files) {
    has_main |= file.words.has_main;
    has_own_main |= file.words.has_main && !isOfExample(StringRef(file.path).substr(root.size()));
    is_library |= file.words.is_library;
    has_unknown |= file.words.includes_unknown;
  }
  // Those who use it have devices of their own, and what is not seen may choose any.
  if (!has_own_main || has_unknown)
    of_build.chooseAny();
  DeviceUse of_all = of_build;
  for (const File &file : project.files)
    of_all = of_all | file.words.use;
  if (has_main && !is_library)
    project.use = of_all;
  if (!of_all.any && !is_library)
    return project;
  project.link();
  std::size_t links = 0;
  for (unsigned i = 0; i < project.files.size(); ++i)
    if (project.files[i].words.has_main && links < kMaxLinks)
      links += project.addProgram(i);
  if (links >= kMaxLinks) {
    project.programs.clear();
    project.use.chooseAny();
  }
  std::vector<bool> is_used(project.files.size());
  for (const auto &[use, files] : project.programs)
    for (const unsigned i : files)
      is_used[i] = true;
  // What is in no program here may be used by any of it from elsewhere, and so may what a program
  // has beside what is seen.
  DeviceUse of_others = has_unknown ? DeviceUse::all() : of_build;
  for (unsigned i = 0; i < project.files.size(); ++i)
    if (!is_used[i])
      of_others = of_others | project.files[i].words.use;
  for (const auto &[use, files] : project.programs)
    for (const unsigned i : files) {
      File &file = project.files[i];
      file.use_of_programs = file.use_of_programs | use | of_others;
      file.is_part = true;
    }
  return project;
}

void ProjectDevices::Project::link() {
  for (unsigned i = 0; i < files.size(); ++i)
    for (const std::string &spelling : files[i].words.includes)
      for (const unsigned other : included(files[i], spelling)) {
        files[i].includes.push_back(other);
        if (files[other].is_header && !files[i].words.has_main)
          files[other].included_by.push_back(i);
      }
}

// The file beside it, or all of that name.
std::vector<unsigned> ProjectDevices::Project::included(const File &by,
                                                        const std::string &spelling) const {
  namespace fs = std::filesystem;
  const auto found = by_name.find(fs::path(spelling).filename().string());
  if (found == by_name.end())
    return {};
  const std::string beside =
      (fs::path(by.path).parent_path() / spelling).lexically_normal().string();
  StringRef tail = spelling;
  while (tail.consume_front("./") || tail.consume_front("../"))
    ;
  const std::string end = ("/" + tail).str();
  std::vector<unsigned> same_end;
  const bool any_end = llvm::none_of(
      found->second, [&](unsigned i) { return StringRef(files[i].path).ends_with(end); });
  for (const unsigned i : found->second) {
    if (files[i].path == beside)
      return {i};
    // A folder may have another name where the headers are installed.
    if (any_end || StringRef(files[i].path).ends_with(end))
      same_end.push_back(i);
  }
  return same_end;
}

// With the headers that it includes, and every source that may hold what these declare: that
// includes one of them, itself or by others. Returns how much was looked at for it.
std::size_t ProjectDevices::Project::addProgram(unsigned main) {
  std::vector<unsigned> part{main};
  std::vector<bool> seen(files.size());
  seen[main] = true;
  DeviceUse use;
  std::size_t links = 0;
  for (std::size_t next = 0; next < part.size() && links < kMaxLinks; ++next) {
    const File &file = files[part[next]];
    links += 1 + file.includes.size() + file.included_by.size();
    use = use | (file.words.is_library ? DeviceUse::all() : file.words.use);
    for (const std::vector<unsigned> *others : {&file.includes, &file.included_by})
      for (const unsigned other : *others)
        if (!seen[other]) {
          seen[other] = true;
          part.push_back(other);
        }
  }
  programs.emplace_back(use, std::move(part));
  return links;
}

} // namespace devsan::analyzer
