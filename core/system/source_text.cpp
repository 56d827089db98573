#include "core/system/source_text.h"

#include "core/system/whole_file.h"

#include <algorithm>
#include <string_view>

namespace devsan::core {
namespace {

// Bytes that continue a character of UTF-8 are none by themselves.
unsigned codePoints(std::string_view text) {
  return static_cast<unsigned>(
      std::ranges::count_if(text, [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

} // namespace

bool liesBelow(const std::string &file, const std::string &folder) {
  if (folder.empty())
    return true;
  std::error_code error;
  const std::filesystem::path root = std::filesystem::canonical(folder, error);
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  return !error && std::ranges::mismatch(root, real).in1 == root.end();
}

const std::string *SourceText::text(const std::string &file) {
  auto known = files_.find(file);
  if (known == files_.end()) {
    std::optional<std::string> text;
    if (!liesBelow(file, below_))
      text = std::nullopt;
    else if (Result<std::string> content = readFile(file, kMaxSource))
      text = std::move(*content);
    known = files_.emplace(file, std::move(text)).first;
  }
  return known->second ? &*known->second : nullptr;
}

std::optional<SourceText::Position> SourceText::position(const std::string &file, unsigned offset) {
  const std::string *content = text(file);
  if (!content || offset > content->size())
    return std::nullopt;
  const std::string_view before = std::string_view(*content).substr(0, offset);
  const std::size_t begin = before.rfind('\n') + 1; // of the line; 0 where there is none before
  return Position{static_cast<unsigned>(std::ranges::count(before, '\n')) + 1,
                  codePoints(before.substr(begin)) + 1};
}

std::optional<std::string> SourceText::line(const std::string &file, unsigned number) {
  const std::string *content = text(file);
  if (!content || number == 0)
    return std::nullopt;
  std::size_t begin = 0;
  while (--number) {
    begin = content->find('\n', begin);
    if (begin == std::string::npos)
      return std::nullopt;
    ++begin;
  }
  std::size_t end = content->find('\n', begin);
  if (end == std::string::npos)
    end = content->size();
  if (end > begin && (*content)[end - 1] == '\r')
    --end;
  return content->substr(begin, end - begin);
}

unsigned SourceText::characters(const std::string &file, unsigned number, unsigned column) {
  const std::optional<std::string> content = line(file, number);
  if (!content || column == 0 || column - 1 > content->size())
    return column;
  return codePoints(std::string_view(*content).substr(0, column - 1)) + 1;
}

} // namespace devsan::core
