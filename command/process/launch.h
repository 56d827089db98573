// Runs the program under test as its own shell would: same terminal, same process group, signals
// passed on.
#pragma once

#include "core/system/result.h"

#include <functional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace devsan::command {

using Environment = std::vector<std::pair<std::string, std::string>>;

// How a program ended: `signal` is 0 where it left with `status`.
struct ProgramEnd {
  int status = 0;
  int signal = 0;
};

// Starts `command` (looked up in PATH) with `environment` set on top of the own one, and waits for
// its end. `started` is called in its process, before it becomes the program.
core::Result<ProgramEnd> launch(const std::vector<std::string> &command,
                                const Environment &environment,
                                const std::function<void(pid_t)> &started = {});

// Ends this process the way the program ended.
[[noreturn]] void endBySignal(int signal);

} // namespace devsan::command
