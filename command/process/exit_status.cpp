#include "command/process/exit_status.h"
#include "core/text/terminal_text.h"

#include <cstdio>

namespace devsan::command {

int fail(const std::string &message) {
  std::fprintf(stderr, "devsan: error: %s\n", core::printableLines(message).c_str());
  return kCannotStart;
}

} // namespace devsan::command
