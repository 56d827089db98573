// From what the runtime observed to a report: what `devsan run` and `devsan report` share.
#pragma once

#include "command/run_folder.h"
#include "core/finding/nolint.h"
#include "core/finding/ownership.h"
#include "core/project/suppressions.h"
#include "core/report/reports.h"
#include "runtime/analysis/analysis.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace devsan::command {

// Takes findings away that a suppression or a NOLINT covers, and counts them. The working directory
// has to be the one that their paths are relative to.
class FindingFilter {
public:
  explicit FindingFilter(core::Suppressions suppressions,
                         core::Ownership ownership = core::Ownership())
      : suppressions_(std::move(suppressions)), ownership_(std::move(ownership)) {}

  // Valid as long as this object.
  std::function<bool(const core::Finding &)> function();
  // Places, not processes: a place that is suppressed on 64 ranks counts once.
  std::uint64_t suppressed() const { return places_.size(); }
  // Of the rules that a run can find, on such devices.
  std::vector<std::string> unused(bool simulated) const;
  // Of what is not taken away, whose code it is.
  const core::Ownership &ownership() const { return ownership_; }

private:
  core::Suppressions suppressions_;
  core::Ownership ownership_;
  core::SourceLines lines_;
  std::set<std::string> places_;
};

void takeAnalysis(core::Report &report, runtime::Analysis analysis, const RunFacts &facts,
                  const core::Ownership &ownership);

} // namespace devsan::command
