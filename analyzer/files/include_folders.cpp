#include "analyzer/files/include_folders.h"

#include "analyzer/files/source_files.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <filesystem>
#include <set>

namespace devsan::analyzer {
namespace {

namespace fs = std::filesystem;
using llvm::StringRef;

// A walk or a search that reaches these has left the project.
constexpr std::size_t kMaxHeaders = 50'000;
constexpr std::size_t kMaxReached = 5'000;

bool isTorchSpelling(StringRef spelling) {
  return spelling.starts_with("torch/") || spelling.starts_with("ATen/") ||
         spelling.starts_with("c10/");
}

std::size_t commonPrefix(std::string_view a, std::string_view b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

} // namespace

std::vector<Include> includesOf(const std::string &file) {
  std::vector<Include> includes;
  const std::string text = textOf(file);
  StringRef rest = text;
  while (!rest.empty()) {
    StringRef line;
    std::tie(line, rest) = rest.split('\n');
    line = line.ltrim();
    if (!line.consume_front("#"))
      continue;
    line = line.ltrim();
    if (!line.consume_front("include"))
      continue;
    const bool may_be_macro = line.starts_with(" ") || line.starts_with("\t");
    line = line.ltrim();
    const bool angled = line.consume_front("<");
    if (!angled && !line.consume_front("\"")) {
      if (may_be_macro && !line.empty() && (llvm::isAlpha(line.front()) || line.front() == '_'))
        includes.push_back({"", false});
      continue;
    }
    const StringRef spelled = line.take_until([&](char c) { return c == (angled ? '>' : '"'); });
    includes.push_back({withSlashes(spelled.str()), angled});
  }
  return includes;
}

IncludeFolders::IncludeFolders(const std::string &root) {
  walkProject(root, /*third_party=*/true, [&](const std::string &file) {
    // Whatever its extension: .inl, .inc and .ipp are included too, and sources are.
    headers_.emplace(fs::path(file).filename().string(), file);
    return headers_.size() < kMaxHeaders;
  });
}

const std::string *IncludeFolders::nearest(std::string_view spelling, std::string_view from) const {
  const std::string name = fs::path(spelling).filename().string();
  const std::string ending = "/" + std::string(spelling);
  const std::string *best = nullptr;
  const auto [begin, end] = headers_.equal_range(name);
  for (auto it = begin; it != end; ++it)
    if (it->second.ends_with(ending) &&
        (!best || commonPrefix(it->second, from) > commonPrefix(*best, from)))
      best = &it->second;
  return best;
}

IncludeFolders::Reached IncludeFolders::of(const std::string &file,
                                           const std::vector<std::string> &known) const {
  Reached result;
  std::vector<std::string> &added = result.folders;
  std::set<std::string> seen = {file};
  std::vector<std::string> reached = {file};
  for (std::size_t i = 0; i < reached.size() && i < kMaxReached; ++i) {
    const std::string current = reached[i];
    for (const Include &include : includesOf(current)) {
      // `<math.h>` is the system's, and LibTorch's headers are LibTorch's, whatever a project calls
      // its own.
      if (isTorchSpelling(include.spelling) ||
          (include.angled && !StringRef(include.spelling).contains('/')))
        continue;
      std::string found;
      std::error_code ignored;
      const auto lookIn = [&](const std::string &folder) {
        const fs::path candidate = fs::path(folder) / include.spelling;
        if (found.empty() && fs::is_regular_file(candidate, ignored))
          found = candidate.lexically_normal().string();
      };
      if (!include.angled)
        lookIn(fs::path(current).parent_path().string());
      llvm::for_each(known, lookIn);
      llvm::for_each(added, lookIn);
      if (found.empty() && !StringRef(include.spelling).contains("..")) {
        if (const std::string *header = nearest(include.spelling, current)) {
          found = *header;
          added.push_back(found.substr(0, found.size() - include.spelling.size() - 1));
        }
      }
      if (!found.empty() && seen.insert(found).second) {
        result.needs_cuda = result.needs_cuda || needsCuda(found);
        reached.push_back(found);
      }
    }
  }
  return result;
}

} // namespace devsan::analyzer
