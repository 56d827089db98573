// What became of a project's findings from one report to the next: `devsan report --compare OLD
// NEW`. They are known again by rule and fingerprint, as in a baseline, so lines may move.
#pragma once

#include "core/report/reports.h"

#include <string>
#include <vector>

namespace devsan::core {

struct Change {
  Finding before;
  Finding after;
};

struct Comparison {
  Summary before; // of the reports
  Summary after;
  std::vector<Finding> fresh; // also those that have become more severe
  std::vector<Finding> gone;
  std::vector<Change> changed; // in count or bytes, or, where times are measured, in blocked time
  std::vector<Finding> same;
};

Comparison compare(Report before, Report after);

// New findings as a report shows them, the others with a line each.
std::string compareText(const Comparison &comparison, Terminal terminal = {});
// Schema devsan-compare/1.
std::string compareJson(const Comparison &comparison);
// All findings of both, with what became of them.
std::string compareMarkdown(const Comparison &comparison);
void writeCompareHtml(std::ostream &out, const Comparison &comparison);
// What is new, alone, for formats that say where to act: SARIF, annotations and JUnit XML.
Report newFindings(const Comparison &comparison);

} // namespace devsan::core
