#include "analyzer/answers/facts_check.h"
#include "analyzer/ast/clang_compat.h"
#include "analyzer/check_registry.h"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace devsan::analyzer {

namespace rules {
#define DEVSAN_FACTS_RULE(rule, folder) extern const Rule folder;
#include "checks.inc"
#undef DEVSAN_FACTS_RULE
} // namespace rules

namespace {

// The program that loads the plugin brings clang. Another release of it would take the plugin,
// list its checks, and crash when it runs one: objects of clang's have another layout there.
// Defined before the registration, so that it comes first.
class ReleaseOfTheProgram {
public:
  ReleaseOfTheProgram() {
    const std::string version = clang::getClangFullVersion(); // "... clang version 22.1.8 (...)"
    llvm::StringRef rest = llvm::StringRef(version).split("clang version ").second;
    int major = 0;
    if (rest.consumeInteger(10, major) || major == kClangMajor)
      return;
    std::fprintf(stderr,
                 "error: this plugin of DevSan is for clang-tidy %d, and the program that loads it "
                 "is of release %d\n",
                 kClangMajor, major);
    std::exit(1);
  }
};
const ReleaseOfTheProgram release_of_the_program;

constexpr CheckEntry kChecks[] = {
#define DEVSAN_FACTS_RULE(rule, folder) {rule, makeFactsCheck<rules::folder>},
#include "checks.inc"
#undef DEVSAN_FACTS_RULE
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
