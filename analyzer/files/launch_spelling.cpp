#include "analyzer/files/launch_spelling.h"

#include <llvm/ADT/StringExtras.h>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

// Behind a comment or literal that starts at `i`, else `i`.
std::size_t skipLiteral(StringRef text, std::size_t i) {
  const StringRef rest = text.substr(i);
  if (rest.starts_with("//"))
    return std::min(text.find('\n', i), text.size());
  if (rest.starts_with("/*")) {
    const std::size_t end = text.find("*/", i + 2);
    return end == StringRef::npos ? text.size() : end + 2;
  }
  if (text[i] != '"' && text[i] != '\'')
    return i;
  // 1'000'000
  if (text[i] == '\'' && i > 0 && llvm::isHexDigit(text[i - 1]))
    return i + 1;
  std::size_t end = i + 1;
  while (end < text.size() && text[end] != text[i] && text[end] != '\n')
    end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

// The end of three `chevron` with nothing but blanks between them, starting at `i`; 0 where there
// are none.
std::size_t threeOf(StringRef text, std::size_t i, char chevron) {
  for (int found = 0; i < text.size(); ++i) {
    if (text[i] == chevron) {
      if (++found == 3)
        return i + 1;
    } else if (found == 0 || (text[i] != ' ' && text[i] != '\t')) {
      return 0;
    }
  }
  return 0;
}

// The start of the `>>>`, however spaced, that closes what was opened before `i` and is followed by
// the arguments.
std::size_t findClosing(StringRef text, std::size_t i) {
  int depth = 0;
  while (i < text.size()) {
    if (const std::size_t behind = skipLiteral(text, i); behind != i) {
      i = behind;
      continue;
    }
    const char c = text[i];
    if (c == ';' || (depth == 0 && (c == ')' || c == '}')))
      return StringRef::npos;
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (depth == 0 && c == '>')
      if (const std::size_t end = threeOf(text, i, '>');
          end && text.substr(end).ltrim(" \t\r\n\\").starts_with("("))
        return i;
    ++i;
  }
  return StringRef::npos;
}

// `<<<{n}, {32, 8}>>>`: each argument in braces gets parentheses, an empty one is 0.
void unbrace(StringRef text, std::size_t begin, std::size_t end, std::optional<std::string> &out) {
  llvm::SmallVector<std::size_t, 4> opened; // SIZE_MAX for what are no such braces
  bool starts_argument = true;
  for (std::size_t i = begin; i < end;) {
    if (const std::size_t behind = skipLiteral(text, i); behind != i) {
      i = behind;
      continue;
    }
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') {
      opened.push_back(c == '{' && opened.empty() && starts_argument ? i : StringRef::npos);
    } else if ((c == ')' || c == ']' || c == '}') && !opened.empty()) {
      if (const std::size_t brace = opened.pop_back_val(); brace != StringRef::npos) {
        if (!out)
          out = text.str();
        const bool is_empty = text.slice(brace + 1, i).trim().empty();
        (*out)[brace] = is_empty ? '0' : '(';
        (*out)[i] = is_empty ? ' ' : ')';
      }
    }
    if (!llvm::isSpace(c))
      starts_argument = c == ',' && opened.empty();
    ++i;
  }
}

void join(std::string &text, std::size_t begin, std::size_t end, char chevron) {
  for (std::size_t i = begin; i < end; ++i)
    text[i] = i < begin + 3 ? chevron : ' ';
}

} // namespace

std::optional<std::string> withClangsLaunches(StringRef text) {
  std::optional<std::string> respelled;
  std::size_t i = 0;
  while (i < text.size()) {
    if (const std::size_t behind = skipLiteral(text, i); behind != i) {
      i = behind;
      continue;
    }
    const std::size_t opened = text[i] == '<' ? threeOf(text, i, '<') : 0;
    // `operator<< <T>` is a template's.
    const std::size_t closing = opened && !text.take_front(i).rtrim().ends_with("operator")
                                    ? findClosing(text, opened)
                                    : StringRef::npos;
    if (closing == StringRef::npos) {
      i = std::max(opened, i + 1);
      continue;
    }
    const std::size_t closed = threeOf(text, closing, '>');
    if (opened != i + 3 || closed != closing + 3) {
      if (!respelled)
        respelled = text.str();
      join(*respelled, i, opened, '<');
      join(*respelled, closing, closed, '>');
    }
    unbrace(text, opened, closing, respelled);
    i = closed;
  }
  return respelled;
}

} // namespace devsan::analyzer
