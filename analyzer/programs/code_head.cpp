#include "analyzer/programs/code_head.h"

#include "analyzer/programs/words.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <optional>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

std::size_t behindRound(CodeWords words, std::size_t i) {
  return behindBrackets(words, i, "(", ")");
}

// Of `< … >` that end in front of `end`, where they begin; `end` where none end there.
std::size_t beginOfArguments(CodeWords words, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end; i-- > 0;) {
    depth += (words[i].text == ">") - (words[i].text == "<");
    if (depth <= 0)
      return depth == 0 && i != end - 1 ? i : end;
  }
  return end;
}

bool isKeyOfClass(StringRef word) {
  return word == "class" || word == "struct" || word == "union";
}

bool isOfAttribute(StringRef word) {
  return word.starts_with("__attribute") || word == "alignas" || word == "__declspec";
}

// Between the parameters of a function and its body.
bool followsParameters(StringRef word) {
  return isOfAttribute(word) ||
         llvm::StringSwitch<bool>(word)
             .Cases({"const", "volatile", "noexcept", "override", "final", "mutable"}, true)
             .Cases({"requires", "try", "throw", "asm"}, true)
             .Default(false);
}

// As macros are named.
bool isUpper(StringRef word) {
  return word.size() > 1 && llvm::none_of(word, [](char c) { return llvm::isLower(c); });
}

// In front of `(`, these are no name of a function.
bool isNoName(StringRef word) {
  return isOfAttribute(word) || followsParameters(word) ||
         llvm::StringSwitch<bool>(word)
             .Cases({"decltype", "sizeof", "alignof", "if", "for", "while", "switch"}, true)
             .Cases({"void", "bool", "char", "int", "float", "double", "auto"}, true)
             .Cases({"long", "short", "unsigned", "signed", "return", "explicit"}, true)
             .Default(false);
}

// Of the bases: `public torch::nn::Module`.
bool isModule(CodeWords bases) {
  std::string name;
  for (const CodeWord &word : bases)
    if (word.text != "public" && word.text != "virtual")
      name += word.text;
  StringRef base = name;
  base.consume_front("::");
  base.consume_front("torch::");
  return base == "nn::Module";
}

class HeadReader {
public:
  HeadReader(CodeWords words, StringRef scope) : words_(words), scope_(scope) {}

  CodeHead read() {
    begin_ = behindTemplates();
    std::optional<std::size_t> key;
    for (std::size_t i = begin_; i < words_.size();) {
      const StringRef word = words_[i].text;
      if (word == "namespace")
        return {.kind = CodeHead::Kind::kNamespace};
      if (word == "operator")
        return function(i, /*is_implicit=*/true);
      if (word == "enum" || word == "using" || word == "typedef" || word == "concept" ||
          word == "=" || word == "{")
        return {};
      if (word == ":" && key)
        return classAt(*key);
      if (isKeyOfClass(word) && !key)
        key = i;
      if (word == "(") {
        const std::size_t end = behindRound(words_, i);
        if (const std::optional<std::size_t> name = nameBefore(i);
            name && isFunction(*name, end, key))
          return function(*name, end < words_.size() && words_[end].text == "(");
        i = end;
      } else if (word == "[") {
        i = behindBrackets(words_, i, "[", "]");
      } else if (word == "<") {
        i = behindBrackets(words_, i, "<", ">");
      } else {
        ++i;
      }
    }
    return key ? classAt(*key) : CodeHead();
  }

private:
  std::size_t behindTemplates() const {
    std::size_t i = 0;
    while (i < words_.size() && (words_[i].text == "template" || words_[i].text == "extern"))
      i = i + 1 < words_.size() && words_[i + 1].text == "<"
              ? behindBrackets(words_, i + 1, "<", ">")
              : i + 1;
    return i;
  }

  // The name that `(` follows.
  std::optional<std::size_t> nameBefore(std::size_t i) const {
    const std::size_t end = beginOfArguments(words_, i);
    if (end <= begin_ || !isIdentifier(words_[end - 1].text) || isNoName(words_[end - 1].text))
      return std::nullopt;
    return end - 1;
  }

  // Not what a macro or an attribute is given: `__launch_bounds__(256) kernel(…)`,
  // `class EXPORT(x) Net`.
  bool isFunction(std::size_t name, std::size_t end, std::optional<std::size_t> key) const {
    if (key && *key + 1 == name)
      return false;
    return end >= words_.size() || !isIdentifier(words_[end].text) ||
           followsParameters(words_[end].text) || isUpper(words_[end].text);
  }

  CodeHead function(std::size_t name, bool is_implicit) const {
    CodeHead head{.kind = CodeHead::Kind::kFunction, .name = name, .scope = scope_};
    std::size_t at = name;
    if (at > begin_ && words_[at - 1].text == "~") {
      is_implicit = true;
      --at;
    }
    if (at > begin_ && words_[at - 1].text == "::") {
      const std::size_t end = beginOfArguments(words_, at - 1);
      if (end > begin_ && isIdentifier(words_[end - 1].text))
        head.scope = words_[end - 1].text;
      while (at > begin_ && words_[at - 1].text == "::") {
        at = beginOfArguments(words_, at - 1);
        at -= at > begin_ && isIdentifier(words_[at - 1].text);
      }
    }
    head.qualified_name = at;
    // Nothing in front of it: a constructor or a macro.
    head.is_implicit = is_implicit || at == begin_ || words_[name].text == head.scope ||
                       isUpper(words_[name].text) || isOfExport(words_) ||
                       llvm::any_of(words_, [](const CodeWord &word) {
                         return word.text == "virtual" || word.text == "override" ||
                                word.text == "final" || word.text == "constructor" ||
                                word.text == "used";
                       });
    return head;
  }

  CodeHead classAt(std::size_t key) const {
    CodeHead head{.kind = CodeHead::Kind::kClass};
    for (std::size_t i = key + 1; i < words_.size();) {
      const StringRef word = words_[i].text;
      if (word == ":") {
        head.is_module = isModule(words_.drop_front(i + 1));
        head.has_bases = !head.is_module;
        break;
      }
      if (word == "[") {
        i = behindBrackets(words_, i, "[", "]");
      } else if (word == "(") {
        i = behindRound(words_, i);
      } else if (word == "<") {
        head.is_specialization = true;
        i = behindBrackets(words_, i, "<", ">");
      } else {
        if (isIdentifier(word) && word != "final")
          head.name = i;
        ++i;
      }
    }
    head.qualified_name = head.name;
    return head;
  }

  const CodeWords words_;
  const StringRef scope_;
  std::size_t begin_ = 0;
};

} // namespace

std::vector<CodeWord> codeWordsOf(const std::string &text) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 =
      options.CPlusPlus20 = options.LineComment = true;
  const char *begin = text.data(), *end = begin + text.size();
  clang::Lexer lexer(clang::SourceLocation(), options, begin, begin, end);
  std::vector<CodeWord> words;
  unsigned line = 1;
  const char *counted = begin;
  for (clang::Token token; !lexer.LexFromRawLexer(token) || token.isNot(clang::tok::eof);) {
    const StringRef word(lexer.getBufferLocation() - token.getLength(), token.getLength());
    if (word.empty())
      break;
    line += std::count(counted, word.data(), '\n');
    counted = word.data();
    // One by one: they close templates.
    if (word == ">>" || word == ">>>") {
      for (std::size_t i = 0; i < word.size(); ++i)
        words.push_back({word.substr(i, 1), line, false});
      continue;
    }
    words.push_back({word, line, token.isAtStartOfLine()});
  }
  return words;
}

std::size_t behindBrackets(CodeWords words, std::size_t i, StringRef open, StringRef close) {
  for (int depth = 0; i < words.size(); ++i) {
    depth += (words[i].text == open) - (words[i].text == close);
    if (depth == 0)
      return i + 1;
  }
  return i;
}

bool isOfExport(CodeWords words) {
  return llvm::any_of(words, [](const CodeWord &word) {
    return word.text.contains("export") || word.text.contains("EXPORT") ||
           word.text == "\"default\"" || word.text == "\"C\"";
  });
}

CodeHead readHead(CodeWords words, StringRef scope) {
  return HeadReader(words, scope).read();
}

} // namespace devsan::analyzer
