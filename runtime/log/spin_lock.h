// A lock for short moments, on a flag that a forked child can simply clear: a mutex that another
// thread holds at the fork could never be released there. Any thread; nothing is allocated. No
// LibTorch in here.
#pragma once

#include <atomic>
#include <sched.h>

namespace devsan::runtime {

class SpinLock {
public:
  explicit SpinLock(std::atomic_flag &flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire))
      sched_yield();
  }
  ~SpinLock() { flag_.clear(std::memory_order_release); }
  SpinLock(const SpinLock &) = delete;
  SpinLock &operator=(const SpinLock &) = delete;

private:
  std::atomic_flag &flag_;
};

} // namespace devsan::runtime
