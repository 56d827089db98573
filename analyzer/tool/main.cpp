#include "analyzer/check_registry.h"

#include <clang-tidy/ClangTidy.h>
#include <clang/Tooling/CompilationDatabase.h>
#include <llvm/Support/VirtualFileSystem.h>

// Minimal front: devsan-check --checks=GLOBS FILE... -- FLAGS
int main(int argc, char **argv) {
  std::string checks = "device-*";
  std::vector<std::string> files;
  std::vector<std::string> flags;
  bool after = false;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (after)
      flags.push_back(arg.str());
    else if (arg == "--")
      after = true;
    else if (arg.consume_front("--checks="))
      checks = arg.str();
    else if (!arg.starts_with("--torch="))
      files.push_back(arg.str());
  }
  auto options = clang::tidy::ClangTidyOptions::getDefaults();
  options.Checks = "-*," + checks;
  options.HeaderFilterRegex = ".*";
  clang::tidy::ClangTidyContext context(std::make_unique<clang::tidy::DefaultOptionsProvider>(
      clang::tidy::ClangTidyGlobalOptions(), options));
  clang::tooling::FixedCompilationDatabase database(".", flags);
  auto fs = llvm::makeIntrusiveRefCnt<llvm::vfs::OverlayFileSystem>(llvm::vfs::getRealFileSystem());
  auto errors = clang::tidy::runClangTidy(context, database, files, fs, false);
  unsigned as_errors = 0;
  clang::tidy::handleErrors(errors, context, clang::tidy::FB_NoFix, as_errors, fs);
  return errors.empty() ? 0 : 1;
}
