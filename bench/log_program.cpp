// What counting an event in the log costs, without its stack: nanoseconds, the least of several
// rounds. Arguments: a directory for the log; "trace" where each event is written by itself, too.
#include "runtime/log/tallies.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

using namespace devsan::runtime;

int main(int count, char **arguments) {
  static LogWriter log; // too large for the stack
  const bool traces = count == 3 && std::strcmp(arguments[2], "trace") == 0;
  if ((count != 2 && !traces) || !log.open(arguments[1], 0)) {
    std::fprintf(stderr, "usage: %s DIRECTORY [trace]\n", arguments[0]);
    return 2;
  }
  Tallies tallies(log);
  if (traces)
    tallies.trace(1 << 24);
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 50; ++round) {
    constexpr int kEvents = 20'000, kDifferent = 100;
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kEvents; ++i) {
      Event event;
      event.thread = 1;
      event.stack = StackId(i % kDifferent + 1);
      event.bytes = 4;
      event.blocked_ns = 100;
      event.step = std::uint32_t(i / 1000);
      tallies.count(event);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count() / kEvents);
  }
  std::printf("%.2f\n", least);
}
