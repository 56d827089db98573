#include "analyzer/programs/live_code.h"

#include "analyzer/files/source_files.h"
#include "analyzer/programs/code_head.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

class DeadCode {
public:
  DeadCode(const std::string &text, const Switches &switches) : text_(text), switches_(switches) {}

  // From where to where each dead part goes.
  std::vector<std::pair<std::size_t, std::size_t>> read() {
    takeDirectives(codeWordsOf(text_));
    is_dead_.resize(code_.size());
    const bool has_goto =
        llvm::any_of(code_, [](const CodeWord &word) { return word.text == "goto"; });
    for (std::size_t i = 0; i + 1 < code_.size() && !has_goto; ++i)
      if (!is_dead_[i] && code_[i].text == "if")
        branch(i);
      else if (!is_dead_[i] && code_[i].text == "?")
        choice(i);
    return std::move(dead_);
  }

private:
  void takeDirectives(const std::vector<CodeWord> &words) {
    unsigned directives = 0;
    for (std::size_t i = 0; i < words.size();) {
      const bool is_directive = words[i].text == "#" && words[i].begins_line;
      std::size_t end = i + 1;
      while (is_directive && end < words.size() && !words[end].begins_line)
        ++end;
      if (is_directive) {
        directive(CodeWords(words).slice(i + 1, end - i - 1));
        ++directives;
      } else if (llvm::is_contained(conditions_, std::optional(false))) {
        dead_.emplace_back(begin(words[i]), begin(words[i]) + words[i].text.size());
      } else {
        code_.push_back(words[i]);
        directives_.push_back(directives);
      }
      i = end;
    }
  }

  void directive(CodeWords words) {
    if (words.empty())
      return;
    const StringRef kind = words[0].text;
    if (kind == "if") {
      conditions_.push_back(constantOf(words.drop_front()));
    } else if (kind == "ifdef" || kind == "ifndef") {
      conditions_.push_back(std::nullopt);
    } else if (conditions_.empty()) {
      return;
    } else if (kind == "endif") {
      conditions_.pop_back();
    } else if (kind == "else" && conditions_.back()) {
      conditions_.back() = !*conditions_.back();
    } else if (kind.starts_with("elif")) {
      conditions_.back() = conditions_.back() == true ? std::optional(false) : std::nullopt;
    }
  }

  // Of what the preprocessor sees; a name may be defined anywhere.
  static std::optional<bool> constantOf(CodeWords words) {
    static const Switches none;
    static const std::string no_text;
    return DeadCode(no_text, none).valueOf(words);
  }

  std::optional<bool> valueOf(CodeWords words) const {
    constexpr std::size_t kMaxWords = 200; // of a condition
    if (words.size() > kMaxWords)
      return std::nullopt;
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
    while (words.size() > 2 && isIdentifier(words[0].text) &&
           (words[1].text == "." || words[1].text == "->" || words[1].text == "::"))
      words = words.drop_front(2);
    if (words.size() != 1)
      return std::nullopt;
    const std::optional<bool> value = truthOf(words[0].text);
    return value ? value : switches_.valueOf(words[0].text);
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
    if (body < open + 3 || code_[body - 1].text != ")")
      return;
    const std::optional<bool> value = valueOf(CodeWords(code_).slice(open + 1, body - open - 2));
    if (!value)
      return;
    const std::size_t end = behindStatement(body);
    if (!*value)
      drop(i, body, end);
    else if (end < code_.size() && code_[end].text == "else")
      drop(i, end + 1, behindStatement(end + 1));
  }

  // `on_gpu ? torch::kCUDA : torch::kCPU`
  void choice(std::size_t i) {
    std::size_t begin = i;
    while (begin > 0 &&
           (isIdentifier(code_[begin - 1].text) || code_[begin - 1].text == "." ||
            code_[begin - 1].text == "->" || code_[begin - 1].text == "!" ||
            code_[begin - 1].text == "::") &&
           code_[begin - 1].text != "return")
      --begin;
    const StringRef before = begin ? code_[begin - 1].text : StringRef("\n");
    if (before != "(" && before != "=" && before != "," && before != "{" && before != "return")
      return;
    const std::optional<bool> value = valueOf(CodeWords(code_).slice(begin, i - begin));
    if (!value)
      return;
    const std::size_t colon = behindOperand(i + 1);
    if (colon >= code_.size() || code_[colon].text != ":")
      return;
    *value ? drop(i, colon + 1, behindOperand(colon + 1)) : drop(i, i + 1, colon);
  }

  // The end of an operand of a choice: `:`, `,`, `;` or what closes a bracket around it.
  std::size_t behindOperand(std::size_t i) const {
    for (int depth = 0, choices = 0; i < code_.size(); ++i) {
      const StringRef word = code_[i].text;
      depth += word == "(" || word == "{" || word == "[";
      depth -= word == ")" || word == "}" || word == "]";
      choices += depth == 0 && word == "?";
      if (depth < 0 ||
          (depth == 0 && (word == "," || word == ";" || (word == ":" && choices-- == 0))))
        return i;
    }
    return i;
  }

  static constexpr unsigned kMaxDepth = 100; // more than people write

  std::size_t behindStatement(std::size_t i, unsigned depth = 0) const {
    while (i + 1 < code_.size() && code_[i].text == "[" && code_[i + 1].text == "[")
      i = behindBrackets(code_, i, "[", "]");
    if (i >= code_.size() || code_[i].text == "try" ||
        (i + 1 < code_.size() && code_[i + 1].text == ":"))
      return i; // it goes on behind its brace
    if (code_[i].text == "{")
      return behindBrackets(code_, i, "{", "}");
    // A chain of `else if`, or what stands in it, may be long.
    if (code_[i].text == "if" || code_[i].text == "for" || code_[i].text == "while" ||
        code_[i].text == "switch") {
      while (true) {
        const bool is_branch = code_[i].text == "if";
        const bool is_constexpr = i + 1 < code_.size() && code_[i + 1].text == "constexpr";
        i = behindBrackets(code_, i + (is_branch && is_constexpr ? 2 : 1), "(", ")");
        if (depth >= kMaxDepth)
          return i;
        i = behindStatement(i, depth + 1);
        if (!is_branch || i >= code_.size() || code_[i].text != "else")
          return i;
        if (++i >= code_.size() || code_[i].text != "if")
          return behindStatement(i, depth + 1);
      }
    }
    for (int brackets = 0; i < code_.size(); ++i) {
      const StringRef word = code_[i].text;
      brackets += word == "(" || word == "{" || word == "[";
      brackets -= word == ")" || word == "}" || word == "]";
      if (brackets < 0)
        return i;
      if (brackets == 0 && word == ";")
        return i + 1;
    }
    return i;
  }

  // Alternatives of the preprocessor behind the condition may each be another statement.
  void drop(std::size_t condition, std::size_t first, std::size_t end) {
    if (end <= first || directives_[condition] != directives_[end - 1])
      return;
    for (std::size_t i = first; i < end; ++i) {
      const CodeWord &word = code_[i];
      is_dead_[i] = true;
      if (word.text != "{" && word.text != "}" && word.text != "(" && word.text != ")")
        dead_.emplace_back(begin(word), begin(word) + word.text.size());
    }
  }

  std::size_t begin(const CodeWord &word) const { return word.text.data() - text_.data(); }

  const std::string &text_;
  const Switches &switches_;
  std::vector<CodeWord> code_;                  // without directives
  std::vector<unsigned> directives_;            // in front of each word of it
  std::vector<bool> is_dead_;                   // each word of it
  std::vector<std::optional<bool>> conditions_; // of each `#if` around
  std::vector<std::pair<std::size_t, std::size_t>> dead_;
};

} // namespace

std::string liveCodeOf(std::string text, const Switches &switches) {
  for (const auto &[begin, end] : DeadCode(text, switches).read())
    std::replace_if(
        text.begin() + begin, text.begin() + end, [](char c) { return c != '\n'; }, ' ');
  return text;
}

LiveTexts::LiveTexts(const ProjectFiles &files) {
  for (const std::string &path : files.code)
    switches_.addCode(written(path));
  for (const auto &other : files.others) // code may include it
    if (llvm::is_contained({".inl", ".ipp", ".tpp", ".txx", ".tcc", ".inc", ".def"},
                           llvm::sys::path::extension(other.getKey())))
      for (const std::string &path : other.getValue())
        switches_.addCode(written(path));
}

const std::string &LiveTexts::written(const std::string &path) {
  const auto [known, is_new] = by_path_.try_emplace(path);
  if (is_new)
    known->second.written = textOf(path);
  return known->second.written;
}

const std::string &LiveTexts::of(const std::string &path) {
  const std::string &text = written(path);
  std::optional<std::string> &live = by_path_[path].live;
  if (!live)
    live = liveCodeOf(text, switches_);
  return *live;
}

} // namespace devsan::analyzer
