#include "analyzer/files/source_files.h"

#include "core/system/project_root.h"
#include "core/system/whole_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <set>
#include <sys/stat.h>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;

// More folders than a project that needs derived flags has; a walk that reaches it has left the
// project.
constexpr std::size_t kMaxHeaderFolders = 400;

// Of one run: each takes memory and time before it is looked at.
constexpr std::size_t kMaxSources = 100'000;

// A home directory under version control is no project.
constexpr std::size_t kMaxProjectFiles = 200'000;

constexpr std::array<std::string_view, 8> kExtensions = {".cpp", ".cc",  ".cxx", ".cu",
                                                         ".h",   ".hpp", ".cuh", ".hh"};
constexpr auto kSources = std::span(kExtensions).first<4>();
constexpr auto kHeaders = std::span(kExtensions).subspan<4>();

bool hasOneOf(std::span<const std::string_view> extensions, const fs::path &path) {
  return std::ranges::find(extensions, path.extension().string()) != extensions.end();
}

bool isSource(const fs::path &path) {
  return hasOneOf(kSources, path);
}
bool isForeignName(const std::string &name, bool third_party) {
  static const std::set<std::string> kBuilt = {"build",         "_build",         "dist",
                                               "node_modules",  "venv",           "__pycache__",
                                               "site-packages", "vcpkg_installed"};
  static const std::set<std::string> kThirdParty = {"third_party", "3rdparty", "third-party",
                                                    "thirdparty", "external"};
  return name.starts_with(".") || name.starts_with("cmake-build") || kBuilt.contains(name) ||
         (!third_party && kThirdParty.contains(llvm::StringRef(name).lower()));
}

// By which a folder of any name is a build or an environment. Empty where there is none.
fs::path markerIn(const fs::path &folder) {
  std::error_code ignored;
  for (const char *name : {"CMakeCache.txt", "pyvenv.cfg"})
    if (fs::exists(folder / name, ignored))
      return folder / name;
  return {};
}

// The error, if any, that broke the walk off.
template <typename Visit>
std::error_code walk(const fs::path &root, Visit visit, bool third_party = false,
                     std::vector<fs::path> *markers = nullptr) {
  std::error_code error;
  fs::recursive_directory_iterator entry(root, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) {
      if (isForeignName(entry->path().filename().string(), third_party)) {
        entry.disable_recursion_pending();
      } else if (fs::path marker = markerIn(entry->path()); !marker.empty()) {
        entry.disable_recursion_pending();
        if (markers)
          markers->push_back(std::move(marker));
      }
    } else if (entry->is_regular_file(ignored) && !visit(entry->path())) {
      break;
    }
  }
  return error;
}

// Beside those that CMake writes to try the compiler.
bool holdsSources(const fs::path &folder) {
  bool found = false;
  std::vector<fs::path> markers;
  walk(
      folder,
      [&](const fs::path &file) {
        found = isSource(file) && file.string().find("/CMakeFiles/") == std::string::npos;
        return !found;
      },
      /*third_party=*/false, &markers);
  return found || std::ranges::any_of(markers, holdsSources, &fs::path::parent_path);
}

// Headers under LibTorch's names are for targets that ask for them.
bool shadowsTorch(const fs::path &folder) {
  std::error_code ignored;
  return fs::is_directory(folder / "c10", ignored) || fs::is_directory(folder / "ATen", ignored);
}

Project readProject(const fs::path &root) {
  Project project;
  std::set<fs::path> includes = {root};
  std::set<fs::path> headers;
  std::size_t files = 0;
  walk(root, [&](const fs::path &file) {
    project.has_cuda |= isCudaFile(file.native()) && isSource(file);
    if (isHeader(file.native())) {
      headers.insert(file.parent_path());
      for (fs::path folder = file.parent_path(); folder != root && folder.has_relative_path();
           folder = folder.parent_path())
        if ((folder.filename() == "include" || folder.filename() == "csrc") &&
            !shadowsTorch(folder))
          includes.insert(folder);
    }
    return headers.size() < kMaxHeaderFolders && ++files < kMaxProjectFiles;
  });
  for (const fs::path &folder : includes)
    project.include_folders.push_back(folder.string());
  for (const fs::path &folder : headers)
    if (!includes.contains(folder))
      project.header_folders.push_back(folder.string());
  return project;
}

// Only a script that begins a project says so; those of its folders do not.
bool beginsCMakeProject(const fs::path &folder) {
  std::optional<core::Error> ignored;
  const std::string text = scriptText((folder / "CMakeLists.txt").string(), ignored);
  return llvm::any_of(llvm::split(text, '\n'), [](llvm::StringRef line) {
    line = line.ltrim();
    return line.consume_front_insensitive("project") && line.ltrim().starts_with("(");
  });
}

// The outermost folder that begins a CMake project around a file in `folder`, among those that are
// written by whoever writes `folder`.
std::string cmakeRoot(const fs::path &folder) {
  struct stat inner, outer;
  if (stat(folder.c_str(), &inner) != 0)
    return {};
  std::string root;
  for (fs::path at = folder; at.has_relative_path() && at != core::setRoot().parent_path();
       at = at.parent_path()) {
    if (core::holdsManyProjects(at) || stat(at.c_str(), &outer) != 0 ||
        outer.st_uid != inner.st_uid || (outer.st_mode & ~inner.st_mode & S_IWOTH))
      break;
    if (beginsCMakeProject(at))
      root = at.string();
  }
  return root;
}

} // namespace

std::string withSlashes(std::string include) {
  llvm::replace(include, '\\', '/');
  return include;
}

bool isHeader(std::string_view path) {
  return hasOneOf(kHeaders, fs::path(path));
}

bool isCudaHeader(const std::string &path) {
  if (!isHeader(path) || isCudaFile(path))
    return false;
  const std::string text = textOf(path);
  return text.find("__global__") != std::string::npos || text.find("<<<") != std::string::npos;
}

bool needsCuda(const std::string &header) {
  if (!isCudaFile(header) || !isHeader(header))
    return false;
  const std::string text = textOf(header);
  const auto has = [&](const char *word) { return text.find(word) != std::string::npos; };
  return has("<<<") && !has("__CUDACC__") && !has("__NVCC__");
}

bool isCudaFile(std::string_view path) {
  // Of kernel.cu.cc too: build systems that know no .cu name them so.
  const auto is_named = [](const fs::path &name) {
    return name.extension() == ".cu" || name.extension() == ".cuh";
  };
  return is_named(path) || is_named(fs::path(path).stem());
}

std::span<const std::string_view> codeExtensions() {
  return kExtensions;
}

bool isCode(std::string_view path) {
  return hasOneOf(codeExtensions(), path);
}

std::string textOf(const std::string &file) {
  return core::readFile(file, core::kMaxSource).value_or("");
}

std::string scriptText(const std::string &file, std::optional<core::Error> &error) {
  core::Result<std::string> text = core::readFile(file, core::kMaxSettings);
  std::error_code ignored;
  if (!text && !error && fs::exists(fs::symlink_status(file, ignored)))
    error = text.error();
  return text ? std::move(*text) : std::string();
}

void walkProject(const std::string &root, bool third_party,
                 const std::function<bool(const std::string &file)> &visit) {
  walk(root, [&](const fs::path &file) { return visit(file.string()); }, third_party);
}

core::Result<std::vector<std::string>> expandInputs(const std::vector<std::string> &inputs,
                                                    std::set<std::string> *hiding) {
  std::vector<std::string> files;
  std::set<fs::path> seen; // real paths: links to a file are that file
  const auto add = [&](const fs::path &path) {
    std::error_code error;
    const fs::path real = fs::canonical(path, error);
    if (seen.insert(error ? path : real).second)
      files.push_back(path.lexically_normal().string());
  };
  for (const std::string &input : inputs) {
    std::error_code error;
    const fs::path path = fs::absolute(input, error);
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status))
      return core::failure(input + ": no such file or folder");
    if (!fs::is_directory(status)) {
      if (!fs::is_regular_file(status))
        return core::failure(input + ": neither a file nor a folder");
      if (!isSource(path) && !isHeader(path.native()))
        return core::failure(input +
                             ": not a C++ or CUDA source (.cpp, .cc, .cxx, .cu or a header)");
      add(path);
      continue;
    }
    std::vector<fs::path> found, headers, markers;
    const std::error_code broken_off = walk(
        path,
        [&](const fs::path &file) {
          if (isSource(file))
            found.push_back(file);
          else if (isHeader(file.native()))
            headers.push_back(file);
          return std::max(found.size(), headers.size()) <= kMaxSources;
        },
        /*third_party=*/false, &markers);
    if (hiding)
      for (const fs::path &marker : markers)
        if (holdsSources(marker.parent_path()))
          hiding->insert(marker.lexically_normal().string());
    if (broken_off)
      return core::failure(input + ": cannot be walked to its end: " + broken_off.message() +
                           "; name the folders that count");
    // A folder of headers, as of a library that has nothing else.
    if (found.empty())
      found = std::move(headers);
    if (files.size() + found.size() > kMaxSources)
      return core::failure(input + ": holds more than " + std::to_string(kMaxSources) +
                           " C++ or CUDA sources; name the folders that count");
    if (found.empty())
      return core::failure(input +
                           ": holds no C++ or CUDA sources (.cpp, .cc, .cxx, .cu), and no headers");
    // A file goes by its own name where links to it are found, too.
    std::ranges::sort(found, {}, [](const fs::path &file) {
      std::error_code ignored;
      return std::pair(fs::is_symlink(file, ignored), file);
    });
    std::ranges::for_each(found, add);
  }
  return files;
}

std::string nearestFolderWith(std::string_view file,
                              std::initializer_list<std::string_view> names) {
  std::error_code ignored;
  for (fs::path folder = fs::path(file).parent_path();
       folder.has_relative_path() && folder != core::setRoot().parent_path();
       folder = folder.parent_path())
    for (std::string_view name : names)
      if (fs::exists(folder / name, ignored))
        return folder.string();
  return {};
}

// A lone file has none: walking whatever folder it lies in could mean a home directory.
std::string projectRoot(std::string_view file) {
  std::string root = nearestFolderWith(file, {".git", "setup.py", "pyproject.toml"});
  return root.empty() ? cmakeRoot(fs::path(file).parent_path()) : root;
}

bool isInProject(std::string_view root, std::string_view folder) {
  const fs::path inside = fs::path(folder).lexically_normal().lexically_relative(root);
  if (root.empty() || inside.empty() || *inside.begin() == "..")
    return false;
  fs::path reached = root;
  return std::ranges::all_of(inside, [&](const fs::path &name) {
    if (name == "." || name.empty())
      return true;
    reached /= name;
    return !isForeignName(name.string(), /*third_party=*/false) && markerIn(reached).empty();
  });
}

namespace {

std::vector<std::string> sourcesBelow(const std::string &root) {
  if (root.empty())
    return {};
  std::size_t files = 0;
  walk(root, [&](const fs::path &) { return ++files < kMaxProjectFiles; });
  if (files == kMaxProjectFiles)
    return {};
  auto sources = expandInputs({root});
  return sources ? std::move(*sources) : std::vector<std::string>();
}

} // namespace

std::vector<std::string> sourcesBeside(const std::string &file) {
  const std::string root = projectRoot(file);
  const std::string repository = nearestFolderWith(file, {".git"});
  if (root.empty() || repository == root)
    return {};
  std::vector<std::string> sources = sourcesBelow(repository);
  std::erase_if(sources, [&](const std::string &source) { return source.starts_with(root + "/"); });
  return sources;
}

std::vector<std::string> sourcesAround(const std::string &file) {
  const std::string root = projectRoot(file);
  std::vector<std::string> sources = sourcesBelow(root);
  const auto is_file = [&](const std::string &source) {
    std::error_code ignored;
    return source == file || fs::equivalent(source, file, ignored);
  };
  const bool is_part = isHeader(file) ? isInProject(root, fs::path(file).parent_path().string())
                                      : std::ranges::any_of(sources, is_file);
  return is_part ? std::move(sources) : std::vector<std::string>();
}

const Project &Projects::of(const std::string &file) {
  std::string root = projectRoot(file);
  if (root.empty()) {
    static const Project kNone;
    return kNone;
  }
  auto [entry, is_new] = by_root_.try_emplace(root);
  if (is_new) {
    entry->second = readProject(root);
    // The package of a repository includes what lies beside it.
    if (std::string repository = nearestFolderWith(file, {".git"}); !repository.empty())
      root = std::move(repository);
    std::shared_ptr<const IncludeFolders> &includes = includes_by_root_[root];
    if (!includes)
      includes = std::make_shared<IncludeFolders>(root);
    entry->second.includes = includes;
  }
  return entry->second;
}

} // namespace devsan::analyzer
