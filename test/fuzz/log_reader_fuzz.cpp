// The log of a process that was killed or whose disk is broken: whatever it holds, it is read to
// its end, resolved and judged.
#include "runtime/analysis/trace.h"
#include "runtime/detectors/detector.h"
#include "runtime/resolve/resolve.h"

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace devsan;

namespace {

// Whatever the log holds, its trace is JSON.
void trace(const std::uint8_t *data, std::size_t size) {
  const int file = memfd_create("log", MFD_CLOEXEC);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size))
    std::abort();
  runtime::ObservedProcesses run;
  run.processes.push_back({"/proc/self/fd/" + std::to_string(file), {}, 0});
  run.working_directory = "/";
  std::ostringstream text;
  runtime::writeTrace(text, {&run, 1}, {}, "fuzz");
  close(file);
  if (!nlohmann::json::accept(text.str()))
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const auto log = runtime::parseLog(std::as_bytes(std::span(data, size)), "fuzz.devsanlog");
  if (!log)
    return 0;
  runtime::Recording::addresses(*log);
  runtime::Recording recording{runtime::SourcePaths("/")};
  recording.add(*log, {});
  runtime::detectAll(recording);
  trace(data, size);
  return 0;
}
