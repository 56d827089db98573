#include "analyzer/files/project_devices.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/Support/Path.h>

#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// More files than a program without devices has: nobody waits for them to be read.
constexpr std::size_t kMaxFiles = 5'000;

// Identifiers, literals of text, and other characters one by one, without comments.
std::vector<StringRef> wordsOf(StringRef text) {
  std::vector<StringRef> words;
  const auto is_part = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!text.empty()) {
    if (text.starts_with("//")) {
      text = text.drop_until([](char c) { return c == '\n'; });
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      text = end == StringRef::npos ? "" : text.drop_front(end + 2);
    } else if (text.front() == '"') {
      std::size_t end = 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n')
        end += text[end] == '\\' ? 2 : 1;
      words.push_back(text.take_front(end + 1));
      text = text.drop_front(std::min(end + 1, text.size()));
    } else if (is_part(text.front())) {
      words.push_back(text.take_while(is_part));
      text = text.drop_front(words.back().size());
    } else {
      if (!llvm::isSpace(text.front()))
        words.push_back(text.take_front());
      text = text.drop_front();
    }
  }
  return words;
}

// `__CUDACC__` and its like ask which compiler it is, as vendored headers do.
bool isDeviceWord(StringRef word) {
  if (word.starts_with("__"))
    return false;
  static const llvm::StringSet<> kKinds{"mps", "xpu", "hip", "vulkan", "privateuse1", "npu", "hpu"};
  const std::string lower = word.trim('"').lower();
  StringRef kind = lower;
  return kind.contains("cuda") || kind.contains("gpu") || kKinds.contains(kind) ||
         (kind.consume_front("k") && kKinds.contains(kind));
}

bool isHostWord(StringRef word) {
  return word == "kCPU" || word == "CPU" || word.starts_with("\"cpu");
}

// `Device(x)`, `Device device{x}`: of something that is no constant.
bool makesUnknownDevice(llvm::ArrayRef<StringRef> words, std::size_t at) {
  if (words[at] != "Device" || at + 1 >= words.size())
    return false;
  std::size_t open = at + 1;
  if (llvm::isAlpha(words[open].front()) || words[open].front() == '_')
    ++open;
  if (open + 1 >= words.size() || (words[open] != "(" && words[open] != "{") ||
      words[open + 1] == ")" || words[open + 1] == "}")
    return false;
  for (std::size_t i = open + 1; i < words.size() && words[i] != ")" && words[i] != "}"; ++i)
    if (isHostWord(words[i]))
      return false;
  return true;
}

// The file that stands behind `#include`; empty where a macro does.
std::string includedBy(llvm::ArrayRef<StringRef> words, std::size_t at) {
  if (at + 1 >= words.size())
    return {};
  if (words[at + 1].starts_with("\""))
    return words[at + 1].trim('"').str();
  std::string name;
  if (words[at + 1] == "<")
    for (std::size_t i = at + 2; i < words.size() && words[i] != ">"; ++i)
      name += words[i];
  return name;
}

// `net.inl`: code that is looked at by nobody.
bool isOddSource(StringRef name) {
  const StringRef file = llvm::sys::path::filename(name);
  return file.contains('.') && llvm::none_of(codeExtensions(), [&](std::string_view extension) {
           return file.ends_with(extension);
         });
}

} // namespace

DeviceWords deviceWordsIn(StringRef text) {
  DeviceWords found;
  const std::vector<StringRef> words = wordsOf(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    found.names_device |= isDeviceWord(words[i]) || makesUnknownDevice(words, i);
    found.has_main |= words[i] == "main" && i + 1 < words.size() && words[i + 1] == "(";
    found.is_library |=
        words[i].starts_with("PYBIND11_MODULE") || words[i].starts_with("TORCH_LIBRARY");
    if (words[i] == "include" && i > 0 && words[i - 1] == "#") {
      std::string name = includedBy(words, i);
      found.includes_unknown |= name.empty() || isOddSource(name);
      found.includes.push_back(std::move(name));
    }
    found.includes_unknown |= words[i] == "import" && i + 2 < words.size() && words[i + 2] == ";";
  }
  return found;
}

bool ProjectDevices::isOnHostOnly(const std::string &file) {
  const std::string root = projectRoot(file);
  if (root.empty())
    return false;
  const auto [known, is_new] = by_root_.try_emplace(root);
  Project &project = known->second;
  if (is_new)
    project = read(root);
  if (!project.is_read || project.is_on_host_only)
    return project.is_on_host_only;
  bool is_part = false;
  for (const auto &[on_host_only, files] : project.programs)
    if (llvm::any_of(files, [&](unsigned i) { return project.files[i].path == file; })) {
      if (!on_host_only)
        return false;
      is_part = true;
    }
  return is_part;
}

ProjectDevices::Project ProjectDevices::read(const std::string &root) {
  Project project;
  bool is_called_from_elsewhere = false;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    // What is built for Python is called from there.
    const StringRef name = StringRef(path).rsplit('/').second;
    is_called_from_elsewhere |= name == "setup.py" || name == "pyproject.toml";
    if (llvm::any_of(codeExtensions(), [&](std::string_view extension) {
          return StringRef(path).ends_with(extension);
        })) {
      project.by_name[name].push_back(project.files.size());
      project.files.push_back({path, deviceWordsIn(textOf(path)), isHeader(path), {}, {}});
      project.files.back().words.names_device |= isCudaFile(path);
    }
    return !is_called_from_elsewhere && project.files.size() <= kMaxFiles;
  });
  project.is_read = !is_called_from_elsewhere && project.files.size() <= kMaxFiles;
  if (!project.is_read)
    return {};
  bool has_main = false, may_have_devices = false;
  for (const File &file : project.files) {
    has_main |= file.words.has_main;
    may_have_devices |= file.words.names_device || file.words.is_library;
  }
  project.is_on_host_only = has_main && !may_have_devices;
  if (!may_have_devices)
    return project;
  project.link();
  std::vector<bool> is_used(project.files.size());
  for (unsigned i = 0; i < project.files.size(); ++i)
    if (project.files[i].words.has_main)
      project.addProgram(i);
  for (const auto &[on_host_only, files] : project.programs)
    for (const unsigned i : files)
      is_used[i] = true;
  // What names a device and is in no program here may use any of it from elsewhere, and so may a
  // program that has more than is seen.
  for (unsigned i = 0; i < project.files.size(); ++i) {
    const DeviceWords &words = project.files[i].words;
    if (words.includes_unknown || (!is_used[i] && words.names_device))
      project.programs.clear();
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
// includes one of them, itself or by others.
void ProjectDevices::Project::addProgram(unsigned main) {
  std::vector<unsigned> part{main};
  std::vector<bool> seen(files.size());
  seen[main] = true;
  bool on_host_only = true;
  for (std::size_t next = 0; next < part.size(); ++next) {
    const File &file = files[part[next]];
    on_host_only &= !file.words.names_device && !file.words.is_library;
    for (const std::vector<unsigned> *others : {&file.includes, &file.included_by})
      for (const unsigned other : *others)
        if (!seen[other]) {
          seen[other] = true;
          part.push_back(other);
        }
  }
  programs.emplace_back(on_host_only, std::move(part));
}

} // namespace devsan::analyzer
