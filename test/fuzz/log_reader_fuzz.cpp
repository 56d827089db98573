// The log of a process that was killed or whose disk is broken: whatever it holds, it is read to
// its end, resolved and judged.
#include "runtime/detectors/detector.h"
#include "runtime/offline/resolve.h"

#include <cstdint>
#include <span>

using namespace devsan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto log = runtime::parseLog(std::as_bytes(std::span(data, size)), "fuzz.devsanlog");
  if (!log)
    return 0;
  runtime::Recording::addresses(*log);
  runtime::Recording recording{runtime::SourcePaths("/")};
  recording.add(*log, {});
  runtime::detectAll(recording);
  return 0;
}
