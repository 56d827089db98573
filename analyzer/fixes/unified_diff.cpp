#include "analyzer/fixes/unified_diff.h"

#include "core/text/terminal_text.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <vector>

namespace devsan::analyzer {
namespace {

using clang::tooling::Replacement;
using llvm::StringRef;

constexpr std::size_t kContext = 3; // lines

// Each with its end.
std::vector<StringRef> linesOf(StringRef text) {
  std::vector<StringRef> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.take_front(end == StringRef::npos ? text.size() : end + 1));
    text = text.drop_front(lines.back().size());
  }
  return lines;
}

// Lines that others take the place of.
struct Change {
  std::size_t begin;
  std::size_t end;
  std::vector<const Replacement *> replacements; // in order
  std::string text;                              // of the new lines
};

class Differences {
public:
  Differences(StringRef before, const clang::tooling::Replacements &replacements)
      : lines_(linesOf(before)) {
    std::size_t offset = 0;
    for (StringRef line : lines_) {
      offsets_.push_back(offset);
      offset += line.size();
    }
    offsets_.push_back(offset);
    for (const Replacement &replacement : replacements)
      add(replacement);
    for (Change &change : changes_) {
      fill(change, before);
      trim(change);
    }
    llvm::erase_if(changes_, [](const Change &c) { return c.begin == c.end && c.text.empty(); });
  }

  std::string text() const {
    std::string out;
    std::ptrdiff_t moved = 0; // lines more than before
    for (std::size_t i = 0; i < changes_.size();) {
      std::size_t last = i;
      while (last + 1 < changes_.size() &&
             changes_[last + 1].begin - changes_[last].end <= 2 * kContext)
        ++last;
      const std::size_t begin = changes_[i].begin - std::min(changes_[i].begin, kContext);
      const std::size_t end = std::min(changes_[last].end + kContext, lines_.size());
      std::string hunk;
      std::size_t at = begin, count = 0;
      for (; i <= last; ++i) {
        count += changes_[i].begin - at;
        print(hunk, ' ', at, changes_[i].begin);
        print(hunk, '-', changes_[i].begin, changes_[i].end);
        for (StringRef line : linesOf(changes_[i].text)) {
          print(hunk, '+', line);
          ++count;
        }
        at = changes_[i].end;
      }
      count += end - at;
      print(hunk, ' ', at, end);
      const auto range = [](std::size_t first, std::size_t lines) {
        return std::to_string(lines ? first + 1 : first) + "," + std::to_string(lines);
      };
      out += "@@ -" + range(begin, end - begin) + " +" +
             range(begin + static_cast<std::size_t>(moved), count) + " @@\n" + hunk;
      moved += static_cast<std::ptrdiff_t>(count) - static_cast<std::ptrdiff_t>(end - begin);
    }
    return out;
  }

private:
  // The last one has no end where the file ends in it.
  std::size_t lineAt(std::size_t offset) const {
    const bool is_open = !lines_.empty() && !lines_.back().ends_with("\n");
    const std::size_t line = std::ranges::upper_bound(offsets_, offset) - offsets_.begin() - 1;
    return std::min(line, lines_.size() - is_open);
  }

  // They come in order. Those that touch the same line are one change.
  void add(const Replacement &replacement) {
    const std::size_t offset = replacement.getOffset();
    const std::size_t begin = lineAt(offset);
    const std::size_t end = std::min(lineAt(offset + replacement.getLength()) + 1, lines_.size());
    if (changes_.empty() || changes_.back().end <= begin)
      changes_.push_back({begin, end, {}, {}});
    changes_.back().end = std::max(changes_.back().end, end);
    changes_.back().replacements.push_back(&replacement);
  }

  void fill(Change &change, StringRef before) const {
    std::size_t at = offsets_[change.begin];
    for (const Replacement *replacement : change.replacements) {
      change.text += before.slice(at, replacement->getOffset());
      change.text += replacement->getReplacementText();
      at = replacement->getOffset() + replacement->getLength();
    }
    change.text += before.slice(at, offsets_[change.end]);
  }

  // What stays as it is at both ends.
  void trim(Change &change) const {
    const std::string text = std::move(change.text);
    std::vector<StringRef> lines = linesOf(text);
    std::size_t begin = 0, end = lines.size();
    while (begin < end && change.begin < change.end && lines[begin] == lines_[change.begin]) {
      ++begin;
      ++change.begin;
    }
    while (begin < end && change.begin < change.end && lines[end - 1] == lines_[change.end - 1]) {
      --end;
      --change.end;
    }
    change.text.clear();
    for (std::size_t i = begin; i < end; ++i)
      change.text += lines[i];
  }

  static std::string shown(StringRef line) {
    std::string text;
    llvm::SmallVector<StringRef> parts;
    line.split(parts, '\t');
    for (StringRef part : parts)
      text +=
          (text.empty() && part.data() == line.data() ? "" : "\t") + core::printable(part.str());
    return text;
  }

  static void print(std::string &out, char kind, StringRef line) {
    const bool ends = line.consume_back("\n");
    const bool returns = ends && line.consume_back("\r");
    (out += kind) += shown(line);
    out += returns ? "\r\n" : ends ? "\n" : "\n\\ No newline at end of file\n";
  }

  void print(std::string &out, char kind, std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      print(out, kind, lines_[i]);
  }

  std::vector<StringRef> lines_;
  std::vector<std::size_t> offsets_; // of each line, and the end
  std::vector<Change> changes_;
};

} // namespace

std::string unifiedDiff(const std::string &name, StringRef before,
                        const clang::tooling::Replacements &replacements) {
  const std::string hunks = Differences(before, replacements).text();
  const std::string path = core::printable(name);
  const bool is_absolute = StringRef(path).starts_with("/");
  return hunks.empty() ? hunks
                       : "--- " + (is_absolute ? path : "a/" + path) + "\n+++ " +
                             (is_absolute ? path : "b/" + path) + "\n" + hunks;
}

} // namespace devsan::analyzer
