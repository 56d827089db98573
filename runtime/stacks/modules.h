// Tells the log which files are mapped where, so that addresses can be turned into lines after the
// run.
#pragma once

#include "runtime/log/log_writer.h"

namespace devsan::runtime {

// Writes the modules that were not written yet to this log. False, at once, where nothing was
// loaded or unloaded since the last call. Any thread.
bool writeNewModules(LogWriter &log);

// For the child after fork: its log knows no module yet.
void forgetWrittenModules();

} // namespace devsan::runtime
