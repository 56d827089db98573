#include "analyzer/files/code_outline.h"

#include <clang/Basic/LangOptions.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <optional>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

bool isName(StringRef word) {
  return llvm::isAlpha(word.front()) || word.front() == '_';
}

struct Word {
  StringRef text;
  unsigned line = 0;
  bool begins_line = false;
};
using Words = llvm::ArrayRef<Word>;

std::vector<Word> lexed(const std::string &text) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus14 = options.CPlusPlus17 =
      options.CPlusPlus20 = options.LineComment = true;
  const char *begin = text.data(), *end = begin + text.size();
  clang::Lexer lexer(clang::SourceLocation(), options, begin, begin, end);
  std::vector<Word> words;
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

// The place behind the counterpart of what opens at `i`; the end where there is none.
std::size_t behind(Words words, std::size_t i, StringRef open, StringRef close) {
  for (int depth = 0; i < words.size(); ++i) {
    depth += (words[i].text == open) - (words[i].text == close);
    if (depth == 0)
      return i + 1;
  }
  return i;
}
std::size_t behindRound(Words words, std::size_t i) {
  return behind(words, i, "(", ")");
}

// Of `< … >` that end in front of `end`, where they begin; `end` where none end there.
std::size_t beginOfArguments(Words words, std::size_t end) {
  int depth = 0;
  for (std::size_t i = end; i-- > 0;) {
    depth += (words[i].text == ">") - (words[i].text == "<");
    if (depth == 0)
      return i == end - 1 ? end : i;
  }
  return end;
}

bool isKeyOfClass(StringRef word) {
  return word == "class" || word == "struct" || word == "union";
}

// Between the parameters of a function and its body.
bool followsParameters(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"const", "volatile", "noexcept", "override", "final", "mutable"}, true)
      .Cases({"requires", "try", "throw", "asm"}, true)
      .Default(false);
}

// In front of a name, these make no declaration of it.
bool isOfExpression(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"return", "new", "delete", "throw", "case", "goto", "else", "do"}, true)
      .Cases({"co_return", "co_await", "co_yield", "sizeof", "and", "or", "not"}, true)
      .Default(false);
}

// What stands in front of `;` or of a body.
struct Head {
  enum class Kind { kOther, kFunction, kClass, kNamespace };
  Kind kind = Kind::kOther;
  std::size_t name = 0;  // where it stands
  std::size_t named = 0; // where it begins, with its scopes
  StringRef owner = {};
  bool by_itself = false;
  bool has_bases = false;
};

// `__declspec(dllexport)`, `__attribute__((visibility("default")))`, `JNIEXPORT`, `NET_EXPORT`.
bool isOfExport(StringRef word) {
  return word.contains("export") || word.contains("EXPORT") || word == "\"default\"";
}

class HeadReader {
public:
  HeadReader(Words words, StringRef owner) : words_(words), owner_(owner) {}

  Head read() {
    std::size_t i = 0;
    while (i < words_.size() && words_[i].text == "template")
      i = i + 1 < words_.size() && words_[i + 1].text == "<" ? behind(words_, i + 1, "<", ">")
                                                             : i + 1;
    std::optional<std::size_t> key;
    for (std::size_t j = i; j < words_.size();) {
      const StringRef word = words_[j].text;
      if (word == "namespace")
        return {.kind = Head::Kind::kNamespace};
      if (word == "enum" || word == "using" || word == "typedef" || word == "concept")
        return {};
      if (word == "operator")
        return function(j, i, /*by_itself=*/true);
      if (word == "=")
        return {};
      if (word == ":" && key)
        return classAt(*key);
      if (word == "[") {
        j = behind(words_, j, "[", "]");
        continue;
      }
      if (isKeyOfClass(word) && !key)
        key = j;
      if (word == "(") {
        const std::size_t end = behindRound(words_, j);
        if (const std::size_t name = nameBefore(j);
            name < j && name >= i && isFunction(name, end, key))
          return function(name, i, false);
        j = end;
        continue;
      }
      ++j;
    }
    return key ? classAt(*key) : Head();
  }

private:
  // The name that `(` follows, or `j`.
  std::size_t nameBefore(std::size_t j) const {
    const std::size_t end = beginOfArguments(words_, j);
    return end > 0 && isName(words_[end - 1].text) ? end - 1 : j;
  }

  // Not what a macro or an attribute is given: `__launch_bounds__(256) kernel(…)`.
  bool isFunction(std::size_t name, std::size_t end, std::optional<std::size_t> key) const {
    if (words_[name].text == "alignas" || words_[name].text == "decltype" ||
        words_[name].text.starts_with("__attribute") || words_[name].text == "__declspec")
      return false;
    if (key && *key + 1 == name) // `class EXPORT(x) Name`
      return false;
    return end >= words_.size() || !isName(words_[end].text) ||
           followsParameters(words_[end].text) || isUpper(words_[end].text);
  }

  // As macros are that stand for `override` or an attribute.
  static bool isUpper(StringRef word) {
    return llvm::none_of(word, [](char c) { return llvm::isLower(c); });
  }

  Head function(std::size_t name, std::size_t begin, bool by_itself) const {
    Head head{.kind = Head::Kind::kFunction, .name = name, .named = name, .owner = owner_};
    std::size_t at = name;
    if (at > begin && words_[at - 1].text == "~") {
      by_itself = true;
      --at;
    }
    if (at > begin && words_[at - 1].text == "::") {
      const std::size_t end = beginOfArguments(words_, at - 1);
      if (end > begin && isName(words_[end - 1].text))
        head.owner = words_[end - 1].text;
      while (at > begin && words_[at - 1].text == "::") {
        at = beginOfArguments(words_, at - 1);
        at -= at > begin && isName(words_[at - 1].text);
      }
    }
    head.named = at;
    // A constructor, or what a macro makes of its arguments.
    head.by_itself = by_itself || at == begin || words_[name].text == head.owner ||
                     isOfExpression(words_[at - 1].text);
    head.by_itself |= llvm::any_of(words_, [](const Word &word) {
      return word.text == "virtual" || word.text == "override" || word.text == "final" ||
             word.text == "constructor" || word.text == "used" || word.text == "\"C\"" ||
             isOfExport(word.text);
    });
    return head;
  }

  Head classAt(std::size_t key) const {
    Head head{.kind = Head::Kind::kClass};
    for (std::size_t i = key + 1; i < words_.size();) {
      const StringRef word = words_[i].text;
      if (word == ":") {
        head.has_bases = true;
        break;
      }
      if (word == "[" || word == "(" || word == "<") {
        i = word == "["   ? behind(words_, i, "[", "]")
            : word == "(" ? behindRound(words_, i)
                          : behind(words_, i, "<", ">");
        continue;
      }
      if (isName(word) && word != "final")
        head.name = i;
      ++i;
    }
    head.named = head.name;
    return head;
  }

  const Words words_;
  const StringRef owner_;
};

class Outliner {
public:
  explicit Outliner(const std::string &text) : text_(text) {}

  CodeOutline read() {
    takeDirectives(lexed(text_));
    readCode();
    outline_.is_understood = scopes_.empty() && isBalanced();
    if (outline_.is_understood)
      return std::move(outline_);
    CodeOutline all;
    all.words = namesIn(text_);
    return all;
  }

private:
  struct Scope {
    std::optional<std::size_t> part; // a class
    StringRef owner;
    bool is_c = false; // what C sees, others may call
  };

  void takeDirectives(const std::vector<Word> &words) {
    std::vector<bool> is_dead; // of each `#if` around
    for (std::size_t i = 0; i < words.size();) {
      if (words[i].text != "#" || !words[i].begins_line) {
        if (llvm::none_of(is_dead, [](bool dead) { return dead; }))
          code_.push_back(words[i]);
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      while (end < words.size() && !words[end].begins_line)
        ++end;
      directive(Words(words).slice(i + 1, end - i - 1), is_dead);
      i = end;
    }
  }

  void directive(Words words, std::vector<bool> &is_dead) {
    if (words.empty())
      return;
    const StringRef kind = words[0].text;
    if (kind == "if" || kind == "ifdef" || kind == "ifndef") {
      is_dead.push_back(kind == "if" && words.size() == 2 && words[1].text == "0");
    } else if (kind.starts_with("el")) {
      if (!is_dead.empty())
        is_dead.back() = false;
    } else if (kind == "endif") {
      if (!is_dead.empty())
        is_dead.pop_back();
    } else if (kind == "define" && words.size() > 1) {
      CodeOutline::Part macro{.kind = CodeOutline::Part::Kind::kMacro, .name = words[1].text};
      macro.is_export = llvm::any_of(words, [](const Word &word) { return isOfExport(word.text); });
      addNames(words.drop_front(2), macro.words);
      for (std::size_t i = 2; i < words.size(); ++i)
        if (words[i].text == "##")
          for (const std::size_t beside : {i - 1, i + 1})
            if (beside < words.size() && isName(words[beside].text))
              outline_.pasted.push_back(words[beside].text);
      outline_.parts.push_back(std::move(macro));
    } else if (kind == "pragma") {
      addNames(words, outline_.words);
    }
  }

  // The alternatives of an `#if` may each open what is closed once.
  bool isBalanced() const {
    return llvm::count_if(code_, [](const Word &word) { return word.text == "{"; }) ==
           llvm::count_if(code_, [](const Word &word) { return word.text == "}"; });
  }

  void readCode() {
    std::size_t begin = 0; // of the head
    for (std::size_t i = 0; i < code_.size();) {
      const StringRef word = code_[i].text;
      if (word == "(") {
        i = behindRound(code_, i);
      } else if (word == ";") {
        declaration(slice(begin, i));
        begin = ++i;
      } else if (word == "}") {
        if (scopes_.empty()) {
          scopes_.emplace_back(); // nothing that was opened
          return;
        }
        addNames(slice(begin, i), wordsAround());
        if (const auto part = scopes_.back().part)
          outline_.parts[*part].last_line = code_[i].line;
        scopes_.pop_back();
        begin = ++i;
      } else if (word == ":" && isAccess(slice(begin, i))) {
        begin = ++i;
      } else if (word == "{") {
        i = open(begin, i);
      } else {
        ++i;
      }
    }
    addNames(slice(begin, code_.size()), outline_.words);
  }

  // Moves `begin` behind what it takes; returns where to go on.
  std::size_t open(std::size_t &begin, std::size_t i) {
    const Words words = slice(begin, i);
    const bool is_c = words.size() == 2 && words[0].text == "extern";
    const Head head = HeadReader(words, owner()).read();
    if (is_c || head.kind == Head::Kind::kNamespace) {
      scopes_.push_back({std::nullopt, {}, is_c});
      begin = i + 1;
      return begin;
    }
    if (head.kind == Head::Kind::kClass) {
      CodeOutline::Part part{.kind = CodeOutline::Part::Kind::kClass,
                             .name =
                                 words.empty() || !head.name ? StringRef() : words[head.name].text,
                             .has_bases = head.has_bases,
                             .first_line = words.front().line};
      part.by_itself = part.name.empty();
      part.is_export = llvm::any_of(words, [](const Word &word) { return isOfExport(word.text); });
      addNames(words, part.words, part.name);
      scopes_.push_back({outline_.parts.size(), part.name});
      outline_.parts.push_back(std::move(part));
      begin = i + 1;
      return begin;
    }
    const std::size_t end = behind(code_, i, "{", "}");
    if (head.kind != Head::Kind::kFunction || initializesMember(words))
      return end; // goes on behind it
    CodeOutline::Part part = functionOf(words, head);
    part.by_itself |= llvm::any_of(scopes_, [](const Scope &scope) { return scope.is_c; });
    part.first_line = words.front().line;
    part.last_line = code_[end - 1].line;
    addNames(slice(i, end), part.words);
    outline_.parts.push_back(std::move(part));
    begin = end;
    return end;
  }

  // `C() : a{1}, b(2) {`: that of `a`.
  static bool initializesMember(Words words) {
    if (words.empty() || !(isName(words.back().text) || words.back().text == ">") ||
        followsParameters(words.back().text))
      return false;
    for (std::size_t i = 0; i < words.size();) {
      if (words[i].text == "(") {
        i = behindRound(words, i);
        if (i < words.size() && words[i].text == ":")
          return true;
        continue;
      }
      ++i;
    }
    return false;
  }

  static CodeOutline::Part functionOf(Words words, const Head &head) {
    CodeOutline::Part part{
        .name = words[head.name].text, .owner = head.owner, .by_itself = head.by_itself};
    addNames(words.take_front(head.named), part.words);
    addNames(words.drop_front(head.name + 1), part.words);
    return part;
  }

  void declaration(Words words) {
    if (words.empty() || isForward(words))
      return;
    if (const StringRef name = instantiatedClass(words); !name.empty()) {
      addNames(words, wordsAround(), name);
      return;
    }
    if (words.size() >= 4 && words[0].text.starts_with("TORCH_MODULE") && words[1].text == "(") {
      holder(words);
      return;
    }
    const Head head = HeadReader(words, owner()).read();
    // `int n = f();` and what macros stand for are none.
    if (head.kind == Head::Kind::kFunction && !head.by_itself && words[0].text != "using") {
      outline_.parts.push_back(functionOf(words, head));
      return;
    }
    if (head.kind == Head::Kind::kFunction && head.named > 0) {
      addNames(words.take_front(head.named), wordsAround());
      addNames(words.drop_front(head.name + 1), wordsAround());
      return;
    }
    addNames(words, wordsAround());
  }

  // `TORCH_MODULE(Net);`: who has a Net has a NetImpl.
  void holder(Words words) {
    CodeOutline::Part part{.kind = CodeOutline::Part::Kind::kMacro, .name = words[2].text};
    if (words[3].text == ",")
      addNames(words.drop_front(4), part.words);
    else
      part.is_holder = true;
    outline_.parts.push_back(std::move(part));
  }

  // `template class Net<float>`: compiled, but not used.
  static StringRef instantiatedClass(Words words) {
    if (words[0].text == "extern")
      words = words.drop_front();
    if (words.size() < 3 || words[0].text != "template" || !isKeyOfClass(words[1].text))
      return {};
    const auto *end = llvm::find_if(words, [](const Word &word) { return word.text == "<"; });
    return std::prev(end)->text;
  }

  // `friend class ns::Net`
  static bool isForward(Words words) {
    if (words[0].text == "friend")
      words = words.drop_front();
    return words.size() > 1 && (isKeyOfClass(words[0].text) || words[0].text == "enum") &&
           llvm::all_of(words,
                        [](const Word &word) { return isName(word.text) || word.text == "::"; });
  }

  static bool isAccess(Words words) {
    return !words.empty() && llvm::StringSwitch<bool>(words.back().text)
                                 .Cases({"public", "protected", "private"}, true)
                                 .Cases({"signals", "slots", "Q_SIGNALS", "Q_SLOTS"}, true)
                                 .Default(false);
  }

  StringRef owner() const { return scopes_.empty() ? StringRef() : scopes_.back().owner; }

  std::vector<StringRef> &wordsAround() {
    for (const Scope &scope : llvm::reverse(scopes_))
      if (scope.part)
        return outline_.parts[*scope.part].words;
    return outline_.words;
  }

  static void addNames(Words words, std::vector<StringRef> &names, StringRef but = {}) {
    for (const Word &word : words) {
      StringRef name = word.text;
      if (name.front() == '"')
        name = name.trim('"'); // as who looks it up says it
      if (!name.empty() && isName(name) && name != but &&
          llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
        names.push_back(name);
    }
  }

  Words slice(std::size_t begin, std::size_t end) const {
    return Words(code_).slice(begin, end - begin);
  }

  const std::string &text_;
  std::vector<Word> code_; // without directives
  std::vector<Scope> scopes_;
  CodeOutline outline_;
};

} // namespace

CodeOutline outlineOf(const std::string &text) {
  return Outliner(text).read();
}

std::vector<StringRef> namesIn(StringRef text) {
  std::vector<StringRef> names;
  const auto is_part = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!text.empty()) {
    const StringRef word = text.take_while(is_part);
    if (!word.empty() && isName(word))
      names.push_back(word);
    text = text.drop_front(std::max<std::size_t>(word.size(), 1));
  }
  return names;
}

} // namespace devsan::analyzer
