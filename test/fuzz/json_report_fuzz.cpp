// A JSON report: what is read is written as it was read, and can be merged and shown.
#include "core/finding/merge.h"
#include "core/report/reports.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Result<Report> report = readReport(text, "fuzz.json");
  if (!report) {
    CHECK(report.error().message.starts_with("fuzz.json:"));
    return 0;
  }
  const std::string written = jsonReport(report->findings, report->summary);
  const Result<Report> again = readReport(written, "again.json");
  CHECK(again);
  CHECK(jsonReport(again->findings, again->summary) == written);
  textReport(report->findings, report->summary, {.terminal = {true, 40}});
  Merger merger;
  merger.add(report->findings);
  merger.add(report->findings);
  std::vector<Finding> merged = merger.take();
  CHECK(merged.size() == report->findings.size());
  rankByCost(merged, report->summary.basis);
  textReport(merged, report->summary);
  return 0;
}
