#include "fork_locks.h"

#include <pthread.h>

#include <vector>

namespace devsan::sim {
namespace {

struct ForkLocks {
  std::mutex mutex;
  std::vector<std::mutex *> all;
};

// Never destroyed: threads of a program may fork while it ends.
ForkLocks &forkLocks() {
  static auto *one = new ForkLocks;
  return *one;
}

void takeAll() {
  forkLocks().mutex.lock();
  for (std::mutex *mutex : forkLocks().all)
    mutex->lock();
}

void releaseAll() {
  for (std::mutex *mutex : forkLocks().all)
    mutex->unlock();
  forkLocks().mutex.unlock();
}

// When the library is loaded, before all others of the simulator register theirs, whatever the
// order of the files: what registers later is taken earlier.
__attribute__((constructor(200))) void registerForkLocks() {
  pthread_atfork(takeAll, releaseAll, releaseAll);
}

} // namespace

void holdOverForks(std::mutex &mutex) {
  std::lock_guard lock(forkLocks().mutex);
  forkLocks().all.push_back(&mutex);
}

} // namespace devsan::sim
