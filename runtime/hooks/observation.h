// Switches one process-wide observer of all operators on and off. It is on only while some thread
// asks for it and shortly after, because being observed costs every operator of every thread about
// a tenth of a microsecond. Process-wide, because LibTorch saves a thread's own observers and puts
// them back when autograd's work on that thread ends, so that one switched on or off in between is
// lost or returns. Any thread.
#pragma once

#include <ATen/record_function.h>

namespace devsan::runtime {

// Once, before the other functions.
void prepareObservation(at::RecordFunctionCallback::StartCallback start,
                        at::RecordFunctionCallback::EndCallback end);

// How many threads want to be observed. A thread that is counted calls `keepObserving` with each
// new reason.
void addObservingThread();
void keepObserving();
void removeObservingThread();

// To be called by the observer on a thread that has nothing to observe. A thread that asked and
// then idles must not slow down the others forever: after many such calls observation is suspended
// until somebody has a new reason.
void countObservedInVain();

// For fork: before it in the parent, and in the child, where no thread is observing.
void settleObservation();
void forgetObservation();

} // namespace devsan::runtime
