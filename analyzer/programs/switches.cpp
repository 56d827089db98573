#include "analyzer/programs/switches.h"

#include "analyzer/programs/called_code.h"
#include "analyzer/programs/code_head.h"
#include "analyzer/programs/code_outline.h"
#include "analyzer/programs/words.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <utility>

namespace devsan::analyzer {

using llvm::StringRef;

std::optional<bool> truthOf(StringRef word) {
  return llvm::StringSwitch<std::optional<bool>>(word)
      .Cases({"false", "0"}, false)
      .Cases({"true", "1"}, true)
      .Default(std::nullopt);
}

namespace {

// In front of a name these declare nothing, and in front of `(` they call nothing.
bool isKeyword(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases({"return", "else", "do", "case", "goto", "throw"}, true)
      .Cases({"not", "and", "or", "co_return", "co_yield"}, true)
      .Cases({"if", "for", "while", "switch", "catch"}, true)
      .Default(false);
}

constexpr unsigned kMaxArguments = 32; // more than people write

} // namespace

class SwitchReader {
public:
  SwitchReader(const std::string &text, Switches &switches)
      : words_(codeWordsOf(text)), switches_(switches) {}

  void read() {
    for (std::size_t i = 0, head = 0; i < words_.size(); ++i) {
      const StringRef word = at(i);
      if (word.contains('"')) // who looks it up may set it, or call it
        mayBeSaid(i);
      else if (isIdentifier(word))
        mention(i);
      follow(i);
      if (word == "{")
        classes_.push_back(classOf(head, i));
      else if (word == "}" && !classes_.empty())
        classes_.pop_back();
      if (word == "{" || word == ";")
        handOnOverrides(head, i);
      if (word == "{" || word == "}" || word == ";")
        head = i + 1;
      else if (at(i + 1) == ":" && word == "public" && !classes_.empty())
        classes_.back() = Class::kPublic;
      else if (at(i + 1) == ":" && (word == "private" || word == "protected") && !classes_.empty())
        classes_.back() = Class::kPrivate;
    }
  }

private:
  StringRef at(std::size_t i) const { return i < words_.size() ? words_[i].text : StringRef("\n"); }

  enum class Class { kNone, kPrivate, kPublic };

  // Braces may set public members, without their names.
  Class classOf(std::size_t head, std::size_t end) const {
    for (std::size_t i = head; i < end && at(i) != "("; ++i)
      if (at(i) == "struct" || at(i) == "union")
        return Class::kPublic;
      else if (at(i) == "class" && (i == head || (at(i - 1) != "<" && at(i - 1) != ",")))
        return Class::kPrivate;
    return Class::kNone;
  }

  void mention(std::size_t i) {
    const StringRef name = at(i), next = at(i + 1);
    if (isParameter(i))
      return addParameter(i);
    if (next != "(")
      handOn(name);
    const std::size_t begin = beginOfPath(i);
    const StringRef before = begin ? at(begin - 1) : StringRef("\n");
    if (before == "bool" && begin == i) {
      switches_.by_name_[name].is_declared = true;
      if (!classes_.empty() && classes_.back() == Class::kPublic)
        mayBeAny(name);
    } else if (begin == i && isIdentifier(before) && !isKeyword(before)) {
      return mayBeAny(name); // declares something else
    }
    if (next == "=" || next == "(" || next == "{")
      values(name).add(valueAt(i + 1));
    else if (before == "bool" ? next != ";" : !isRead(before, next, begin))
      mayBeAny(name);
  }

  // Of `settings->at.name`.
  std::size_t beginOfPath(std::size_t i) const {
    while (i >= 2 && (at(i - 1) == "." || at(i - 1) == "->" || at(i - 1) == "::") &&
           isIdentifier(at(i - 2)))
      i -= 2;
    return i;
  }

  // `if (name)`, `!name`, `name ? a : b`, `a && name`; what is handed on may be set there.
  bool isRead(StringRef before, StringRef next, std::size_t begin) const {
    if (next == "?" || next == "&&" || next == "||" || next == "==" || next == "!=")
      return before != "&";
    const bool is_condition = begin >= 2 && before == "(" && next == ")" &&
                              (at(begin - 2) == "if" || at(begin - 2) == "while");
    return is_condition || before == "!" || before == "&&" || before == "||" || before == "==" ||
           before == "!=" || before == "<<";
  }

  // `= false;`, `{false}`, `(false)`: nothing else.
  std::optional<bool> valueAt(std::size_t i) const {
    const StringRef end = at(i + 2);
    const bool is_whole = at(i) == "=" ? end == ";" : at(i) == "{" ? end == "}" : end == ")";
    return is_whole ? truthOf(at(i + 1)) : std::nullopt;
  }

  void mayBeSaid(std::size_t i) {
    for (const StringRef name : namesIn(at(i)))
      mayBeAny(name);
    if (const StringRef name = at(i).trim('"'); !name.empty() && isIdentifier(name))
      handOn(name);
  }

  // Brackets that are open, and what stands in front of them.
  struct Bracket {
    StringRef closer;
    StringRef function = {};
    std::size_t begin = 0; // of the argument
    unsigned index = 0;    // of the argument
    std::size_t end = 0;   // of `<int>`
  };

  void follow(std::size_t i) {
    const StringRef word = at(i);
    if (word == "(") {
      const bool is_call = i > 0 && isIdentifier(at(i - 1)) && !isKeyword(at(i - 1));
      brackets_.push_back(
          {.closer = ")", .function = is_call ? at(i - 1) : StringRef(), .begin = i + 1});
    } else if (word == "{" || word == "[") {
      brackets_.push_back({.closer = word == "{" ? "}" : "]"});
    } else if (brackets_.empty()) {
      return;
    } else if (word == "<") {
      openTemplate(i);
    } else if (word == ",") {
      addArgument(i);
    } else if (word == ")" || word == "}" || word == "]") {
      if (brackets_.back().closer != word) { // alternatives of the preprocessor
        for (const Bracket &open : brackets_)
          handOn(open.function);
        return brackets_.clear();
      }
      addArgument(i);
      addCall();
      brackets_.pop_back();
    } else if (brackets_.back().end == i) {
      brackets_.pop_back();
    }
  }

  // What may be a template or a comparison makes the number of arguments unknown.
  void openTemplate(std::size_t i) {
    const std::size_t end = endOfTemplate(i);
    const bool has_comma =
        end && llvm::any_of(CodeWords(words_).slice(i, end - i),
                            [](const CodeWord &word) { return word.text == ","; });
    const bool is_scoped = i >= 2 && at(i - 2) == "::";
    if (end ? has_comma && !is_scoped : isIdentifier(at(i + 1)))
      handOn(brackets_.back().function);
    if (end)
      brackets_.push_back({.closer = ">", .end = end});
  }

  // `std::map<int, Tensor>`; 0 for a comparison.
  std::size_t endOfTemplate(std::size_t i) const {
    constexpr std::size_t kMaxWords = 60;
    if (i == 0 || !isIdentifier(at(i - 1)))
      return 0;
    int depth = 0;
    for (const std::size_t end = i + kMaxWords; i < words_.size() && i < end; ++i) {
      const StringRef word = at(i);
      depth += word == "<";
      depth -= word == ">";
      if (depth == 0)
        return llvm::isDigit(at(i + 1).front()) ? 0 : i;
      if (!llvm::isAlnum(word.front()) && !llvm::StringRef("<>:,*&_").contains(word.front()))
        return 0;
    }
    return 0;
  }

  void addArgument(std::size_t end) {
    Bracket &call = brackets_.back();
    const std::size_t begin = std::exchange(call.begin, end + 1);
    if (call.function.empty() || begin == end)
      return;
    for (std::size_t i = begin; i < end; ++i)
      if (at(i) == "__VA_ARGS__" || at(i) == "...") // how many there are
        handOn(call.function);
    if (call.index == kMaxArguments)
      return handOn(call.function);
    std::vector<Switches::Argument> &known = switches_.by_name_[call.function].arguments;
    known.resize(std::max<std::size_t>(known.size(), call.index + 1));
    Switches::Argument &argument = known[call.index++];
    if (at(begin + (at(begin) == "const")) != "bool") {
      argument.given.add(end - begin == 1 ? truthOf(at(begin)) : std::nullopt);
      return;
    }
    // It declares a parameter, unless it stands in a call: `SLOT(show(bool))`.
    if (isInCall())
      handOn(call.function);
    for (std::size_t i = begin; i < end; ++i)
      if (at(i) == "=")
        argument.by_default.add(end - i == 2 ? truthOf(at(i + 1)) : std::nullopt);
  }

  bool isInCall() const {
    return brackets_.size() > 1 && !brackets_[brackets_.size() - 2].function.empty();
  }

  void addCall() {
    const Bracket &call = brackets_.back();
    if (call.function.empty())
      return;
    Switches::Name &name = switches_.by_name_[call.function];
    name.fewest = std::min(name.fewest, call.index);
    name.is_handed_on |= isCalledByTorch(call.function);
  }

  // A library may call what overrides something of its own.
  void handOnOverrides(std::size_t head, std::size_t end) {
    const CodeWords words = CodeWords(words_).slice(head, end - head);
    if (llvm::none_of(words, [](const CodeWord &word) {
          return word.text == "virtual" || word.text == "override" || word.text == "final";
        }))
      return;
    for (const CodeWord &word : words)
      if (isIdentifier(word.text))
        handOn(word.text);
  }

  bool isParameter(std::size_t i) const {
    if (brackets_.empty() || brackets_.back().function.empty())
      return false;
    const std::size_t begin = brackets_.back().begin, type = begin + (at(begin) == "const");
    const StringRef end = at(i + 1) == "=" ? at(i + 3) : at(i + 1);
    return at(type) == "bool" && i == type + 1 && (end == "," || end == ")");
  }

  void addParameter(std::size_t i) {
    Switches::Name &name = switches_.by_name_[at(i)];
    name.is_declared = true;
    name.parameters.push_back({brackets_.back().function.str(), brackets_.back().index});
  }

  void mayBeAny(StringRef name) { values(name).is_any = true; }
  void handOn(StringRef name) { switches_.by_name_[name].is_handed_on = true; }
  Switches::Values &values(StringRef name) { return switches_.by_name_[name].values; }

  const std::vector<CodeWord> words_;
  Switches &switches_;
  std::vector<Class> classes_; // of each brace around
  std::vector<Bracket> brackets_;
};

void Switches::addCode(const std::string &text) {
  SwitchReader(text, *this).read();
}

void Switches::Values::add(std::optional<bool> value) {
  is_any |= !value;
  has_true |= value == true;
  has_false |= value == false;
}

void Switches::Values::add(const Values &others) {
  is_any |= others.is_any;
  has_true |= others.has_true;
  has_false |= others.has_false;
}

// What callers give, and what it is where they leave it out.
Switches::Values Switches::valuesOf(const Parameter &parameter) const {
  Values values;
  const auto found = by_name_.find(parameter.function);
  if (found == by_name_.end() || found->second.is_handed_on) {
    values.is_any = true;
    return values;
  }
  const Name &function = found->second;
  const Argument argument = parameter.index < function.arguments.size()
                                ? function.arguments[parameter.index]
                                : Argument{{.is_any = true}, {}};
  values.add(argument.given);
  // Some call leaves it out.
  if (function.fewest <= parameter.index) {
    values.is_any |= !argument.by_default.has_false && !argument.by_default.has_true;
    values.add(argument.by_default);
  }
  return values;
}

std::optional<bool> Switches::valueOf(StringRef name) const {
  constexpr std::size_t kMaxParameters = 100; // of one name
  const auto found = by_name_.find(name);
  if (found == by_name_.end() || !found->second.is_declared ||
      found->second.parameters.size() > kMaxParameters)
    return std::nullopt;
  Values values = found->second.values;
  for (const Parameter &parameter : found->second.parameters)
    values.add(valuesOf(parameter));
  if (values.is_any || values.has_true == values.has_false)
    return std::nullopt;
  return values.has_true;
}

} // namespace devsan::analyzer
