#include "command/observed.h"

#include <algorithm>
#include <iterator>

namespace devsan::command {

std::function<bool(const core::Finding &)> FindingFilter::function() {
  return [this](const core::Finding &finding) {
    if (!suppressions_.covers(finding) && !core::hasNolint(finding, lines_))
      return false;
    const core::Location place =
        finding.locations.empty() ? core::Location{} : finding.locations.front();
    places_.insert(finding.rule + "\n" + place.file + "\n" + std::to_string(place.line) + "\n" +
                   finding.op);
    return true;
  };
}

std::vector<std::string> FindingFilter::unused(bool simulated) const {
  return suppressions_.unused([&](const core::Rule &rule) {
    return rule.on_runtime && (simulated || !rule.simulated_only);
  });
}

void takeAnalysis(core::Report &report, runtime::Analysis analysis, const RunFacts &facts,
                  const core::Ownership &ownership) {
  report.findings = std::move(analysis.findings);
  ownership.mark(report.findings);
  core::sortByContent(report.findings); // for the fingerprints
  core::Summary &summary = report.summary;
  std::ranges::move(analysis.unreadable, std::back_inserter(summary.notes));
  std::ranges::move(analysis.notes, std::back_inserter(summary.notes));
  summary.partial |= analysis.incomplete;
  summary.ranks = std::move(analysis.ranks);
  summary.step_times = std::move(analysis.step_times);
  summary.basis = {analysis.simulated, facts.wall_ns, analysis.steps};
}

} // namespace devsan::command
