#include "runtime/detectors/detector.h"
#include "runtime/detectors/groups.h"
#include "runtime/resolve/names.h"

namespace devsan::runtime {

std::vector<core::Finding> detectCollectiveDropsGrad(const Recording &recording) {
  std::vector<core::Finding> findings;
  for (const EventGroup &group : groupByPlace(recording, [](const ResolvedEvent &event) {
         return event.event.kind == EventKind::kGatherCombined;
       })) {
    core::Finding finding = makeFinding("device-collective-drops-grad", group);
    finding.from = deviceName(group.first->event.from);
    finding.message = "gathered tensors were combined" + inOperator(*group.first) +
                      " without this rank's own tensor, which carries the graph, " +
                      timesText(group.count) + ": no gradient flows back";
    addRelated(finding, group.first->related, "gathered here");
    findings.push_back(std::move(finding));
  }
  return findings;
}

} // namespace devsan::runtime
