// Keeps fork away from the moments in which the runtime holds a lock that no child could release:
// dl_iterate_phdr holds the loader's list lock, which glibc does not reset in a child, and torch's
// unwinder has locks of its own. Stack captures and module listings pass through the gate, any
// number of threads at once; fork waits until nobody is inside and keeps it shut until it is done.
// No LibTorch in here, nothing allocates.
#pragma once

namespace devsan::runtime {

// Held by whoever may take such a lock. Nests.
class InsideForkGate {
public:
  InsideForkGate();
  ~InsideForkGate();
  InsideForkGate(const InsideForkGate &) = delete;
  InsideForkGate &operator=(const InsideForkGate &) = delete;
};

// The three handlers of pthread_atfork. `reopenForkGateInChild` says whether the gate was empty at
// the fork; if not, locks may be held forever and the child must stay away from them.
void shutForkGate();
void reopenForkGateInParent();
bool reopenForkGateInChild();

} // namespace devsan::runtime
