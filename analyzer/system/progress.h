// How far the analysis of many files is, on a terminal's stderr: a bar, the rate and what is left.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <chrono>
#include <cstddef>

namespace devsan::analyzer {

class Progress {
public:
  explicit Progress(std::size_t total);
  ~Progress(); // takes the line away; so does an interrupt

  void say(llvm::StringRef text); // a line that stays, on any stderr
  void step(llvm::StringRef file);

private:
  std::size_t total_;
  std::size_t count_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point start_;
};

} // namespace devsan::analyzer
