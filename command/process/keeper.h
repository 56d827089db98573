// The process that waits beside a run, makes its report when the program has ended and leaves
// nothing behind. Apart from `devsan run` itself, each stands in for the other: where the report's
// process dies, of a lack of memory or of a log, `devsan run` ends with the program's status all
// the same; where `devsan run` is killed, alone or with its process group, the report is made when
// the program has ended. The two need no descriptors between them: those may have run out.
#pragma once

#include "command/process/bounded.h"
#include "command/process/launch.h"
#include "core/system/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <sys/types.h>

namespace devsan::command {

struct ProgramRun {
  ProgramEnd end;
  std::uint64_t wall_ns = 0;
  bool devsan_was_killed = false; // and how the program ended is not known
};

class Keeper {
public:
  // Starts the process. `report` runs in it once, and returns the status of `devsan run`, were the
  // program's 0; `bounds` is asked before.
  Keeper(std::function<int(const ProgramRun &)> report, std::function<Bounds()> bounds);
  Keeper(const Keeper &) = delete;
  Keeper &operator=(const Keeper &) = delete;
  // Without finish(): the program never started, and there is nothing to report.
  ~Keeper();

  // In this process or a child of it.
  void programStarted(pid_t program);
  // Waits for the report. An interruption ends it; `clean_up` is called then, and this process ends
  // by the signal where the program itself did not fail.
  core::Result<int> finish(const ProgramRun &run, const std::function<void()> &clean_up);

private:
  struct Shared;

  [[noreturn]] void keep(pid_t parent);

  std::function<int(const ProgramRun &)> report_;
  std::function<Bounds()> bounds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  Shared *shared_ = nullptr;
  pid_t child_ = -1;
};

} // namespace devsan::command
