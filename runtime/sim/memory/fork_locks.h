// Locks that a child must find free: a fork waits until no other thread holds one, so that host
// work (is_pinned, pin_memory, closed pages) goes on in the child. Registered by their owners, from
// any thread; never unregistered, so they live as long as the process. Whoever holds one may take
// neither another of them nor the locks of streams and pending copies, whose handlers run first.
#pragma once

#include <mutex>

namespace devsan::sim {

void holdOverForks(std::mutex &mutex);

} // namespace devsan::sim
