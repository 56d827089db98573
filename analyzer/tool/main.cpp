// devsan-check, which `devsan check` executes.

#include "analyzer/tool/check.h"
#include "core/system/whole_file.h"
#include "core/text/terminal_text.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <csignal>
#include <new>

int main(int argc, char **argv) {
  using namespace devsan;
  // Beyond a limit on the size of files a write then fails, which matters for reports alone.
  std::signal(SIGXFSZ, SIG_IGN);
  // LLVM allocates past operator new as well.
  llvm::install_bad_alloc_error_handler([](void *, const char *, bool) {
    if (const std::new_handler handler = std::get_new_handler())
      handler();
  });
  const auto options = analyzer::parseOptions(argc, argv);
  if (options && !*options)
    return 0;
  const core::Result<int> status =
      options ? analyzer::check(**options) : core::Result<int>(tl::unexpected(options.error()));
  if (status)
    return *status;
  llvm::errs() << "devsan check: error: " << core::printableLines(status.error().message) << "\n";
  return 2;
}
