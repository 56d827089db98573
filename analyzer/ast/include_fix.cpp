#include "analyzer/ast/include_fix.h"

#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <vector>

namespace devsan::analyzer {

using namespace clang;

namespace {

using Branches = llvm::SmallVector<unsigned, 4>; // of the conditions around, outermost first

struct Include {
  llvm::StringRef name;
  Branches branches;
  unsigned line_end; // offset
};

// The includes before `limit`, and the branches around it.
struct Directives {
  std::vector<Include> includes;
  Branches branches;

  Directives(const SourceManager &sources, const LangOptions &language, FileID file,
             unsigned limit) {
    const llvm::StringRef text = sources.getBufferData(file);
    Lexer lexer(sources.getLocForStartOfFile(file), language, text.begin(), text.begin(),
                text.end());
    unsigned next_branch = 0;
    for (Token token; !lexer.LexFromRawLexer(token);) {
      if (sources.getFileOffset(token.getLocation()) >= limit)
        return;
      if (token.isNot(tok::hash) || !token.isAtStartOfLine() || lexer.LexFromRawLexer(token) ||
          token.isNot(tok::raw_identifier))
        continue;
      const llvm::StringRef directive = token.getRawIdentifier();
      if (directive.starts_with("el") || directive == "endif")
        if (!branches.empty())
          branches.pop_back();
      if (directive.starts_with("el") || directive.starts_with("if"))
        branches.push_back(next_branch++);
      if (directive != "include")
        continue;
      const unsigned begin = sources.getFileOffset(token.getEndLoc());
      const std::size_t end = text.find('\n', begin);
      if (end == llvm::StringRef::npos)
        return;
      includes.push_back(
          {text.slice(begin, end).trim(" \t\r\"<"), branches, static_cast<unsigned>(end)});
    }
  }
};

bool isOfCuda(llvm::StringRef name) {
  return name.starts_with("cuda") || name.starts_with("ATen/cuda/") ||
         name.starts_with("c10/cuda/");
}

} // namespace

std::optional<FixItHint> includeCudaHeader(ASTContext &context, SourceLocation use,
                                           llvm::StringRef header) {
  const SourceManager &sources = context.getSourceManager();
  const auto [file, offset] = sources.getDecomposedExpansionLoc(use);
  const Directives directives(sources, context.getLangOpts(), file, offset);
  const auto serves = [&](const Include &include) {
    return include.branches.size() <= directives.branches.size() &&
           std::equal(include.branches.begin(), include.branches.end(),
                      directives.branches.begin()) &&
           (context.getLangOpts().CUDA || isOfCuda(include.name));
  };
  const auto last = llvm::find_if(llvm::reverse(directives.includes), serves);
  if (last == directives.includes.rend())
    return std::nullopt;
  const bool has_return = sources.getBufferData(file)[last->line_end - 1] == '\r';
  return FixItHint::CreateInsertion(
      sources.getLocForStartOfFile(file).getLocWithOffset(last->line_end + 1),
      ("#include <" + header + (has_return ? ">\r\n" : ">\n")).str());
}

} // namespace devsan::analyzer
