// Puts an observer of all operators on a thread, and takes it off: it is there only while the
// thread follows something, because being observed costs every operator about a tenth of a
// microsecond. Of the thread alone: switching a process-wide observer makes every thread take the
// lock of LibTorch's list of observers, where a fork on another thread may meet it, and no child
// could release it. Here the lock is taken inside the fork gate (fork_gate.h) and nowhere else.
//
// LibTorch saves a thread's observers and puts them back, when autograd's work on that thread ends
// among others. An observer that was put on in between stays all the same; one that was taken off
// may come back, and is called on a thread that has nothing to observe.
#pragma once

#include <ATen/record_function.h>

namespace devsan::runtime {

// Once, before the other functions.
void prepareObservation(at::RecordFunctionCallback::StartCallback start,
                        at::RecordFunctionCallback::EndCallback end);

// To be called by the observer, on a thread that follows something.
void operatorObserved();

// Both do nothing where the thread is in that state already.
void observeThread();
void leaveThread();

// The handlers of fork. A child observes nothing until it asks itself, on any of its threads.
void pauseObservation();
void resumeObservationInParent();
void forgetObservation();

} // namespace devsan::runtime
