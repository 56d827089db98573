// The memory in which the processes of a run tell what they could not record
// (runtime/run_board.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

struct DevsanRunBoard;

namespace devsan::command {

class RunBoard {
public:
  RunBoard();

  // For DEVSAN_RUN_BOARD; empty where no memory is to be had.
  const std::string &name() const { return name_; }

  // From now on no process of the run makes a log.
  void close();
  // What is missing where `logs` were found, one sentence each; nothing where all was recorded.
  std::vector<std::string> missing(std::size_t logs) const;

private:
  DevsanRunBoard *board_ = nullptr; // for good: the kernel frees it
  std::string name_;
  int error_ = 0;
};

} // namespace devsan::command
