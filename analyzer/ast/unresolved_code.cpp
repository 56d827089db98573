#include "analyzer/ast/unresolved_code.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>

namespace devsan::analyzer {

using namespace clang;

llvm::StringRef textOf(const ASTContext &context, SourceRange range) {
  const SourceManager &sources = context.getSourceManager();
  const SourceLocation begin = sources.getSpellingLoc(range.getBegin());
  const SourceLocation end = sources.getSpellingLoc(range.getEnd());
  if (begin.isInvalid() || end.isInvalid() || sources.getFileID(begin) != sources.getFileID(end))
    return {};
  return Lexer::getSourceText(CharSourceRange::getTokenRange(begin, end), sources,
                              context.getLangOpts());
}

std::string shortText(const ASTContext &context, SourceRange range) {
  constexpr std::size_t kMaxLength = 60;
  const SourceManager &sources = context.getSourceManager();
  CharSourceRange written = Lexer::makeFileCharRange(CharSourceRange::getTokenRange(range), sources,
                                                     context.getLangOpts());
  if (written.isInvalid())
    written = sources.getExpansionRange(range);
  std::string line;
  for (char c : Lexer::getSourceText(written, sources, context.getLangOpts()))
    if (!std::isspace(static_cast<unsigned char>(c)))
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  if (line.size() > kMaxLength)
    line = line.substr(0, kMaxLength - 1) + "…";
  return line;
}

std::optional<LaunchText> unresolvedLaunch(llvm::StringRef text) {
  const auto [kernel, rest] = text.split("<<<");
  if (rest.empty() || kernel.contains_insensitive("<<") || kernel.contains(';') ||
      kernel.contains('{') || kernel.contains('('))
    return std::nullopt;
  unsigned commas = 0;
  int depth = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const char c = rest[i];
    if (depth == 0 && rest.substr(i).starts_with(">>>")) {
      const llvm::StringRef stream = rest.slice(last, i).trim();
      const bool is_default =
          commas < 3 || stream == "0" || stream == "nullptr" || stream == "NULL";
      return is_default ? LaunchText::kDefaultStream : LaunchText::kSomeStream;
    }
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    if (c == ',' && depth == 0) {
      ++commas;
      last = i + 1;
    }
  }
  return std::nullopt;
}

bool namesLibraryFunction(llvm::StringRef call) {
  return llvm::any_of(std::initializer_list<llvm::StringRef>{"cu", "nccl", "nv", "hip", "roc",
                                                             "at::", "c10::", "std::", "torch::"},
                      [&](llvm::StringRef prefix) { return call.starts_with(prefix); });
}

bool namesGuard(llvm::StringRef text) {
  return text.contains("Guard") || text.contains("_GUARD") || text.contains("SetDevice") ||
         text.contains("set_device");
}

} // namespace devsan::analyzer
