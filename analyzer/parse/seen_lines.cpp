#include "analyzer/parse/seen_lines.h"

#include "analyzer/ast/ast_visitor.h"

#include <clang/AST/Decl.h>
#include <clang/AST/Expr.h>
#include <clang/Basic/IdentifierTable.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Lex/Lexer.h>

#include <set>

namespace devsan::analyzer {

using namespace clang;

namespace {

class Marks : public AstVisitor {
public:
  Marks(const SourceManager &sources, FileID file) : sources_(sources), file_(file) {}
  std::set<unsigned> lines;

  bool VisitExpr(Expr *expr) override {
    mark(expr->getBeginLoc());
    mark(expr->getEndLoc());
    mark(expr->getExprLoc());
    return true;
  }
  bool VisitNamedDecl(NamedDecl *decl) override {
    mark(decl->getBeginLoc());
    mark(decl->getLocation());
    return true;
  }

private:
  void mark(SourceLocation location) {
    if (location.isInvalid())
      return;
    const auto [file, offset] = sources_.getDecomposedExpansionLoc(location);
    if (file == file_)
      lines.insert(sources_.getLineNumber(file, offset));
  }

  const SourceManager &sources_;
  FileID file_;
};

std::set<unsigned> linesWithNames(const ASTContext &context, FileID file) {
  const SourceManager &sources = context.getSourceManager();
  std::set<unsigned> lines;
  Lexer lexer(file, sources.getBufferOrFake(file), sources, context.getLangOpts());
  unsigned directive = 0; // the line of one
  for (Token token; !lexer.LexFromRawLexer(token);) {
    const unsigned line = sources.getSpellingLineNumber(token.getLocation());
    if (token.is(tok::hash) && token.isAtStartOfLine())
      directive = line;
    else if (directive && token.isAtStartOfLine())
      directive = 0;
    if (!directive && token.is(tok::raw_identifier) &&
        context.Idents.get(token.getRawIdentifier()).getTokenID() == tok::identifier)
      lines.insert(line);
  }
  return lines;
}

} // namespace

SeenLines seenLines(ASTContext &context, llvm::ArrayRef<Decl *> decls, FileID file) {
  if (file.isInvalid())
    return {};
  Marks marks(context.getSourceManager(), file);
  for (Decl *decl : decls)
    marks.TraverseDecl(decl);
  SeenLines lines;
  for (const unsigned line : linesWithNames(context, file)) {
    ++lines.all;
    lines.seen += marks.lines.contains(line);
  }
  return lines;
}

} // namespace devsan::analyzer
