#include "analyzer/parse/unknown_macros.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <clang/Lex/Preprocessor.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSet.h>

#include <utility>
#include <vector>

namespace devsan::analyzer {

using namespace clang;

namespace {

struct Text {
  std::vector<Token> tokens; // of the code
  // What the file decides itself: names in `#if…`, `#define`, `#undef`, and those of its types.
  llvm::StringSet<> own;
};

bool isName(const Token &token, std::initializer_list<llvm::StringRef> names) {
  return token.is(tok::raw_identifier) && llvm::is_contained(names, token.getRawIdentifier());
}

// `class NAME {`, `typename NAME>`, `using NAME =`, `typedef … NAME;`.
void addTypes(Text &text) {
  const std::vector<Token> &tokens = text.tokens;
  bool is_typedef = false;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    is_typedef = (is_typedef || isName(tokens[i], {"typedef"})) && tokens[i].isNot(tok::semi);
    const Token &next = tokens[i + 1];
    if (tokens[i].isNot(tok::raw_identifier))
      continue;
    const bool is_named =
        i > 0 && isName(tokens[i - 1], {"class", "struct", "union", "enum", "typename", "using"}) &&
        (!next.isOneOf(tok::raw_identifier, tok::l_paren) || isName(next, {"final"}));
    if (is_named || (is_typedef && next.is(tok::semi)))
      text.own.insert(tokens[i].getRawIdentifier());
  }
}

Text spelledText(const SourceManager &sources, const LangOptions &language, FileID file) {
  Text text;
  Lexer lexer(file, sources.getBufferOrFake(file), sources, language);
  bool is_directive = false;
  for (Token token; !lexer.LexFromRawLexer(token);) {
    if (token.isAtStartOfLine())
      is_directive = token.is(tok::hash);
    if (!is_directive)
      text.tokens.push_back(token);
    else if (token.is(tok::raw_identifier))
      text.own.insert(token.getRawIdentifier());
  }
  addTypes(text);
  return text;
}

// Finds the macros among the tokens of a file.
class Finder {
public:
  explicit Finder(const Text &text) : text_(text) {}

  template <typename Found> void run(Found found) {
    bool begins_class = false;
    std::vector<bool> is_class; // of each open brace
    for (at_ = 0; at_ < text_.tokens.size(); ++at_) {
      const Token &token = text_.tokens[at_];
      if (is({"class", "struct", "union"}, at_))
        begins_class = !is({"enum"}, at_ - 1);
      else if (token.isOneOf(tok::semi, tok::l_paren, tok::equal))
        begins_class = false;
      else if (token.is(tok::l_brace))
        is_class.push_back(std::exchange(begins_class, false));
      else if (token.is(tok::r_brace) && !is_class.empty())
        is_class.pop_back();
      if (!isMacroName(at_))
        continue;
      const std::size_t behind = behindArguments(at_ + 1);
      const bool has_arguments = behind != at_ + 1;
      const bool is_member = !is_class.empty() && is_class.back();
      if (isInClassHead(behind) ||
          (beginsDeclaration() &&
           (has_arguments ? is_member && isOnNextLine(behind) : isBeforeDeclaration(behind))))
        found(token, has_arguments);
    }
  }

private:
  bool is(std::initializer_list<llvm::StringRef> names, std::size_t at) const {
    return at < text_.tokens.size() && analyzer::isName(text_.tokens[at], names);
  }
  bool isName(std::size_t at) const {
    return at < text_.tokens.size() && text_.tokens[at].is(tok::raw_identifier);
  }
  bool isKind(std::size_t at, std::initializer_list<tok::TokenKind> kinds) const {
    return at < text_.tokens.size() && llvm::is_contained(kinds, text_.tokens[at].getKind());
  }

  // By convention.
  bool isMacroName(std::size_t at) const {
    if (!isName(at))
      return false;
    const llvm::StringRef name = text_.tokens[at].getRawIdentifier();
    return name.size() > 2 && !text_.own.contains(name) &&
           llvm::any_of(name, [](char c) { return llvm::isUpper(c); }) &&
           llvm::none_of(name, [](char c) { return llvm::isLower(c); });
  }

  std::size_t behindArguments(std::size_t at) const {
    if (!isKind(at, {tok::l_paren}))
      return at;
    int depth = 0;
    for (std::size_t end = at; end < text_.tokens.size(); ++end) {
      depth += isKind(end, {tok::l_paren}) ? 1 : isKind(end, {tok::r_paren}) ? -1 : 0;
      if (depth == 0)
        return end + 1;
    }
    return at;
  }

  // `class MACRO Name {`, `: public`, `final`.
  bool isInClassHead(std::size_t behind) const {
    return at_ > 0 && is({"class", "struct", "union"}, at_ - 1) && isName(behind) &&
           !is({"final"}, behind) &&
           (isKind(behind + 1, {tok::l_brace, tok::colon}) || is({"final"}, behind + 1));
  }

  bool beginsDeclaration() const {
    if (at_ == 0 || isKind(at_ - 1, {tok::semi, tok::l_brace, tok::r_brace}))
      return true;
    if (isKind(at_ - 1, {tok::colon}))
      return at_ > 1 && is({"public", "protected", "private"}, at_ - 2);
    // Of a template, or another such macro.
    return text_.tokens[at_].isAtStartOfLine() && isKind(at_ - 1, {tok::greater, tok::r_paren});
  }

  bool isOnNextLine(std::size_t behind) const {
    return behind < text_.tokens.size() && text_.tokens[behind].isAtStartOfLine() &&
           (isName(behind) || isKind(behind, {tok::tilde}));
  }

  // A keyword that no type stands before, or a type and the name of what it declares.
  bool isBeforeDeclaration(std::size_t behind) const {
    if (is({"auto",   "bool",    "case",     "char",     "class",     "constexpr", "do",
            "double", "enum",    "explicit", "extern",   "float",     "for",       "friend",
            "if",     "inline",  "int",      "long",     "namespace", "private",   "protected",
            "public", "return",  "short",    "static",   "struct",    "switch",    "template",
            "try",    "typedef", "typename", "unsigned", "using",     "virtual",   "void",
            "while",  "throw"},
           behind))
      return true;
    if (text_.tokens[at_].isAtStartOfLine() && isOnNextLine(behind))
      return true;
    std::size_t at = behind;
    if (is({"const"}, at))
      ++at;
    if (!isName(at) || is({"operator", "const", "volatile"}, at))
      return false;
    while (isName(at) && isKind(at + 1, {tok::coloncolon}))
      at += 2;
    at = behindTemplateArguments(at + 1);
    while (isKind(at, {tok::star, tok::amp, tok::ampamp}) || is({"const"}, at))
      ++at;
    return at != behind && isName(at) && !isMacroName(at) &&
           isKind(at + 1, {tok::l_paren, tok::coloncolon, tok::semi, tok::equal, tok::l_brace});
  }

  std::size_t behindTemplateArguments(std::size_t at) const {
    if (!isKind(at, {tok::less}))
      return at;
    int depth = 0;
    for (std::size_t end = at; end < text_.tokens.size(); ++end) {
      depth += isKind(end, {tok::less})             ? 1
               : isKind(end, {tok::greater})        ? -1
               : isKind(end, {tok::greatergreater}) ? -2
                                                    : 0;
      if (depth <= 0)
        return end + 1;
      if (isKind(end, {tok::semi, tok::l_brace}))
        break;
    }
    return at;
  }

  const Text &text_;
  std::size_t at_ = 0;
};

} // namespace

void UnknownMacros::InclusionDirective(SourceLocation hash, const Token &, llvm::StringRef, bool,
                                       CharSourceRange, OptionalFileEntryRef file, llvm::StringRef,
                                       llvm::StringRef, const Module *, bool,
                                       SrcMgr::CharacteristicKind) {
  const SourceManager &sources = preprocessor_.getSourceManager();
  if (file || sources.isInSystemHeader(hash))
    return;
  is_wanted_ = true;
  for (FileID around = sources.getFileID(hash); around.isValid();
       around = sources.getFileID(sources.getIncludeLoc(around)))
    look(around);
}

void UnknownMacros::FileChanged(SourceLocation location, FileChangeReason reason,
                                SrcMgr::CharacteristicKind kind, FileID) {
  if (is_wanted_ && reason == EnterFile && !SrcMgr::isSystem(kind))
    look(preprocessor_.getSourceManager().getFileID(location));
}

void UnknownMacros::look(FileID file) {
  if (!seen_.insert(file).second)
    return;
  const SourceManager &sources = preprocessor_.getSourceManager();
  const Text text = spelledText(sources, preprocessor_.getLangOpts(), file);
  Finder(text).run([&](const Token &name, bool has_arguments) { define(name, has_arguments); });
}

void UnknownMacros::define(const Token &name, bool has_arguments) {
  IdentifierInfo *id = preprocessor_.getIdentifierInfo(name.getRawIdentifier());
  if (preprocessor_.isMacroDefined(id))
    return;
  MacroInfo *macro = preprocessor_.AllocateMacroInfo(name.getLocation());
  macro->setDefinitionEndLoc(name.getLocation());
  if (has_arguments) {
    macro->setIsFunctionLike();
    macro->setIsC99Varargs();
    macro->setParameterList({preprocessor_.getIdentifierInfo("__VA_ARGS__")},
                            preprocessor_.getPreprocessorAllocator());
  }
  preprocessor_.appendDefMacroDirective(id, macro);
}

} // namespace devsan::analyzer
