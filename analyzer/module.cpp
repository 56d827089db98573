#include "analyzer/check_registry.h"

#include <clang-tidy/ClangTidyModule.h>

namespace devsan::analyzer {

namespace factories {
#define DEVSAN_CHECK(rule, folder)                                                                 \
  std::unique_ptr<clang::tidy::ClangTidyCheck> folder(llvm::StringRef name,                        \
                                                      clang::tidy::ClangTidyContext *context);
#include "checks.inc"
#undef DEVSAN_CHECK
} // namespace factories

namespace {

constexpr CheckEntry kChecks[] = {
#define DEVSAN_CHECK(rule, folder) {rule, factories::folder},
#include "checks.inc"
#undef DEVSAN_CHECK
};

class DeviceModule : public clang::tidy::ClangTidyModule {
public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories &factories) override {
    for (const CheckEntry &check : kChecks)
      factories.registerCheckFactory(check.rule, check.make);
  }
};

clang::tidy::ClangTidyModuleRegistry::Add<DeviceModule>
    registration("device-module", "Finds device bugs in LibTorch and CUDA code.");

} // namespace

std::span<const CheckEntry> allChecks() {
  return kChecks;
}

} // namespace devsan::analyzer
