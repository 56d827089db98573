#include "analyzer/parse/unknown_names.h"

#include "analyzer/parse/clang_run.h"

#include <clang/AST/ASTContext.h>
#include <clang/AST/DeclCXX.h>
#include <clang/AST/DeclContextInternals.h>
#include <clang/Lex/Lexer.h>
#include <clang/Sema/Lookup.h>
#include <clang/Sema/Scope.h>
#include <clang/Sema/Sema.h>
#include <clang/Sema/TypoCorrection.h>
#include <llvm/ADT/StringExtras.h>

namespace devsan::analyzer {

using namespace clang;

namespace {

bool continuesName(char c) {
  return llvm::isAlnum(c) || c == '_';
}

// Of `std::vector<Name>`, also with other arguments beside it: nothing but names stands between it
// and both brackets.
bool isTemplateArgument(llvm::StringRef before, llvm::StringRef after) {
  const auto is_in_names = [](char c) {
    return continuesName(c) || llvm::isSpace(c) || llvm::StringRef("<>,:*&").contains(c);
  };
  int depth = 1;
  for (; depth != 0; before = before.drop_back()) {
    if (before.empty() || !is_in_names(before.back()))
      return false;
    depth += before.back() == '>' ? 1 : before.back() == '<' ? -1 : 0;
  }
  if (before.empty() || !continuesName(before.back()))
    return false;
  for (depth = 1; depth != 0; after = after.drop_front()) {
    if (after.empty() || !is_in_names(after.front()))
      return false;
    depth += after.front() == '<' ? 1 : after.front() == '>' ? -1 : 0;
  }
  return true;
}

void addWithBases(const CXXRecordDecl *record,
                  llvm::SmallPtrSetImpl<const CXXRecordDecl *> &records) {
  if (!record || !record->hasDefinition() || !records.insert(record->getDefinition()).second)
    return;
  for (const CXXBaseSpecifier &base : record->getDefinition()->bases())
    addWithBases(base.getType()->getAsCXXRecordDecl(), records);
}

bool isBase(llvm::StringRef before) {
  const auto ends_with_access = [&] {
    return before.ends_with("public") || before.ends_with("protected") ||
           before.ends_with("private");
  };
  if (before.ends_with("virtual") || ends_with_access() || before.ends_with(","))
    return true;
  if (!before.consume_back(":") || before.ends_with(":"))
    return false;
  before = before.rtrim();
  return !ends_with_access();
}

bool isAliased(llvm::StringRef before) {
  if (!before.consume_back("="))
    return false;
  before = before.rtrim();
  while (!before.empty() && continuesName(before.back()))
    before = before.drop_back();
  return before.rtrim().ends_with("using");
}

// Of `lib::Name<int>`, behind the first colons.
bool namesTemplate(llvm::StringRef after) {
  const llvm::StringRef name =
      after.take_while([](char c) { return continuesName(c) || c == ':' || llvm::isSpace(c); });
  return after.drop_front(name.size()).starts_with("<") &&
         !llvm::StringRef(name).rtrim().contains(' ');
}

// Behind a name that is no type but a macro.
bool beginsStatement(llvm::StringRef text) {
  return llvm::is_contained({"for", "if", "while", "do", "switch", "return", "try", "break",
                             "continue", "case", "else", "throw"},
                            text.take_while(continuesName));
}

// Clang drops a loop over what it does not know, even over a call that it otherwise keeps.
bool isRangeOfLoop(llvm::StringRef before) {
  if (!before.consume_back(":") || before.ends_with(":"))
    return false;
  const auto [head, declared] = before.rsplit('(');
  return head.rtrim().ends_with("for") && !llvm::StringRef(declared).contains(';');
}

// The namespace that it is or stands for, unless that is the standard library's.
NamespaceDecl *namespaceOf(NamedDecl *decl) {
  if (const auto *alias = dyn_cast_or_null<NamespaceAliasDecl>(decl))
    decl = const_cast<NamespaceDecl *>(alias->getNamespace());
  auto *space = dyn_cast_or_null<NamespaceDecl>(decl);
  return space && !space->isInStdNamespace() && !space->isStdNamespace() ? space : nullptr;
}

NamespaceDecl *namespaceIn(DeclContext::lookup_result found) {
  for (NamedDecl *decl : found)
    if (NamespaceDecl *space = namespaceOf(decl))
      return space;
  return nullptr;
}

} // namespace

// What the text around the name makes of it.
UnknownNames::Use UnknownNames::useOf(const IdentifierInfo *name, SourceLocation begin,
                                      SourceLocation location, const Scope *scope) const {
  return useOf(name, begin, location, scope->getFnParent() && !scope->isClassScope(),
               scope->isFunctionPrototypeScope());
}

UnknownNames::Use UnknownNames::useOf(const IdentifierInfo *name, SourceLocation begin,
                                      SourceLocation location, bool is_in_body,
                                      bool is_parameter) const {
  const SourceManager &sources = sema_->getSourceManager();
  const auto [file, offset] = sources.getDecomposedLoc(sources.getSpellingLoc(location));
  const auto [begin_file, begin_offset] = sources.getDecomposedLoc(sources.getSpellingLoc(begin));
  if (begin_file != file || begin_offset > offset)
    return Use::kNone;
  const llvm::StringRef text = sources.getBufferData(file);
  const llvm::StringRef before = text.take_front(begin_offset).rtrim();
  llvm::StringRef after = text.drop_front(offset + name->getLength()).ltrim();
  // The classes of an alias's users would not be known for those that nothing may lay out.
  if (!is_in_body && (before.ends_with("typedef") || isAliased(before)))
    return Use::kNone;
  // A name that `using lib::Name;` would bring says nothing of what it is. A class with an unknown
  // base is taken for one without it.
  if (before.ends_with("using") ||
      (!is_in_body && !is_parameter && isBase(before) && !isTemplateArgument(before, after)))
    return Use::kNone;
  if (after.consume_front("::"))
    // Where a declaration has to begin, `lib::Name<int>` is no type for clang without `typename`.
    return is_in_body || is_parameter || !namesTemplate(after) ? Use::kType : Use::kNone;
  const Use value = is_in_body ? Use::kValue : Use::kNone;
  const auto begins_name = [](llvm::StringRef rest) {
    return !rest.empty() && (llvm::isAlpha(rest.front()) || rest.front() == '_');
  };
  if (begins_name(after))
    return beginsStatement(after) ? value : Use::kType;
  if (isTemplateArgument(before, after))
    return Use::kType;
  const bool begins_statement =
      before.ends_with(";") || before.ends_with("{") || before.ends_with("}");
  if ((after.starts_with("&") || after.starts_with("*")) &&
      (is_parameter || begins_statement || before.ends_with("const")))
    return begins_name(after.ltrim("&* ")) || is_parameter ? Use::kType : value;
  if (isRangeOfLoop(before))
    return value;
  // A call is kept without its callee.
  return is_parameter || after.starts_with("(") || after.starts_with("<") ? Use::kNone : value;
}

bool UnknownNames::isUsersName(SourceLocation location) const {
  return sema_ && location.isValid() && is_wanted_() && !sema_->isSFINAEContext() &&
         isInUserCode(sema_->getSourceManager(), location) &&
         !sema_->getSourceManager().isWrittenInScratchSpace(
             sema_->getSourceManager().getSpellingLoc(location));
}

NamedDecl *UnknownNames::makeStandIn(const IdentifierInfo *name, Use use,
                                     SourceLocation location) const {
  ASTContext &ast = sema_->Context;
  DeclContext *unit = ast.getTranslationUnitDecl();
  auto *id = const_cast<IdentifierInfo *>(name);
  TypeSourceInfo *type = ast.getTrivialTypeSourceInfo(ast.DependentTy, location);
  if (use == Use::kType)
    return TypedefDecl::Create(ast, unit, location, location, id, type);
  return VarDecl::Create(ast, unit, location, location, id, ast.DependentTy, type, SC_Extern);
}

bool UnknownNames::LookupUnqualified(LookupResult &result, Scope *scope) {
  const IdentifierInfo *name = result.getLookupName().getAsIdentifierInfo();
  const SourceLocation location = result.getNameLoc();
  const bool asks_for_any = result.getLookupKind() == Sema::LookupOrdinaryName ||
                            result.getLookupKind() == Sema::LookupNestedNameSpecifierName;
  if (!name || !asks_for_any || !scope || result.isForRedeclaration() || !isUsersName(location))
    return false;
  const Use use = useOf(name, location, location, scope);
  if (use == Use::kNone ||
      (use == Use::kValue && result.getLookupKind() != Sema::LookupOrdinaryName))
    return false;
  NamedDecl *&decl = made_[{name, static_cast<int>(use)}];
  if (!decl)
    decl = makeStandIn(name, use, location);
  // Until the class is settled nothing may ask for its layout.
  if (use == Use::kType && scope->isClassScope())
    if (auto *record = dyn_cast_or_null<CXXRecordDecl>(scope->getEntity()))
      if (!record->isInvalidDecl() && marked_.insert(record).second)
        record->setInvalidDecl();
  result.addDecl(decl);
  result.resolveKind();
  return true;
}

void UnknownNames::declareTypesIn(const Decl *function) const {
  const SourceManager &sources = sema_->getSourceManager();
  const auto [file, offset] =
      sources.getDecomposedLoc(sources.getExpansionLoc(function->getLocation()));
  const llvm::StringRef text = sources.getBufferData(file);
  Lexer lexer(sources.getLocForStartOfFile(file), sema_->getLangOpts(), text.begin(),
              text.begin() + offset, text.end());
  NamespaceDecl *space = nullptr; // named by what stands before
  SourceLocation begin;
  int depth = 0;
  tok::TokenKind before = tok::unknown;
  for (Token token; !lexer.LexFromRawLexer(token); before = token.getKind()) {
    depth += token.is(tok::l_brace);
    if (token.is(tok::r_brace) && --depth <= 0)
      return;
    if (token.is(tok::coloncolon) && before == tok::raw_identifier)
      continue;
    const bool is_qualified = space && before == tok::coloncolon;
    if (!token.is(tok::raw_identifier) || (before == tok::coloncolon && !is_qualified)) {
      space = nullptr;
      continue;
    }
    NamespaceDecl *in = std::exchange(space, nullptr);
    IdentifierInfo *name = &sema_->Context.Idents.get(token.getRawIdentifier());
    if (!is_qualified) {
      begin = token.getLocation();
      for (const DeclContext *outer = function->getDeclContext(); outer && !space;
           outer = outer->getParent())
        space = namespaceIn(outer->lookup(name));
      continue;
    }
    LookupResult found(*sema_, name, token.getLocation(), Sema::LookupOrdinaryName);
    found.suppressDiagnostics();
    sema_->LookupQualifiedName(found, in);
    if (!found.empty())
      space = found.isSingleResult() ? namespaceOf(found.getFoundDecl()) : nullptr;
    else if (useOf(name, begin, token.getLocation(), /*is_in_body=*/true,
                   /*is_parameter=*/false) == Use::kType)
      in->makeDeclVisibleInContext(makeStandIn(name, Use::kType, token.getLocation()));
  }
}

TypoCorrection UnknownNames::CorrectTypo(const DeclarationNameInfo &typo, int, Scope *scope,
                                         CXXScopeSpec *qualifier,
                                         CorrectionCandidateCallback &candidates, DeclContext *,
                                         bool, const ObjCObjectPointerType *) {
  const IdentifierInfo *name = typo.getName().getAsIdentifierInfo();
  if (!name || !scope || !qualifier || !qualifier->isValid() || !isUsersName(typo.getLoc()))
    return {};
  NamespaceDecl *space =
      namespaceOf(dyn_cast_or_null<NamespaceDecl>(sema_->computeDeclContext(*qualifier)));
  if (!space || !space->lookup(typo.getName()).empty())
    return {};
  const Use use = useOf(name, qualifier->getBeginLoc(), typo.getLoc(), scope);
  if (use == Use::kNone)
    return {};
  TypoCorrection correction(makeStandIn(name, use, typo.getLoc()));
  if (!candidates.ValidateCandidate(correction))
    return {};
  space->makeDeclVisibleInContext(correction.getCorrectionDecl());
  return correction;
}

void UnknownNames::enter(const Decl *function) {
  if (!is_wanted_())
    return;
  declareTypesIn(function);
  llvm::SmallPtrSet<const CXXRecordDecl *, 4> records;
  for (const DeclContext *at = function->getDeclContext(); at; at = at->getParent()) {
    settle(at);
    addWithBases(dyn_cast<CXXRecordDecl>(at), records);
  }
  // Its initialisers name members, which then have to be there.
  if (isa<CXXConstructorDecl>(function))
    records.clear();
  hidden_.remove_if([&](FieldDecl *field) {
    if (records.contains(cast<CXXRecordDecl>(field->getParent())))
      return false;
    (*field->getParent()->getLookupPtr())[field->getDeclName()].addOrReplaceDecl(field);
    return true;
  });
  for (const CXXRecordDecl *record : records)
    for (FieldDecl *field : record->fields())
      if (unknown_.contains(field) && !hidden_.contains(field))
        hide(field);
}

void UnknownNames::settle(const DeclContext *context) {
  const auto *record = dyn_cast<CXXRecordDecl>(context);
  if (!is_wanted_() || !record || !record->hasDefinition() || record->isDependentContext())
    return;
  bool has_unknown = marked_.erase(record->getDefinition());
  for (FieldDecl *field : record->getDefinition()->fields())
    if (field->getType()->isDependentType() || field->isInvalidDecl()) {
      field->setType(sema_->Context.IntTy);
      field->setInvalidDecl();
      has_unknown |= unknown_.insert(field).second;
    }
  // An invalid class has no bases for clang.
  if (has_unknown)
    record->getDefinition()->setInvalidDecl(false);
}

void UnknownNames::hide(FieldDecl *field) {
  // Another of that name would answer in its place.
  for (const DeclContext *outer = field->getParent()->getParent(); outer;
       outer = outer->getParent())
    if (outer->isLookupContext() && !outer->lookup(field->getDeclName()).empty())
      return;
  for (Scope *scope = sema_->getCurScope(); scope; scope = scope->getParent())
    if (scope->isDeclScope(field)) {
      scope->RemoveDecl(field);
      sema_->IdResolver.RemoveDecl(field);
    }
  StoredDeclsMap *names = field->getParent()->buildLookup();
  const auto found = names ? names->find(field->getDeclName()) : StoredDeclsMap::iterator();
  if (!names || found == names->end() ||
      !llvm::is_contained(found->second.getLookupResult(), field))
    return;
  found->second.remove(field);
  hidden_.insert(field);
}

} // namespace devsan::analyzer
