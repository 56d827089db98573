#include "analyzer/programs/project_programs.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/built_sources.h"
#include "analyzer/programs/live_code.h"
#include "analyzer/programs/words.h"
#include "core/system/whole_file.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

constexpr std::size_t kMaxLinks = 5'000'000; // between files, over all programs

// None where the project has too much to look at, or no program of its own.
std::optional<CalledCode> readCalledCode(const std::string &root, const llvm::StringSet<> &unbuilt,
                                         const llvm::StringSet<> &unit_tests, LiveTexts &live,
                                         bool has_examples) {
  CalledCode called;
  bool has_main = false;
  std::size_t others = 0;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    if (unbuilt.contains(path) || unit_tests.contains(path))
      return true;
    if (isCode(path)) {
      const std::string &text = live.of(path);
      const StringRef inside = StringRef(path).substr(root.size());
      const CodeOutline outline = outlineOf(text);
      has_main |= !isHeader(path) && !(has_examples ? isOfExample : isOfTest)(inside) &&
                  llvm::any_of(outline.parts, [](const CodeOutline::Part &part) {
                    return part.name == "main" && part.scope.empty() && part.last_line;
                  });
      called.addCode(path, outline);
      called.addDeadLines(path, live.written(path), text);
    } else if (!callsNothing(path)) {
      const std::string text = core::readFile(path, kMaxOtherSize).value_or("");
      if (text.find('\0') == std::string::npos && !isOtherText(path, text))
        called.addNames(namesIn(text));
      ++others;
    }
    return others <= kMaxOtherFiles;
  });
  if (others > kMaxOtherFiles || !has_main)
    return std::nullopt;
  called.settle();
  return called;
}

bool isOfFlag(char c) {
  return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.' || c == '/';
}

} // namespace

ProjectPrograms::Project *ProjectPrograms::projectOf(const std::string &file) {
  const auto [of_file, is_new_file] = roots_.try_emplace(file);
  std::string &root = of_file->second;
  if (is_new_file)
    root = projectRoot(file);
  if (root.empty())
    return nullptr;
  const auto [known, is_new] = by_root_.try_emplace(root);
  if (is_new)
    known->second = read(root);
  return &known->second;
}

bool ProjectPrograms::isOfProgram(const std::string &file) {
  const Project *project = projectOf(file);
  if (!project || project->has_interface)
    return false;
  const auto found = project->by_path.find(file);
  return found != project->by_path.end() && project->files[found->second].is_of_own_program;
}

bool ProjectPrograms::mayRun(const std::string &file, const std::string &path, unsigned line,
                             StringRef by_name, bool is_built) {
  Project *project = projectOf(file);
  if (!project)
    return true;
  if (project->package)
    return is_built || !project->package->isUnbuilt(path);
  return (is_built || !project->unbuilt.contains(path)) &&
         (!project->called || project->called->isReachable(path, line, by_name));
}

bool ProjectPrograms::isOfUnitTest(const std::string &file, const std::string &path) {
  const Project *project = projectOf(file);
  return project && project->unit_tests.contains(path);
}

bool ProjectPrograms::mayCallBeside(const std::string &file, StringRef scope, StringRef name) {
  const Project *project = projectOf(file);
  return !project || !project->called || project->called->isSaidBeside(scope, name);
}

DeviceUse ProjectPrograms::useAround(const std::string &file) {
  Project *project = projectOf(file);
  if (!project)
    return DeviceUse::all();
  if (project->package && !project->package->namesDevices())
    return {};
  if (project->programs.empty())
    return project->use;
  const auto found = project->by_path.find(file);
  if (found != project->by_path.end() && project->files[found->second].is_part)
    return project->use & project->files[found->second].use_of_programs;
  // Whose it is, is not seen: one of the programs, if others have none of this.
  DeviceUse use = project->use;
  if (project->has_callers)
    use.chooseAny();
  return use;
}

ProjectPrograms::Project ProjectPrograms::read(const std::string &root) {
  ProjectFiles below = filesBelow(root);
  const auto &[code, builds, packages, others] = below;
  if (code.size() > kMaxProjectFiles)
    return {};
  Project project;
  // What is built for Python is called from there.
  if (llvm::any_of(packages, [&](const std::string &script) { return reaches(script, root); })) {
    project.package.emplace(std::move(below));
    return project;
  }
  // A package below the root is a project of its own: its code counts for who includes it.
  const auto is_packaged = [&](StringRef path) {
    return llvm::any_of(packages, [&](StringRef script) {
      return path.starts_with(script.drop_back(llvm::sys::path::filename(script).size()));
    });
  };
  const auto add = [&](const std::string &path, bool is_header, DeviceWords words) {
    project.by_path.try_emplace(path, project.files.size());
    project.by_name[llvm::sys::path::filename(path)].push_back(project.files.size());
    words.use.any |= isCudaFile(path);
    if (is_packaged(path))
      words.has_main = words.is_library = false;
    project.files.push_back({path, std::move(words), is_header, {}, {}, {}});
  };
  LiveTexts live(below);
  std::vector<DeviceWords> words_of_code;
  for (const std::string &path : code) {
    words_of_code.push_back(deviceWordsIn(live.of(path)));
    // It may be what saved the file that is loaded now, even if it is left out.
    words_of_code.back().use.saves |= StringRef(live.written(path)).contains("torch::save(");
  }
  project.unbuilt = unbuiltSources(below, words_of_code);
  for (std::size_t i = 0; i < code.size(); ++i)
    if (!project.unbuilt.contains(code[i]))
      add(code[i], isHeader(code[i]), std::move(words_of_code[i]));
  // `net.inl` is code if code includes it.
  for (std::size_t i = 0; i < project.files.size() && project.files.size() <= kMaxProjectFiles; ++i)
    for (const std::string &spelling : std::vector(project.files[i].words.includes))
      if (const auto named = others.find(llvm::sys::path::filename(spelling));
          named != others.end())
        for (const std::string &path : named->second)
          if (!project.by_path.contains(path))
            add(path, /*is_header=*/true, deviceWordsIn(live.of(path)));
  project.link();
  project.findTorch();
  project.findUnitTests(root);
  // A build speaks of what lies below it, or of what it names; a script of anything.
  llvm::StringSet<> torch_folders, torch_names;
  for (const File &file : project.files)
    if (file.words.names_torch) {
      torch_names.insert(llvm::sys::path::filename(file.path));
      for (StringRef folder = llvm::sys::path::parent_path(file.path);
           folder.size() >= root.size() && torch_folders.insert(folder).second;)
        folder = llvm::sys::path::parent_path(folder);
    }
  const llvm::StringSet<> build_paths(llvm::from_range, builds);
  const auto is_of_torch = [&](StringRef path, StringRef text) {
    StringRef folder = llvm::sys::path::parent_path(path);
    // One above includes it.
    while (path.ends_with(".cmake") && folder.size() > root.size() &&
           !build_paths.contains((folder + "/CMakeLists.txt").str()))
      folder = llvm::sys::path::parent_path(folder);
    return path.ends_with(".py") || torch_folders.contains(folder) ||
           llvm::any_of(fileNamesIn(text), [&](StringRef name) {
             return torch_names.contains(name) &&
                    !project.by_path.contains((folder + "/" + name).str());
           });
  };
  Build built;
  for (const std::string &path : builds)
    if (const std::string text = textOf(path); !is_packaged(path) && is_of_torch(path, text))
      built |= buildOf(path, text);
  project.dropOwnOperators(built, others);
  bool has_main = false, is_library = false, has_unknown = false;
  for (const File &file : project.files) {
    has_main |= file.words.has_main;
    is_library |= file.words.is_library;
    has_unknown |= file.words.includes_unknown && file.words.names_torch;
  }
  project.has_interface = built.offers || is_library;
  // Examples show how to use a library; where there is none, they are the programs.
  bool has_own_source = false, has_own_header = false;
  for (const File &file : project.files)
    if (!isOfExample(StringRef(file.path).substr(root.size())))
      (file.is_header ? has_own_header : has_own_source) = true;
  const bool has_headers_alone = has_own_header && !has_own_source;
  project.has_examples = !built.makes_program || built.has_libraries || has_headers_alone;
  const auto is_for_show = [&](const File &file) {
    return (project.has_examples ? isOfExample
                                 : isOfTest)(StringRef(file.path).substr(root.size()));
  };
  const bool has_own_main = llvm::any_of(
      project.files, [&](const File &file) { return file.words.has_main && !is_for_show(file); });
  // Its host calls it, and has no tensors for it.
  const bool is_plugin =
      !has_own_main && built.makes_plugin && !built.offers && !built.makes_library && !is_library;
  const bool has_own_library = built.makes_library && has_own_main && built.makes_program;
  const bool is_for_others = built.offers || (built.makes_library && !has_own_library) ||
                             (built.makes_module && has_own_main && !is_library) ||
                             (!has_own_main && !is_plugin);
  project.has_callers = is_plugin || is_for_others;
  if (!project.has_callers)
    project.called =
        readCalledCode(root, project.unbuilt, project.unit_tests, live, project.has_examples);
  if (project.called)
    project.dropUnreached([&](const File &file) { return live.of(file.path); });
  project.findGpus();
  project.findNamedDevices();
  project.findExports();
  // Those who use it have devices of their own, and what is not seen may choose any.
  DeviceUse of_build{.stream = built.has_stream_per_thread};
  if (is_for_others || has_unknown)
    of_build.chooseAny();
  DeviceUse of_all = of_build;
  for (const File &file : project.files)
    of_all = of_all | file.words.use;
  if ((has_main || is_plugin) && !is_library)
    project.use = of_all;
  if (!of_all.any && !packages.empty() && !namesDevices(below))
    project.use = {};
  if (!of_all.any && !is_library)
    return project;
  std::size_t links = 0;
  for (unsigned i = 0; i < project.files.size(); ++i)
    if (project.files[i].words.has_main && links < kMaxLinks) {
      links += project.addProgram(i);
      if (!is_for_show(project.files[i]))
        for (const unsigned part : project.programs.back().second)
          project.files[part].is_of_own_program = true;
    }
  // Whoever loads a library has devices of its own; the programs beside it have not.
  std::vector<bool> is_used(project.files.size()), is_loaded(project.files.size());
  for (unsigned i = 0; i < project.files.size() && links < kMaxLinks; ++i)
    if (project.files[i].words.is_library) {
      links += project.addProgram(i);
      for (const unsigned part : project.programs.back().second)
        is_loaded[part] = true;
      project.programs.pop_back();
    }
  if (links >= kMaxLinks) {
    project.programs.clear();
    project.use.chooseAny();
  }
  for (const auto &[use, files] : project.programs)
    for (const unsigned i : files)
      is_used[i] = true;
  // What is in no program here may be used by any of it from elsewhere, and so may what a program
  // has beside what is seen.
  DeviceUse of_others = has_unknown ? DeviceUse::all() : of_build;
  for (unsigned i = 0; i < project.files.size(); ++i)
    if (!is_used[i] && !is_loaded[i])
      of_others = of_others | project.files[i].words.use;
  for (const auto &[use, files] : project.programs)
    for (const unsigned i : files) {
      File &file = project.files[i];
      file.use_of_programs =
          is_loaded[i] ? DeviceUse::all() : file.use_of_programs | use | of_others;
      file.is_part = true;
    }
  return project;
}

// What says a device in code that nothing comes to chooses none.
void ProjectPrograms::Project::dropUnreached(
    llvm::function_ref<std::string(const File &)> live_text) {
  for (File &file : files) {
    const std::string text = live_text(file);
    const std::string reached = called->reachedCode(file.path, text);
    if (reached == text)
      continue;
    DeviceWords words = deviceWordsIn(reached);
    words.use.any |= isCudaFile(file.path);
    words.use.saves |= file.words.use.saves; // at some time, what it loads now
    file.words.use = words.use;
    file.words.texts_of_devices = std::move(words.texts_of_devices);
    file.words.targets = std::move(words.targets);
    file.words.names_gpu = words.names_gpu;
  }
}

// Other libraries have GPUs of their own.
void ProjectPrograms::Project::findGpus() {
  for (File &file : files)
    file.words.use.any |= file.words.names_gpu && file.words.names_torch;
}

// `x.to(config.device)`, where that is a text: what it holds, a file of settings may say.
void ProjectPrograms::Project::findNamedDevices() {
  llvm::StringSet<> texts;
  for (const File &file : files)
    texts.insert_range(file.words.texts_of_devices);
  for (File &file : files)
    file.words.use.any |= llvm::any_of(
        file.words.targets, [&](const std::string &target) { return texts.contains(target); });
}

// What includes a file that has to do with tensors has so, too.
void ProjectPrograms::Project::findTorch() {
  std::vector<std::vector<unsigned>> includers(files.size());
  std::vector<unsigned> found;
  for (unsigned i = 0; i < files.size(); ++i) {
    for (const unsigned other : files[i].includes)
      includers[other].push_back(i);
    if (files[i].words.names_torch)
      found.push_back(i);
  }
  for (std::size_t next = 0; next < found.size(); ++next)
    for (const unsigned i : includers[found[next]])
      if (!std::exchange(files[i].words.names_torch, true))
        found.push_back(i);
}

// With their own headers, which these alone include.
void ProjectPrograms::Project::findUnitTests(StringRef root) {
  std::vector<unsigned> includers(files.size()), found;
  const auto inside = [&](unsigned i) { return StringRef(files[i].path).substr(root.size()); };
  for (unsigned i = 0; i < files.size(); ++i) {
    for (const unsigned other : files[i].includes)
      ++includers[other];
    if (isUnitTest(inside(i), files[i].words.includes))
      found.push_back(i);
  }
  for (std::size_t next = 0; next < found.size(); ++next)
    if (unit_tests.insert(files[found[next]].path).second)
      for (const unsigned other : files[found[next]].includes)
        if (--includers[other] == 0 && files[other].is_header && isOfTest(inside(other)))
          found.push_back(other);
}

// What is for others, itself or by a macro, where it has to do with tensors: a JSON library's own
// macros mark nothing of these.
void ProjectPrograms::Project::findExports() {
  llvm::StringSet<> macros;
  for (const File &file : files)
    macros.insert_range(file.words.export_macros);
  // `#define API HELPER_API`
  for (std::size_t before = 0; before != macros.size();) {
    before = macros.size();
    for (const File &file : files) {
      const std::string text = textOf(file.path);
      for (const StringRef line : llvm::split(text, '\n')) {
        if (!line.ltrim().starts_with("#") || !line.contains("define"))
          continue;
        const std::vector<StringRef> words = wordsOf(line);
        if (words.size() > 3 && words[1] == "define" &&
            llvm::any_of(llvm::drop_begin(words, 3),
                         [&](StringRef word) { return macros.contains(word); }))
          macros.insert(words[2]);
      }
    }
  }
  for (File &file : files) {
    if (!file.words.names_torch)
      continue;
    if (file.words.is_for_others)
      file.words.use.chooseAny();
    if (macros.empty())
      continue;
    const std::string text = textOf(file.path);
    StringRef before, last;
    for (const StringRef word : wordsOf(text)) {
      const StringRef asks = last == "(" ? before : last; // `#if defined(API)`
      const bool is_of_preprocessor =
          llvm::is_contained({"define", "undef", "ifdef", "ifndef", "defined"}, asks);
      if (macros.contains(word) && !is_of_preprocessor)
        file.words.use.chooseAny();
      before = std::exchange(last, word);
    }
  }
}

// What registers operators or binds functions to Python does so for nobody else where builds make
// programs alone, or operators are in a library that nothing here says how to load.
void ProjectPrograms::Project::dropOwnOperators(
    const Build &built, const llvm::StringMap<std::vector<std::string>> &others) {
  if (!built.makes_program || built.makes_loadable ||
      llvm::none_of(files, [](const File &file) { return file.words.is_library; }))
    return;
  if (built.makes_shared && llvm::any_of(files, [](const File &file) {
        return file.words.is_library && bindsToPython(textOf(file.path));
      }))
    return;
  for (const auto &other : others) {
    const bool compiles = !isDocument(other.getKey()) && !other.getKey().starts_with(".");
    if (!compiles && !built.makes_shared)
      continue;
    for (const std::string &path : other.getValue()) {
      const std::string text = core::readFile(path, kMaxOtherSize).value_or("");
      if (built.makes_shared
              ? containsOne(text, {"cpp_extension", "load_library", "CDLL", "dlopen"})
              : containsOne(text,
                            {"cpp_extension", "load_library", "/LD", "SharedLib", "SHARED_LIBS"}) ||
                    llvm::is_contained(runsOf(text, isOfFlag), "-shared"))
        return;
    }
  }
  for (File &file : files)
    file.words.is_library = false;
}

void ProjectPrograms::Project::link() {
  for (unsigned i = 0; i < files.size(); ++i)
    for (const std::string &spelling : files[i].words.includes)
      for (const unsigned other : included(files[i], spelling)) {
        files[i].includes.push_back(other);
        if (files[other].is_header && !files[i].words.has_main)
          files[other].included_by.push_back(i);
      }
}

// The file beside it, or all of that name.
std::vector<unsigned> ProjectPrograms::Project::included(const File &by,
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
std::size_t ProjectPrograms::Project::addProgram(unsigned main) {
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
