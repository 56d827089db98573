#include "analyzer/check_registry.h"

namespace devsan::analyzer {
namespace {

using namespace clang::ast_matchers;

class RawSetDeviceCheck : public clang::tidy::ClangTidyCheck {
public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(MatchFinder *finder) override {
    finder->addMatcher(
        callExpr(callee(functionDecl(hasAnyName("::cudaSetDevice", "::c10::cuda::set_device"))))
            .bind("call"),
        this);
  }

  void check(const MatchFinder::MatchResult &result) override {
    const auto *call = result.Nodes.getNodeAs<clang::CallExpr>("call");
    diag(call->getBeginLoc(), "the current device is changed and not restored");
  }
};

} // namespace
} // namespace devsan::analyzer

DEVSAN_REGISTER_CHECK(RawSetDeviceCheck, raw_set_device)
