// From a process's log to the times of its steps.
#pragma once

#include "core/finding/step_times.h"
#include "runtime/resolve/resolve.h"

namespace devsan::runtime {

// Without columns where no step ended. The first step begins with the first copy or wait: what the
// program did before, it hardly means as a part of it.
core::StepTimes stepTimesOf(const ProcessLog &log, const StepNumbers &numbers);

} // namespace devsan::runtime
