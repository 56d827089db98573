// The base of the checks that read a function's facts: it asks the shared model, skips library
// code, and prints one finding per place however many instantiations of a template show it.
#pragma once

#include "analyzer/ast/torch_api.h"
#include "analyzer/model/diagnosis.h"
#include "analyzer/model/model.h"

namespace devsan::analyzer {

class DeviceCheck : public RuleCheck {
public:
  using RuleCheck::RuleCheck;

  void registerMatchers(clang::ast_matchers::MatchFinder *finder) override;
  void check(const clang::ast_matchers::MatchFinder::MatchResult &result) override;
  void onEndOfTranslationUnit() override;

protected:
  virtual void examine(const FunctionFacts &facts) = 0;

  // Takes the shared model; for a check with matchers of its own.
  void useModel(clang::ASTContext &context);
  DeviceModel &model() { return *model_; }
  // False where this place was reported before, or that of the macro's body that it comes from.
  bool firstAt(const clang::Expr *expr);
  // The user's spelling of an expression, on one line and not longer than a message bears.
  std::string spelling(const clang::Expr *expr);
  // Where a finding about this expression belongs: at the method's name for a chain of calls, so
  // that the line is the one a reader looks for. Inside a macro, where the user wrote it.
  clang::SourceLocation locationOf(const clang::Expr *expr);
  unsigned lineOf(const clang::Expr *expr);
  // The value of `expr` goes nowhere: `x.cuda();`
  bool isDiscarded(const clang::Expr *expr);
  // The edits by which a factory makes its tensor on that device, whose dtype stays what it is;
  // none where they cannot be made.
  llvm::SmallVector<clang::FixItHint, 4> passDevice(const clang::Expr *factory,
                                                    const std::string &device);
  // What has the data at `place` that `expr` uses. None where several may, one after the other: in
  // instantiations of a template, and behind a macro.
  static std::optional<DataHolder> holderFor(const FunctionFacts &facts, const clang::Expr *expr,
                                             const Place &place);
  // Whether text can be edited there: not inside a macro.
  bool editable(const clang::Expr *expr);

private:
  static clang::SourceLocation nameLocation(const clang::Expr *expr);

  std::shared_ptr<DeviceModel> model_;
  std::set<clang::SourceLocation> reported_;
};

} // namespace devsan::analyzer
