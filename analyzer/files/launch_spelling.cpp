#include "analyzer/files/launch_spelling.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>

#include <vector>

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

// Chevrons, however spaced.
struct Chevrons {
  std::size_t begin, end;
};
struct Launch {
  Chevrons opening, closing;
};

// From `<<<` to the `>>>` between the same brackets of the same statement that is followed by the
// arguments. None is within another one.
std::vector<Launch> findLaunches(StringRef text) {
  std::vector<Launch> launches;
  std::vector<std::optional<Chevrons>> opened(1); // the first between each brackets around
  std::size_t statement = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t behind = skipLiteral(text, i); behind != i) {
      i = behind;
      continue;
    }
    const char c = text[i];
    std::optional<Chevrons> &opening = opened.back();
    if (opening && opening->begin < statement)
      opening.reset();
    if (c == ';') {
      statement = i;
    } else if (c == '(' || c == '[' || c == '{') {
      opened.emplace_back();
    } else if (c == ')' || c == ']' || c == '}') {
      opened.pop_back();
      if (opened.empty())
        opened.emplace_back();
    } else if (const std::size_t end = c == '<' ? threeOf(text, i, c) : 0) {
      // `operator<< <T>` is a template's.
      if (!opening && !text.take_front(i).rtrim().ends_with("operator"))
        opening = {i, end};
      i = end;
      continue;
    } else if (opening && c == '>') {
      if (const std::size_t end = threeOf(text, i, c);
          end && text.substr(end).ltrim(" \t\r\n\\").starts_with("(")) {
        while (!launches.empty() && launches.back().opening.begin > opening->begin)
          launches.pop_back();
        launches.push_back({*opening, {i, end}});
        opening.reset();
        i = end;
        continue;
      }
    }
    ++i;
  }
  return launches;
}

// Zero in the place of braces with nothing but blanks and comments between them. It is an
// expression from the first brace to the last one, which a fix may replace.
void writeZero(std::string &text, std::size_t begin, std::size_t end) {
  bool has_room = false;
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (text[i] == '\n' || text[i] == '\r' ||
        (text[i] == '\\' && StringRef(text).substr(i + 1).ltrim(" \t\r").starts_with("\n")))
      continue;
    text[i] = has_room ? ' ' : '0';
    has_room = true;
  }
  text[begin] = has_room ? '(' : '0';
  text[end] = has_room ? ')' : end == begin + 1 ? '0' : ' ';
}

// `<<<{n}, {32, 8}>>>`: each argument in braces gets parentheses, an empty one is 0.
void unbrace(StringRef text, std::size_t begin, std::size_t end, std::optional<std::string> &out) {
  llvm::SmallVector<std::size_t, 4> opened; // SIZE_MAX for what are no such braces
  std::size_t last = begin - 1;             // of what is no blank and no comment
  for (std::size_t i = begin; i < end;) {
    const char c = text[i];
    if (const std::size_t behind = skipLiteral(text, i); behind != i) {
      last = c == '/' ? last : i;
      i = behind;
      continue;
    }
    if (c == '(' || c == '[' || c == '{') {
      const bool starts_argument = opened.empty() && (last < begin || text[last] == ',');
      opened.push_back(c == '{' && starts_argument ? i : StringRef::npos);
    } else if ((c == ')' || c == ']' || c == '}') && !opened.empty()) {
      if (const std::size_t brace = opened.pop_back_val(); brace != StringRef::npos) {
        if (!out)
          out = text.str();
        if (last == brace) {
          writeZero(*out, brace, i);
        } else {
          (*out)[brace] = '(';
          (*out)[i] = ')';
          if (text[last] == ',') // {n, }
            (*out)[last] = ' ';
        }
      }
    }
    if (!llvm::isSpace(c) && c != '\\')
      last = i;
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
  for (const auto &[opening, closing] : findLaunches(text)) {
    if (opening.end != opening.begin + 3 || closing.end != closing.begin + 3) {
      if (!respelled)
        respelled = text.str();
      join(*respelled, opening.begin, opening.end, '<');
      join(*respelled, closing.begin, closing.end, '>');
    }
    unbrace(text, opening.end, closing.begin, respelled);
  }
  return respelled;
}

} // namespace devsan::analyzer
