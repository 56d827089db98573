#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace devsan::analyzer {

using llvm::StringRef;

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
    } else if (text.front() == '\'') {
      const std::size_t end = text.size() > 1 && text[1] == '\\' ? 3 : 2;
      text = text.drop_front(end < text.size() && text[end] == '\'' ? end + 1 : 1);
    } else if (is_part(text.front())) {
      words.push_back(text.take_while(is_part));
      text = text.drop_front(words.back().size());
    } else {
      const std::size_t length = text.starts_with("::") ? 2 : 1;
      if (!llvm::isSpace(text.front()))
        words.push_back(text.take_front(length));
      text = text.drop_front(length);
    }
  }
  return words;
}

std::vector<StringRef> runsOf(StringRef text, llvm::function_ref<bool(char)> belongs) {
  std::vector<StringRef> runs;
  while (!(text = text.drop_until(belongs)).empty()) {
    runs.push_back(text.take_while(belongs));
    text = text.drop_front(runs.back().size());
  }
  return runs;
}

std::string withoutComments(StringRef text) {
  std::string plain;
  for (const StringRef line : llvm::split(text, '\n')) {
    std::size_t end = 0;
    bool is_quoted = false;
    for (; end < line.size(); ++end) {
      is_quoted ^= line[end] == '"';
      if (line[end] == '#' && !is_quoted && (end == 0 || llvm::isSpace(line[end - 1])))
        break;
    }
    plain += line.take_front(end).str() + "\n";
  }
  return plain;
}

bool containsOne(StringRef text, llvm::ArrayRef<StringRef> parts) {
  return llvm::any_of(parts, [&](StringRef part) { return text.contains(part); });
}

bool bindsToPython(StringRef text) {
  return containsOne(text, {"PYBIND11_MODULE", "NB_MODULE", "BOOST_PYTHON_MODULE", "PyInit_"});
}

bool namesLibrary(StringRef text) {
  return text.contains("TORCH_LIBRARY") || bindsToPython(text);
}

bool isIdentifier(StringRef word) {
  return llvm::isAlpha(word.front()) || word.front() == '_';
}

} // namespace devsan::analyzer
