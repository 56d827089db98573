#include "analyzer/files/project_devices.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>

#include <string_view>
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

} // namespace

DeviceWords deviceWordsIn(StringRef text) {
  DeviceWords found;
  const std::vector<StringRef> words = wordsOf(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    found.names_device |= isDeviceWord(words[i]) || makesUnknownDevice(words, i);
    found.has_main |= words[i] == "main" && i + 1 < words.size() && words[i + 1] == "(";
    found.is_library |=
        words[i].starts_with("PYBIND11_MODULE") || words[i].starts_with("TORCH_LIBRARY");
  }
  return found;
}

bool ProjectDevices::isOnHostOnly(const std::string &file) {
  const std::string root = projectRoot(file);
  if (root.empty())
    return false;
  const auto [known, is_new] = by_root_.try_emplace(root);
  if (!is_new)
    return known->second;
  bool has_main = false, may_have_devices = false;
  std::size_t files = 0;
  walkProject(root, /*third_party=*/false, [&](const std::string &path) {
    const bool is_code = llvm::any_of(codeExtensions(), [&](std::string_view extension) {
      return StringRef(path).ends_with(extension);
    });
    // What is built for Python is called from there.
    const StringRef name = StringRef(path).rsplit('/').second;
    may_have_devices |= ++files > kMaxFiles || name == "setup.py" || name == "pyproject.toml";
    if (is_code) {
      const DeviceWords words = deviceWordsIn(textOf(path));
      has_main |= words.has_main;
      may_have_devices |= words.names_device || words.is_library;
    }
    return !may_have_devices;
  });
  return known->second = has_main && !may_have_devices;
}

} // namespace devsan::analyzer
