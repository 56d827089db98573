#include "analyzer/flags/python_tokens.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>

namespace devsan::analyzer {
namespace {

using llvm::StringRef;

class PythonLexer {
public:
  explicit PythonLexer(StringRef rest) : rest_(rest) {}

  std::vector<PythonToken> run() {
    while (!rest_.empty())
      one();
    add(PythonToken::kNewline, "\n");
    add(PythonToken::kEnd, "");
    return std::move(tokens_);
  }

private:
  static bool inName(char c) { return llvm::isAlnum(c) || c == '_' || (c & 0x80); }

  void add(PythonToken::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text)}); }

  void one() {
    const char c = rest_.front();
    if (c == '\n') {
      rest_ = rest_.drop_front();
      if (depth_ == 0)
        add(PythonToken::kNewline, "\n");
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f') {
      rest_ = rest_.drop_front();
    } else if (c == '\\') {
      rest_ = rest_.drop_front();
      if (!rest_.consume_front("\n"))
        rest_.consume_front("\r\n");
    } else if (c == '#') {
      rest_ = rest_.drop_until([](char d) { return d == '\n'; });
    } else if (c == '"' || c == '\'') {
      string("");
    } else if (llvm::isDigit(c)) {
      const StringRef number = rest_.take_while([](char d) { return inName(d) || d == '.'; });
      rest_ = rest_.drop_front(number.size());
      add(PythonToken::kNumber, number.str());
    } else if (inName(c)) {
      const StringRef name = rest_.take_while(inName);
      rest_ = rest_.drop_front(name.size());
      if (name.size() <= 2 && (rest_.starts_with("\"") || rest_.starts_with("'")))
        string(name.lower());
      else
        add(PythonToken::kName, name.str());
    } else {
      sign();
    }
  }

  void sign() {
    const StringRef two = rest_.take_front(2);
    const bool is_two =
        llvm::is_contained({"+=", "==", "!=", "<=", ">=", "->", "**", ":=", "//"}, two);
    const StringRef text = is_two ? two : rest_.take_front(1);
    if (StringRef("([{").contains(text))
      ++depth_;
    if (StringRef(")]}").contains(text))
      depth_ = std::max(depth_ - 1, 0);
    rest_ = rest_.drop_front(text.size());
    add(PythonToken::kSign, text.str());
  }

  void string(const std::string &prefix) {
    const bool raw = prefix.find('r') != std::string::npos;
    StringRef quote = rest_.take_front(1);
    if (const StringRef three = rest_.take_front(3); three == "\"\"\"" || three == "'''")
      quote = three;
    rest_ = rest_.drop_front(quote.size());
    std::string text;
    while (!rest_.empty() && !rest_.consume_front(quote)) {
      if (quote.size() == 1 && rest_.front() == '\n')
        break; // not closed: the line ends it
      if (rest_.front() == '\\' && rest_.size() > 1) {
        const char escaped = rest_[1];
        rest_ = rest_.drop_front(2);
        if (raw)
          text += '\\';
        if (raw || (escaped != '\n' && escaped != 'n' && escaped != 't'))
          text += escaped;
        else if (escaped != '\n')
          text += escaped == 'n' ? '\n' : '\t';
        continue;
      }
      text += rest_.front();
      rest_ = rest_.drop_front();
    }
    add(prefix.find('f') == std::string::npos ? PythonToken::kString : PythonToken::kFormatted,
        text);
  }

  StringRef rest_;
  int depth_ = 0;
  std::vector<PythonToken> tokens_;
};

} // namespace

std::vector<PythonToken> pythonTokens(std::string_view text) {
  return PythonLexer(StringRef(text.data(), text.size())).run();
}

} // namespace devsan::analyzer
