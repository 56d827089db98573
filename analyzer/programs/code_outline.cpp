#include "analyzer/programs/code_outline.h"

#include "analyzer/programs/code_head.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <optional>

namespace devsan::analyzer {

using llvm::StringRef;

namespace {

using Part = CodeOutline::Part;

// Longer ones are data. Each is read again at each of its braces.
constexpr std::size_t kMaxHead = 2'000; // words

class Outliner {
public:
  explicit Outliner(const std::string &text) : text_(text) {}

  CodeOutline read() {
    takeDirectives(codeWordsOf(text_));
    readCode();
    if (!scopes_.empty() || !is_understood_ || !isBalanced()) {
      llvm::erase_if(outline_.parts,
                     [](const Part &part) { return part.kind != Part::Kind::kMacro; });
      outline_.names = namesIn(text_);
    }
    return std::move(outline_);
  }

private:
  struct Scope {
    std::optional<std::size_t> part; // a class
    StringRef name = {};
    bool is_c = false;
  };

  void takeDirectives(const std::vector<CodeWord> &words) {
    for (std::size_t i = 0; i < words.size();) {
      if (words[i].text != "#" || !words[i].begins_line) {
        code_.push_back(words[i++]);
        continue;
      }
      std::size_t end = i + 1;
      while (end < words.size() && !words[end].begins_line)
        ++end;
      directive(CodeWords(words).slice(i + 1, end - i - 1));
      i = end;
    }
  }

  void directive(CodeWords words) {
    if (words.empty())
      return;
    const StringRef kind = words[0].text;
    if (kind == "define" && words.size() > 1) {
      Part macro{.kind = Part::Kind::kMacro, .name = words[1].text};
      macro.is_exported = isOfExport(words);
      addNames(words.drop_front(2), macro.names);
      for (std::size_t i = 2; i < words.size(); ++i)
        if (words[i].text == "##")
          for (const std::size_t beside : {i - 1, i + 1})
            if (beside < words.size() && isIdentifier(words[beside].text))
              outline_.pasted.push_back(words[beside].text);
      outline_.parts.push_back(std::move(macro));
    } else if (kind == "pragma") {
      addNames(words, outline_.names);
    }
  }

  // The alternatives of an `#if` may each open what is closed once.
  bool isBalanced() const {
    const auto count = [&](StringRef brace) {
      return llvm::count_if(code_, [&](const CodeWord &word) { return word.text == brace; });
    };
    return count("{") == count("}");
  }

  void readCode() {
    std::size_t begin = 0; // of the head
    for (std::size_t i = 0; i < code_.size() && is_understood_;) {
      is_understood_ &= i - begin < kMaxHead;
      const StringRef word = code_[i].text;
      if (word == "(") {
        i = behindBrackets(code_, i, "(", ")");
      } else if (word == ";") {
        declaration(slice(begin, i));
        begin = ++i;
      } else if (word == "}") {
        close(slice(begin, i), i);
        begin = ++i;
      } else if (word == ":" && isAccess(slice(begin, i))) {
        addNames(slice(begin, i), namesAround());
        begin = ++i;
      } else if (word == "{") {
        i = open(begin, i);
      } else {
        ++i;
      }
    }
    addNames(slice(begin, code_.size()), outline_.names);
  }

  void close(CodeWords rest, std::size_t i) {
    if (scopes_.empty()) {
      is_understood_ = false;
      return;
    }
    addNames(rest, namesAround());
    const std::optional<std::size_t> part = scopes_.back().part;
    scopes_.pop_back();
    if (!part)
      return;
    outline_.parts[*part].last_line = code_[i].line;
    // `struct { … } here;`
    if (i + 1 < code_.size() && code_[i + 1].text != ";")
      namesAround().push_back(outline_.parts[*part].name);
  }

  // Moves `begin` behind what it takes; returns where to go on.
  std::size_t open(std::size_t &begin, std::size_t i) {
    const CodeWords words = slice(begin, i);
    const CodeHead head = readHead(words, scope());
    const bool is_c = words.size() == 2 && words[0].text == "extern";
    if (is_c || head.kind == CodeHead::Kind::kNamespace) {
      addNames(words, namesAround());
      scopes_.push_back({.part = std::nullopt, .is_c = is_c});
      return begin = i + 1;
    }
    if (head.kind == CodeHead::Kind::kClass) {
      openClass(words, head);
      return begin = i + 1;
    }
    const std::size_t end = behindBrackets(code_, i, "{", "}");
    if (head.kind == CodeHead::Kind::kFunction && !initializesMember(words)) {
      const std::size_t own = behindMacro(words, head);
      addNames(words.take_front(own), namesAround());
      Part part = functionOf(words, head);
      part.is_implicit |= isOfC();
      part.first_line = words[own].line;
      part.last_line = code_[end - 1].line;
      addNames(slice(i, end), part.names);
      outline_.parts.push_back(std::move(part));
      return begin = end;
    }
    // What goes on behind the brace is an initialiser, or that of a member of several.
    if (end < code_.size() && llvm::StringSwitch<bool>(code_[end].text)
                                  .Cases({";", ",", "{", ")", "}", "[", "."}, true)
                                  .Default(false))
      return end;
    addNames(slice(begin, end), namesAround());
    return begin = end;
  }

  // `REGISTER(Net)` without a `;` is no part of the function behind it.
  static std::size_t behindMacro(CodeWords words, const CodeHead &head) {
    if (words.size() < 2 || words[1].text != "(" || !isIdentifier(words[0].text))
      return 0;
    const std::size_t end = behindBrackets(words, 1, "(", ")");
    return end <= head.qualified_name && end < words.size() ? end : 0;
  }

  void openClass(CodeWords words, const CodeHead &head) {
    addNames(words.take_front(behindMacro(words, head)), namesAround());
    Part part{.kind = Part::Kind::kClass,
              .name = head.name ? words[head.name].text : StringRef(),
              .is_exported = isOfExport(words),
              .is_module = head.is_module,
              .has_bases = head.has_bases,
              .first_line = words.front().line};
    // Libraries use specialisations of their templates: std::hash<Key>.
    part.is_implicit = part.name.empty() || head.is_specialization;
    part.is_exported |= head.is_specialization;
    addNames(words, part.names, part.name);
    scopes_.push_back({.part = outline_.parts.size(), .name = part.name});
    outline_.parts.push_back(std::move(part));
  }

  // `C() : a{1}, b(2) {`: that of `a`.
  static bool initializesMember(CodeWords words) {
    if (words.empty() || !(isIdentifier(words.back().text) || words.back().text == ">"))
      return false;
    for (std::size_t i = 0; i < words.size();) {
      if (words[i].text == "(") {
        i = behindBrackets(words, i, "(", ")");
        if (i < words.size() && words[i].text == ":")
          return true;
        continue;
      }
      ++i;
    }
    return false;
  }

  static Part functionOf(CodeWords words, const CodeHead &head) {
    Part part{.name = words[head.name].text, .scope = head.scope, .is_implicit = head.is_implicit};
    addNames(words.take_front(head.qualified_name), part.names);
    addNames(words.drop_front(head.name + 1), part.names);
    return part;
  }

  // Says all but its own name where it declares a function; that of one for others is said.
  void declaration(CodeWords words) {
    if (words.empty() || isForward(words))
      return;
    if (words.size() >= 4 && words[0].text.starts_with("TORCH_MODULE") && words[1].text == "(") {
      holder(words);
      return;
    }
    std::vector<StringRef> &around = namesAround();
    if (const StringRef name = instantiatedClass(words); !name.empty()) {
      addNames(words, around, name);
      return;
    }
    const CodeHead head = readHead(words, scope());
    const bool is_plain = llvm::none_of(words, [](const CodeWord &word) {
      return word.text == "=" || word.text == "{" || word.text.starts_with("\"");
    });
    if (head.kind != CodeHead::Kind::kFunction || isOfExport(words) || isOfC() ||
        (head.is_implicit && !head.name) || !(is_plain || isPure(words))) {
      addNames(words, around);
      return;
    }
    Part part = functionOf(words, head);
    llvm::append_range(around, part.names);
    // What marks it for others may be a macro.
    part.scope = {};
    part.is_implicit = false;
    outline_.parts.push_back(std::move(part));
  }

  // `… = 0`, `= default`
  static bool isPure(CodeWords words) {
    return words.size() > 2 && words[words.size() - 2].text == "=" &&
           llvm::StringSwitch<bool>(words.back().text)
               .Cases({"0", "default", "delete"}, true)
               .Default(false);
  }

  // `TORCH_MODULE(Net);`, `TORCH_MODULE_IMPL(Net, OtherImpl);`
  void holder(CodeWords words) {
    Part part{.kind = Part::Kind::kMacro, .name = words[2].text};
    part.is_holder = words[3].text != ",";
    addNames(words.drop_front(3), part.names);
    outline_.parts.push_back(std::move(part));
  }

  // `template class Net<float>`: compiled, but not used.
  static StringRef instantiatedClass(CodeWords words) {
    if (words[0].text == "extern")
      words = words.drop_front();
    if (words.size() < 4 || words[0].text != "template" ||
        (words[1].text != "class" && words[1].text != "struct"))
      return {};
    const auto *end = llvm::find_if(words, [](const CodeWord &word) { return word.text == "<"; });
    return std::prev(end)->text;
  }

  // `friend class ns::Net`, no `struct Config config`.
  static bool isForward(CodeWords words) {
    if (words[0].text == "friend")
      words = words.drop_front();
    if (words.size() < 2 || !llvm::StringSwitch<bool>(words[0].text)
                                 .Cases({"class", "struct", "union", "enum"}, true)
                                 .Default(false))
      return false;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (i % 2 == 1 ? !isIdentifier(words[i].text) : words[i].text != "::")
        return false;
    return true;
  }

  static bool isAccess(CodeWords words) {
    return !words.empty() && llvm::StringSwitch<bool>(words.back().text)
                                 .Cases({"public", "protected", "private"}, true)
                                 .Cases({"signals", "slots", "Q_SIGNALS", "Q_SLOTS"}, true)
                                 .Default(false);
  }

  StringRef scope() const { return scopes_.empty() ? StringRef() : scopes_.back().name; }

  bool isOfC() const {
    return llvm::any_of(scopes_, [](const Scope &scope) { return scope.is_c; });
  }

  std::vector<StringRef> &namesAround() {
    for (const Scope &scope : llvm::reverse(scopes_))
      if (scope.part)
        return outline_.parts[*scope.part].names;
    return outline_.names;
  }

  static void addNames(CodeWords words, std::vector<StringRef> &names, StringRef but = {}) {
    for (const CodeWord &word : words) {
      StringRef name = word.text;
      if (name.front() == '"')
        name = name.trim('"'); // as who looks it up says it
      if (!name.empty() && isIdentifier(name) && name != but &&
          llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; }))
        names.push_back(name);
    }
  }

  CodeWords slice(std::size_t begin, std::size_t end) const {
    return CodeWords(code_).slice(begin, end - begin);
  }

  const std::string &text_;
  std::vector<CodeWord> code_; // without directives
  std::vector<Scope> scopes_;
  bool is_understood_ = true;
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
    if (!word.empty() && isIdentifier(word))
      names.push_back(word);
    text = text.drop_front(std::max<std::size_t>(word.size(), 1));
  }
  return names;
}

} // namespace devsan::analyzer
