#pragma once

#include "runtime/read/log_reader.h"

#include <ATen/core/Tensor.h>
#include <algorithm>
#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace devsan::runtime {

inline const at::Device kFirst("cuda:0");
inline const at::Device kSecond("cuda:1");

at::Tensor onSecond();

// The log of this process, or of one that it started, as far as it is written.
ProcessLog readOwnLog(pid_t pid = getpid());

// Without the first uses of devices, of which any test may make one.
ProcessLog readEvents();

// What `body` made the runtime record, on any thread.
struct Recorded {
  ProcessLog log;
  std::vector<Event> events;

  std::string op(std::size_t i) const { return log.string(events.at(i).op); }
  std::size_t count(EventKind kind) const {
    return std::size_t(std::count_if(events.begin(), events.end(),
                                     [&](const Event &e) { return e.kind == kind; }));
  }
  const Event &first(EventKind kind) const {
    return *std::find_if(events.begin(), events.end(),
                         [&](const Event &e) { return e.kind == kind; });
  }
};

template <typename Body> Recorded record(Body body) {
  std::size_t before = readEvents().events.size();
  body();
  Recorded recorded{readEvents(), {}};
  recorded.events.assign(recorded.log.events.begin() + std::ptrdiff_t(before),
                         recorded.log.events.end());
  return recorded;
}

} // namespace devsan::runtime
