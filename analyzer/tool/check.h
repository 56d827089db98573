// What `devsan check` does: command line → files → analysis → report.
#pragma once

#include "analyzer/tool/options.h"
#include "core/result.h"

namespace devsan::analyzer {

// The exit status.
core::Result<int> check(Options options);

} // namespace devsan::analyzer
