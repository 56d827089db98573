// Builds event logs for tests, byte by byte as the runtime writes them, together with the answers
// that the symbolizer would give for their native frames.
#pragma once

#include "runtime/resolve/resolve.h"

#include <cstddef>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace devsan::runtime::testing {

// A frame of a stack: a native one where it has a module.
struct TestFrame {
  std::string module;
  std::string function;
  std::string file;
  unsigned line = 0;
  unsigned instruction = 0; // of Python's code
};

// A frame of the program under test, compiled with debug information.
TestFrame user(std::string function, unsigned line, std::string file = "/src/train.cpp");
// An operator's frame in libtorch_cpu.so: op("item") is at::_ops::item::call.
TestFrame op(const std::string &name);
// Another function of LibTorch.
TestFrame torch(std::string function);
TestFrame python(std::string function, unsigned line, std::string file = "/src/train.py",
                 unsigned instruction = 0);

inline constexpr DeviceId kHost{0, -1};
constexpr DeviceId cuda(int index) {
  return {1, static_cast<std::int8_t>(index)};
}

class LogBuilder {
public:
  LogBuilder();

  StringId string(const std::string &text);
  StackId stack(std::initializer_list<TestFrame> innermost_first);
  LogBuilder &add(const Event &event, int times = 1);
  // The numbers of an event's tally, which are there once it was added.
  TallyRecord &tally(const Event &event);
  // Any record; `finished` false leaves it as a writer that died does.
  LogBuilder &record(RecordKind kind, const std::vector<std::byte> &body, bool finished = true);

  FileHeader header;
  bool traces = false; // events beyond the first of each kind are written one by one, too
  std::vector<std::byte> bytes() const;
  const SymbolTable &symbols() const { return symbols_; }

private:
  std::uint64_t pcOf(const TestFrame &frame);
  std::size_t addTally(const Event &event);

  std::vector<std::byte> records_;
  std::map<std::string, std::size_t> tallies_; // by identity: where their records begin
  StringId strings_ = 0;
  StackId stacks_ = 0;
  std::map<std::string, std::uint64_t> modules_;
  std::uint64_t next_offset_ = 16;
  SymbolTable symbols_;
};

// Reads the log back and resolves it.
Recording replay(const LogBuilder &log);
// The same for the logs of a run's processes.
Recording replay(std::initializer_list<LogBuilder> logs);

} // namespace devsan::runtime::testing
