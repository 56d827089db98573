// Which files to analyse, and what their project looks like around them.
#pragma once

#include "analyzer/files/include_folders.h"
#include "core/system/result.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace devsan::analyzer {

// `#include "layers\conv.h"`, as Windows' compilers take it, with slashes.
std::string withSlashes(std::string include);
bool isHeader(std::string_view path);
bool isCudaFile(std::string_view path);
// A header whose name does not tell, but its kernels and launches do.
bool isCudaHeader(const std::string &path);
// A .cuh or .cu.h whose launches are there for every compiler: only nvcc takes a source that
// includes it.
bool needsCuda(const std::string &header);

// Of sources and headers, with the dot.
std::span<const std::string_view> codeExtensions();
bool isCode(std::string_view path); // by its extension

// What a file holds. Empty where it cannot be read, or is a pipe, which might never end.
std::string textOf(const std::string &file);

// The same of what says how sources are compiled: it is an error where it is there and cannot be
// read. The first error stays.
std::string scriptText(const std::string &file, std::optional<core::Error> &error);

// Absolute paths, each once, in the order given; the files of a folder sorted. A folder is walked
// for .cpp .cc .cxx .cu, without hidden, build and third-party folders; where it has none of these,
// for headers. Missing files and folders without either are errors. `hiding` gets the files by
// which folders of other names that hold sources are taken for builds and environments.
core::Result<std::vector<std::string>> expandInputs(const std::vector<std::string> &inputs,
                                                    std::set<std::string> *hiding = nullptr);

// The folder of the project that a file belongs to; empty for a lone file.
std::string projectRoot(std::string_view file);

// Whether a walk of the project would come to `folder`: it is no build, no environment and not
// third parties'.
bool isInProject(std::string_view root, std::string_view folder);

// The sources of the project that `file` belongs to, found as those of a folder are; none for a
// file that such a walk would not find, which is no part of a project, and in a folder without end.
std::vector<std::string> sourcesAround(const std::string &file);

// The sources of the repository that lie beside the package that `file` belongs to; none where the
// project is the whole repository.
std::vector<std::string> sourcesBeside(const std::string &file);

// The nearest folder above a file that holds a file or folder of one of these names; empty where
// there is none.
std::string nearestFolderWith(std::string_view file, std::initializer_list<std::string_view> names);

// Every file below `root` until `visit` returns false, without hidden and build folders, and
// without third-party folders unless asked for.
void walkProject(const std::string &root, bool third_party,
                 const std::function<bool(const std::string &file)> &visit);

// What derived compiler flags need to know about a project.
struct Project {
  std::vector<std::string>
      include_folders; // named include or csrc, and the root: meant to be searched
  std::vector<std::string> header_folders; // merely hold headers
  bool has_cuda = false;
  std::shared_ptr<const IncludeFolders> includes; // null for a lone file
};

// Projects by their root, each walked once.
class Projects {
public:
  const Project &of(const std::string &file);

private:
  std::map<std::string, Project> by_root_;
  std::map<std::string, std::shared_ptr<const IncludeFolders>> includes_by_root_;
};

} // namespace devsan::analyzer
