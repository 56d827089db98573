// The memory in which the processes of a run tell what they could not record
// (runtime/protocol/run_board.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

struct DevsanRunBoard;

namespace devsan::command {

class RunBoard {
public:
  RunBoard();

  // For DEVSAN_RUN_BOARD; empty where no memory is to be had.
  const std::string &name() const { return name_; }
  // Empty where there is some; without, a file does, which fewer processes reach.
  std::string sharedMemoryError() const;

  // From now on no process of the run makes a log. Once.
  void close();
  // What is missing where `logs` were found, one sentence each; nothing where all was recorded.
  std::vector<std::string> missing(std::size_t logs) const;

private:
  DevsanRunBoard *board_ = nullptr; // for good: the kernel frees it
  std::uint64_t token_ = 0;         // ours, whatever stands in the memory
  bool is_forged_ = false;
  std::string name_;
  int error_ = 0;
};

} // namespace devsan::command
