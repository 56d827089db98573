// Gives strings and stacks of the log their ids, each content once. Any thread may ask at any time;
// nothing is locked or allocated: the tables have a fixed size, and what finds no room in them has
// id 0. Contents are told apart by a hash of 60 bits. No LibTorch in here.
#pragma once

#include "runtime/log/log_writer.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

namespace devsan::runtime {

// Ids from 1. Two threads that meet a new content at once may both draw an id, and only one of them
// is used: ids have gaps.
class InternTable {
public:
  struct Lookup {
    std::uint32_t id = 0;
    bool is_new = false; // the caller writes the record
  };

  // `slots` has a power of two entries, all zero at first.
  explicit InternTable(std::span<std::atomic<std::uint64_t>> slots) : slots_(slots) {}

  Lookup find(std::uint64_t hash);

  // For the child after fork, when no other thread exists.
  void clear();

private:
  std::span<std::atomic<std::uint64_t>> slots_;
  std::atomic<std::uint32_t> next_id_{1};
};

class Interner {
public:
  explicit Interner(LogWriter &log);

  StringId string(std::string_view text);

  // `frames` innermost first. Sets `is_new` where this content was not seen before, so that the
  // caller can make sure that the modules of its frames are in the log.
  StackId stack(std::span<const FrameRecord> frames, bool *is_new = nullptr);

  void resetInChild();

private:
  LogWriter &log_;
  InternTable strings_;
  InternTable stacks_;
};

} // namespace devsan::runtime
