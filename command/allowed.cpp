#include "command/allowed.h"
#include "core/system/replace_file.h"
#include "core/system/whole_file.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <unistd.h>

namespace devsan::command {

namespace fs = std::filesystem;

namespace {

constexpr const char *kFile = "allowed"; // lines: the key, a tab, how often

// What the same finding has in the report of the test and in that of the run.
std::string keyOf(const core::Finding &finding) {
  const core::Location place =
      finding.locations.empty() ? core::Location{} : finding.locations.front();
  std::string key = fmt::format("{}\t{}\t{}\t{}", finding.rule, place.file, place.line, finding.op);
  for (char &c : key)
    if (c == '\n')
      c = ' ';
  return key;
}

} // namespace

core::Result<void> noteAllowed(const fs::path &folder, std::span<const core::Finding> findings) {
  if (findings.empty())
    return {};
  std::string text;
  for (const core::Finding &finding : findings)
    text += fmt::format("{}\t{}\n", keyOf(finding), finding.count);
  const fs::path path = folder / kFile;
  const core::Descriptor file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return core::failure(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  return {};
}

std::uint64_t takeAllowed(const fs::path &folder, std::vector<core::Finding> &findings) {
  const core::Result<std::string> text = core::readFile(folder / kFile, core::kMaxReport);
  if (!text)
    return 0;
  std::map<std::string, std::uint64_t, std::less<>> allowed, seen;
  std::string_view rest = *text;
  for (std::size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    const std::string_view line = rest.substr(0, end);
    const std::size_t tab = line.rfind('\t');
    std::uint64_t count = 0;
    if (tab == line.npos ||
        std::from_chars(line.data() + tab + 1, line.data() + line.size(), count).ec != std::errc())
      continue;
    allowed[std::string(line.substr(0, tab))] += count;
  }
  for (const core::Finding &finding : findings)
    seen[keyOf(finding)] += finding.count;
  return std::erase_if(findings, [&](const core::Finding &finding) {
    const auto noted = allowed.find(keyOf(finding));
    return noted != allowed.end() && seen[noted->first] <= noted->second;
  });
}

} // namespace devsan::command
