// Lets go of Python's global interpreter lock while a thread waits for other ranks.
//
// PyTorch calls Work::get_future() and its kin with the GIL, as NCCL's return at once. Here they
// wait for Gloo, whose threads need the GIL to drop what a Python thread left in their work.
#pragma once

namespace devsan::sim {

// Does nothing in a thread that does not hold the GIL, and in programs without Python. Make it
// before any lock is taken: it takes the GIL back when it goes.
class WithoutGil {
public:
  WithoutGil();
  // Python ends a thread that comes back while the interpreter shuts down.
  ~WithoutGil() noexcept(false);
  WithoutGil(const WithoutGil &) = delete;
  WithoutGil &operator=(const WithoutGil &) = delete;

private:
  void *thread_state_ = nullptr;
};

} // namespace devsan::sim
