// Stand-ins for names that a missing header would have declared. Without a declaration clang drops
// what it cannot give a meaning: the whole body of `for (auto &batch : *loader)`, the arguments of
// `library::log(x)`. With one of a type that is not known yet, as in a template, it keeps them.
#pragma once

#include <clang/Sema/ExternalSemaSource.h>
#include <llvm/ADT/DenseMap.h>

#include <functional>
#include <utility>

namespace devsan::analyzer {

class UnknownNames : public clang::ExternalSemaSource {
public:
  // `is_wanted` is asked whether the file lacks a header.
  explicit UnknownNames(std::function<bool()> is_wanted) : is_wanted_(std::move(is_wanted)) {}

  void InitializeSema(clang::Sema &sema) override { sema_ = &sema; }
  bool LookupUnqualified(clang::LookupResult &result, clang::Scope *scope) override;

private:
  enum class Use { kNone, kType, kValue };
  Use useOf(const clang::LookupResult &result, const clang::Scope *scope) const;

  std::function<bool()> is_wanted_;
  clang::Sema *sema_ = nullptr;
  llvm::DenseMap<std::pair<const clang::IdentifierInfo *, int>, clang::NamedDecl *> made_;
};

} // namespace devsan::analyzer
