// The report of `devsan check`: where it goes, and what its summary says it is about.
#pragma once

#include "analyzer/settings/options.h"
#include "core/finding/finding.h"
#include "core/report/reports.h"
#include "core/system/result.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

// "12 of 40 files, 3 excluded, changes since main".
std::string subjectOf(const Options &options, std::size_t files, std::size_t all,
                      std::size_t excluded);

// Into a file, or to stdout where it is empty; `what` is for errors: "the commands".
core::Result<void> writeText(const std::string &text, const std::string &what,
                             const std::string &output);
core::Result<void> writeReport(const Options &options, const std::vector<core::Finding> &findings,
                               const core::Summary &summary, const std::string &repository);

} // namespace devsan::analyzer
