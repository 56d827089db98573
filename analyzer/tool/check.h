// What `devsan check` does: command line → files → analysis → report.
#pragma once

#include "analyzer/settings/options.h"
#include "core/system/result.h"

namespace devsan::analyzer {

// The exit status.
core::Result<int> check(Options options);

} // namespace devsan::analyzer
