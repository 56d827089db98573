#include "runtime/detectors/detector.h"
#include "runtime/detectors/copies.h"
#include "runtime/detectors/groups.h"
#include "runtime/detectors/remedies.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

namespace {

bool isReported(const ResolvedEvent &event) {
  return !event.has(kTransferAllowed) && !event.has(kWarmup);
}

// " (`indices[0]`, `values`)", where all copies of the group are of these.
std::string operandsText(const EventGroup &group) {
  if (group.operands.size() != 1 || group.operands.begin()->empty())
    return {};
  std::string text = *group.operands.begin();
  for (std::size_t at = 0; (at = text.find(", ", at)) != std::string::npos; at += 2)
    text.replace(at, 2, "`, `");
  return " (`" + text + "`)";
}

core::Finding transferFinding(const EventGroup &group, std::string why) {
  const ResolvedEvent &event = *group.first;
  core::Finding finding = makeFinding("device-implicit-transfer", group);
  if (group.any_flags & kTransferDisallowed) {
    finding.severity = core::Severity::kError;
    why += ", where such copies are disallowed";
  }
  finding.from = *group.from.begin();
  finding.to = *group.to.begin();
  finding.waits = group.any_flags & kBlocks;
  finding.message = "copied " + sizeText(group) + " " + devicesText(group.from) + " → " +
                    devicesText(group.to) +
                    (group.operators.size() == 1 ? inOperator(event) + operandsText(group) : "") +
                    " " + why + ", " + timesText(group.count) + " (" + bytesText(group.bytes) + ")";
  if (finding.locations.size() > 1)
    finding.message += ", at " + std::to_string(finding.locations.size()) + " places";
  if (finding.waits)
    finding.message += "; the host waited for it";
  addCause(finding, group);
  return finding;
}

} // namespace

std::vector<core::Finding> detectImplicitTransfer(const Recording &recording) {
  std::vector<core::Finding> findings;
  const auto is_implicit = [](const ResolvedEvent &event) {
    return isImplicitTransfer(event) && isReported(event);
  };
  for (const EventGroup &group :
       groupByPlace(recording, is_implicit, {.devices = true, .causes = true})) {
    findings.push_back(transferFinding(group, "although nothing asked for it"));
    findings.back().remedy = remedyForTransfer(*group.first);
    if (happensOnce(group) && findings.back().severity != core::Severity::kError)
      findings.back().severity = core::Severity::kNote;
  }
  // Once, it is how a tensor of host values comes to a device.
  const auto is_construction = [](const ResolvedEvent &event) {
    return isConstruction(event) && isReported(event);
  };
  for (const EventGroup &group : groupByPlace(recording, is_construction, {.devices = true})) {
    const bool of_host = group.first->event.from.isHost();
    core::Finding finding =
        transferFinding(group, of_host ? "for a tensor that is built from host values"
                                       : "for a tensor that is built from one on " +
                                             deviceName(group.first->event.from));
    finding.remedy = of_host
                         ? "hoist it out of the loop where it stays the same; where it is new each "
                           "time, make it on the host and " +
                               uploadWithoutWait(group)
                         : "keep it on its device, or spell the copy out: `.to(device)`";
    if (group.repeats < 2 && finding.severity != core::Severity::kError)
      finding.severity = core::Severity::kNote;
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
