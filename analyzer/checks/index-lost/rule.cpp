#include "analyzer/facts/rule.h"
#include "analyzer/facts/text.h"

#include <algorithm>

namespace devsan::analyzer {
namespace {

// Old code for the CPU spells its options like this too. Where it has set the device, the tensor
// lands there today; the next edit, or an early return, takes the call away from its device.
bool isLegacy(const DeviceKind &kind) {
  return kind.from == DeviceKind::From::kLegacyType || kind.from == DeviceKind::From::kLegacyCuda;
}

std::string whatIsLost(DeviceKind::From from, const std::string &tensor) {
  switch (from) {
  case DeviceKind::From::kLegacyType:
    return "'" + tensor + ".type()' keeps the kind of the device and loses its index";
  case DeviceKind::From::kLegacyCuda:
    return "'CUDA' is the current device, whatever device the tensors are on";
  case DeviceKind::From::kDeviceType:
    return "the device of '" + tensor + "' loses its index";
  case DeviceKind::From::kIsCuda:
    return "'" + tensor + "' may be on a device with another index";
  }
  return {};
}

RuleFinding losesIndex(const DeviceKind &kind, Program &program) {
  const std::string tensor = kind.tensor ? program.fullText(kind.tensor) : "";
  RuleFinding finding{.at = kind.expr,
                      .message = whatIsLost(kind.from, tensor) + ": no guard is live here",
                      .needs = Needs::kOtherDevice};
  // The others say what they say of any kind of device.
  if (kind.from == DeviceKind::From::kLegacyCuda || kind.from == DeviceKind::From::kIsCuda)
    finding.from = "cuda";
  // `x.device().type()` as a device is `x.device()`.
  if (kind.from == DeviceKind::From::kDeviceType && !tensor.empty())
    finding.fix = program.replaceCall(kind.expr, tensor + ".device()");
  return finding;
}

// device-missing-guard asks for a guard before a launch, which is one before the stream.
bool asksForGuard(Function function, Variable tensor, Program &program) {
  return std::ranges::any_of(program.deviceWork(function), [&](const DeviceWork &work) {
    return work.kind != DeviceWork::Kind::kStream &&
           (work.kind != DeviceWork::Kind::kCall || work.inner) && !work.guarded &&
           program.tensorOf(work.expr, function) == tensor &&
           !program.fitsCurrentDevice(work.expr, function);
  });
}

Findings indexLost(Program &program) {
  Findings findings;
  const std::vector<CudaFunction> functions = program.cudaFunctions();
  const bool uses_cuda = std::ranges::any_of(functions, &CudaFunction::uses_cuda);
  for (const CudaFunction &function : functions) {
    if (!function.touches_tensors || function.guarded_by_dispatcher || function.callers_guard)
      continue;
    for (const DeviceKind &kind : program.deviceKinds(function.id))
      if (!kind.guarded && (isLegacy(kind) ? uses_cuda : !kind.device_set) && !kind.on_host)
        findings.push_back(losesIndex(kind, program));
    for (const ServedStream &stream : program.bareStreams(function.id)) {
      if (asksForGuard(function.id, stream.tensor, program))
        continue;
      findings.push_back({.at = stream.expr,
                          .message = fill("the stream is of the current device, which need not be "
                                          "that of '{}': no guard is live here",
                                          {program.name(stream.tensor)}),
                          .op = program.operatorName(stream.expr),
                          .needs = Needs::kOtherDevice});
    }
  }
  return findings;
}

} // namespace
} // namespace devsan::analyzer

DEVSAN_RULE(index_lost, indexLost)
