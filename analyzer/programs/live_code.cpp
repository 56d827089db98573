#include "analyzer/programs/live_code.h"

#include "analyzer/programs/code_head.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

class Reader {
public:
  explicit Reader(const std::string &text) : text_(text) {}

  // From where to where each dead part goes.
  std::vector<std::pair<std::size_t, std::size_t>> read() {
    takeDirectives(codeWordsOf(text_));
    takeConstants();
    for (std::size_t i = 0; i + 1 < code_.size(); ++i)
      if (code_[i].text == "if")
        branch(i);
    return std::move(dead_);
  }

private:
  void takeDirectives(const std::vector<CodeWord> &words) {
    std::vector<bool> is_dead; // of each `#if` around
    for (std::size_t i = 0; i < words.size();) {
      const bool is_directive = words[i].text == "#" && words[i].begins_line;
      std::size_t end = i + 1;
      while (is_directive && end < words.size() && !words[end].begins_line)
        ++end;
      if (is_directive)
        directive(CodeWords(words).slice(i + 1, end - i - 1), is_dead);
      else if (!llvm::is_contained(is_dead, true))
        code_.push_back(words[i]);
      else
        dead_.emplace_back(begin(words[i]), begin(words[i]) + words[i].text.size());
      i = end;
    }
  }

  static void directive(CodeWords words, std::vector<bool> &is_dead) {
    if (words.empty())
      return;
    const StringRef kind = words[0].text;
    if (kind == "if" || kind == "ifdef" || kind == "ifndef") {
      is_dead.push_back(kind == "if" && words.size() == 2 && words[1].text == "0");
    } else if (kind.starts_with("el")) {
      if (!is_dead.empty())
        is_dead.back() = false;
    } else if (kind == "endif" && !is_dead.empty()) {
      is_dead.pop_back();
    }
  }

  // `const bool shows = false;`, where nothing else of the file has that name.
  void takeConstants() {
    llvm::StringMap<std::optional<bool>> values;
    for (std::size_t i = 1; i + 1 < code_.size(); ++i) {
      if (!isIdentifier(code_[i].text) || !declares(i))
        continue;
      std::optional<bool> value;
      if (isConstant(i) && (code_[i + 1].text == "=" || code_[i + 1].text == "{") &&
          i + 3 < code_.size() && (code_[i + 3].text == ";" || code_[i + 3].text == "}"))
        value = truthOf(code_[i + 2].text);
      const auto [known, is_new] = values.try_emplace(code_[i].text, value);
      if (!is_new)
        known->second = std::nullopt;
    }
    constants_ = std::move(values);
  }

  // A variable, a parameter, a member: a name stands before the name.
  bool declares(std::size_t i) const {
    const StringRef before = code_[i - 1].text;
    return (isIdentifier(before) && !llvm::StringSwitch<bool>(before)
                                         .Cases({"return", "else", "do", "case", "goto"}, true)
                                         .Cases({"not", "and", "or", "throw"}, true)
                                         .Default(false)) ||
           before == "&" || before == "*" || before == ">";
  }

  bool isConstant(std::size_t i) const {
    if (code_[i - 1].text != "bool")
      return false;
    for (std::size_t back = i - 1; back-- > 0;) {
      if (code_[back].text == "const" || code_[back].text == "constexpr")
        return true;
      if (code_[back].text != "static" && code_[back].text != "inline")
        return false;
    }
    return false;
  }

  static std::optional<bool> truthOf(StringRef word) {
    return llvm::StringSwitch<std::optional<bool>>(word)
        .Cases({"false", "0"}, false)
        .Cases({"true", "1"}, true)
        .Default(std::nullopt);
  }

  std::optional<bool> valueOf(CodeWords words) const {
    while (words.size() > 2 && words.front().text == "(" &&
           behindBrackets(words, 0, "(", ")") == words.size())
      words = words.drop_front().drop_back();
    for (const StringRef looser : {"?", ",", "=", ";"})
      if (split(words, looser).size() > 1)
        return std::nullopt;
    for (const StringRef joint : {"||", "&&"}) {
      const std::vector<CodeWords> parts = split(words, joint);
      if (parts.size() < 2)
        continue;
      const bool decides = joint == "||";
      bool is_known = true;
      for (const CodeWords part : parts) {
        const std::optional<bool> value = valueOf(part);
        if (value == decides)
          return decides;
        is_known &= value.has_value();
      }
      return is_known ? std::optional(!decides) : std::nullopt;
    }
    if (words.size() > 1 && words[0].text == "!") {
      const std::optional<bool> value = valueOf(words.drop_front());
      return value ? std::optional(!*value) : std::nullopt;
    }
    if (words.size() != 1)
      return std::nullopt;
    const auto constant = constants_.find(words[0].text);
    return constant != constants_.end() ? constant->second : truthOf(words[0].text);
  }

  static std::vector<CodeWords> split(CodeWords words, StringRef joint) {
    std::vector<CodeWords> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const StringRef word = words[i].text;
      depth += word == "(" || word == "{" || word == "[";
      depth -= word == ")" || word == "}" || word == "]";
      if (depth == 0 && word == joint) {
        parts.push_back(words.slice(begin, i - begin));
        begin = i + 1;
      }
    }
    parts.push_back(words.drop_front(begin));
    return parts;
  }

  void branch(std::size_t i) {
    std::size_t open = i + 1;
    if (code_[open].text == "constexpr" && open + 1 < code_.size())
      ++open;
    if (code_[open].text != "(")
      return;
    const std::size_t body = behindBrackets(code_, open, "(", ")");
    const CodeWords condition = CodeWords(code_).slice(open + 1, body - open - 1).drop_back();
    const std::optional<bool> value = valueOf(condition);
    if (!value)
      return;
    const std::size_t end = behindStatement(body);
    if (!*value)
      drop(body, end);
    else if (end < code_.size() && code_[end].text == "else")
      drop(end + 1, behindStatement(end + 1));
  }

  std::size_t behindStatement(std::size_t i) const {
    if (i >= code_.size())
      return i;
    if (code_[i].text == "{")
      return behindBrackets(code_, i, "{", "}");
    if (code_[i].text == "if") {
      i += i + 1 < code_.size() && code_[i + 1].text == "constexpr" ? 2 : 1;
      i = behindStatement(behindBrackets(code_, i, "(", ")"));
      return i < code_.size() && code_[i].text == "else" ? behindStatement(i + 1) : i;
    }
    if (code_[i].text == "for" || code_[i].text == "while" || code_[i].text == "switch")
      return behindStatement(behindBrackets(code_, i + 1, "(", ")"));
    for (int depth = 0; i < code_.size(); ++i) {
      const StringRef word = code_[i].text;
      depth += word == "(" || word == "{" || word == "[";
      depth -= word == ")" || word == "}" || word == "]";
      if (depth < 0)
        return i;
      if (depth == 0 && word == ";")
        return i + 1;
    }
    return i;
  }

  void drop(std::size_t first, std::size_t end) {
    for (const CodeWord &word : CodeWords(code_).slice(first, end - first))
      if (word.text != "{" && word.text != "}" && word.text != "(" && word.text != ")")
        dead_.emplace_back(begin(word), begin(word) + word.text.size());
  }

  std::size_t begin(const CodeWord &word) const { return word.text.data() - text_.data(); }

  const std::string &text_;
  std::vector<CodeWord> code_; // without directives
  llvm::StringMap<std::optional<bool>> constants_;
  std::vector<std::pair<std::size_t, std::size_t>> dead_;
};

} // namespace

std::string liveCodeOf(std::string text) {
  for (const auto &[begin, end] : Reader(text).read())
    std::replace_if(
        text.begin() + begin, text.begin() + end, [](char c) { return c != '\n'; }, ' ');
  return text;
}

} // namespace devsan::analyzer
