// Stand-ins for names that a missing header would have declared. Without a declaration clang drops
// what it cannot give a meaning: the whole body of `for (auto &batch : *loader)`, the arguments of
// `library::log(x)`. With one of a type that is not known yet, as in a template, it keeps them.
#pragma once

#include <clang/Sema/ExternalSemaSource.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/ADT/SmallPtrSet.h>

#include <functional>
#include <utility>

namespace devsan::analyzer {

class UnknownNames : public clang::ExternalSemaSource {
public:
  // `is_wanted` is asked whether the file lacks something.
  explicit UnknownNames(std::function<bool()> is_wanted) : is_wanted_(std::move(is_wanted)) {}

  void InitializeSema(clang::Sema &sema) override { sema_ = &sema; }
  bool LookupUnqualified(clang::LookupResult &result, clang::Scope *scope) override;
  // Asked about `lib::Name` where the namespace is there and lacks the name: another header, or the
  // release of a library that the code was written for, declares that.
  clang::TypoCorrection CorrectTypo(const clang::DeclarationNameInfo &typo, int lookup_kind,
                                    clang::Scope *scope, clang::CXXScopeSpec *qualifier,
                                    clang::CorrectionCandidateCallback &candidates,
                                    clang::DeclContext *member_context, bool entering_context,
                                    const clang::ObjCObjectPointerType *type) override;

  // Whoever lays out a class has to know how large its members are.
  bool layoutRecordType(const clang::RecordDecl *record, std::uint64_t &, std::uint64_t &,
                        llvm::DenseMap<const clang::FieldDecl *, std::uint64_t> &,
                        llvm::DenseMap<const clang::CXXRecordDecl *, clang::CharUnits> &,
                        llvm::DenseMap<const clang::CXXRecordDecl *, clang::CharUnits> &) override {
    settle(record);
    return false;
  }

  // Before the body of a function is parsed. In it, members of unknown type are names that nobody
  // declares, so `*member_` has no meaning instead of an error.
  void enter(const clang::Decl *function);

  // At the end of a class, which is laid out: of what types its unknown members are is forgotten.
  void settle(const clang::DeclContext *record);

private:
  void hide(clang::FieldDecl *field);

  enum class Use { kNone, kType, kValue };
  bool isUsersName(clang::SourceLocation location) const;
  // Of the name at `location`, whose qualifiers, if any, start at `begin`.
  Use useOf(const clang::IdentifierInfo *name, clang::SourceLocation begin,
            clang::SourceLocation location, bool is_in_body, bool is_parameter) const;
  Use useOf(const clang::IdentifierInfo *name, clang::SourceLocation begin,
            clang::SourceLocation location, const clang::Scope *scope) const;
  // Types that the body of a function asks of namespaces in vain: clang reads `lib::Name x;` as an
  // expression where it knows no such type, and does not ask whether somebody else does.
  void declareTypesIn(const clang::Decl *function) const;
  clang::NamedDecl *makeStandIn(const clang::IdentifierInfo *name, Use use,
                                clang::SourceLocation location) const;

  std::function<bool()> is_wanted_;
  clang::Sema *sema_ = nullptr;
  llvm::DenseMap<std::pair<const clang::IdentifierInfo *, int>, clang::NamedDecl *> made_;
  llvm::SmallPtrSet<const clang::FieldDecl *, 16> unknown_;
  llvm::SmallPtrSet<const clang::CXXRecordDecl *, 4> marked_; // not settled yet
  llvm::SetVector<clang::FieldDecl *> hidden_;
};

} // namespace devsan::analyzer
