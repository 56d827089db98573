// Runs tasks in child processes. clang may crash, hang or run out of memory on code it has never
// seen; that ends the child, and the others go on. Children die with their parent, however it ends.
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <vector>

namespace devsan::analyzer {

// What a task may not exceed, and what ended one that did.
enum class Limit : std::uint8_t {
  kNone,
  kTime,
  kMemory,
  kTokens, // of a source, with all that it includes and expands
  kResult, // of what it writes
  kRun,    // the time of the whole run
};

// What became of a task.
struct Outcome {
  std::optional<std::string> text; // what the child wrote; nothing where it died
  int signal = 0;                  // that killed it, if any
  Limit limit = Limit::kNone;
};

using Seconds = std::chrono::seconds;

// A limit of a task is one of processor time, so that a busy machine ends nobody's. One that waits
// for something gets so many times that by the clock.
constexpr int kClockFactor = 8;

// The caller has no other threads.
class Processes {
public:
  Processes() = default;
  Processes(const Processes &) = delete;
  ~Processes(); // kills what still runs

  // Forks. Returns twice, like fork: in the child the file to write its text to, for finish(); in
  // this process nothing. `limit` of 0 is none. A fork that fails is an outcome without text.
  // Children that were forked before are killed by clear().
  std::optional<int> fork(std::size_t task, Seconds limit);

  // Writes and ends the child, without destructors: tearing down an AST takes seconds.
  [[noreturn]] static void finish(int file, const std::string &text);

  void clear();

  std::size_t running() const { return running_.size() + failed_.size(); }

  // Waits until a child has ended, its time is over, one of `others` is ready (see poll(2)), or
  // `until`, and hands the outcomes over.
  using Clock = std::chrono::steady_clock;
  void wait(std::vector<pollfd> &others, std::optional<Clock::time_point> until,
            llvm::function_ref<void(std::size_t, Outcome)> done);

private:
  struct Running {
    std::size_t task;
    pid_t process;
    std::optional<Clock::time_point> deadline;
    std::string text;
    Limit limit = Limit::kNone;
  };
  int pollTime(std::optional<Clock::time_point> first) const;

  std::map<int, Running> running_; // by the file that is read
  std::vector<std::size_t> failed_;
};

// In a child, right after fork: it dies with `parent`, and is mute: a crash of clang prints pages
// of stack, which the parent says in a line. It leaves no core, and ends by the limits of time and
// memory; `limit` of 0 is none.
void attachToParent(pid_t parent, Seconds limit);

// Of a child whose task is done, and that goes on to serve others.
void liftTimeLimit();

// Ends a child so that limitOf() tells why.
[[noreturn]] void endBy(Limit limit);

// What ended a child, of the status that waitpid(2) tells.
Limit limitOf(int status);

// Undoes it for work that may outlive the parent, which is told by `tell` once that is so: a
// session of its own, no file but `kept`, and two minutes at most.
void detachFromParent(int kept, llvm::function_ref<void()> tell);

bool writeAll(int file, const void *data, std::size_t size);

} // namespace devsan::analyzer
