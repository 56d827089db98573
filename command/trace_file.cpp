#include "command/trace_file.h"
#include "core/system/gzip.h"
#include "core/system/whole_file.h"

#include <cstdio>

namespace devsan::command {

namespace fs = std::filesystem;

void writeTrace(std::ostream &out, std::span<const runtime::ObservedProcesses> runs,
                const core::Report &report) {
  const runtime::TraceContent content =
      runtime::writeTrace(out, runs, report.findings, report.summary.subject);
  if (content.left_out)
    std::fprintf(stderr,
                 "devsan: note: the trace has %llu events; %llu later ones are left out, because a "
                 "process keeps only so many; DEVSAN_OPTIONS=trace=N keeps N for each process\n",
                 static_cast<unsigned long long>(content.events),
                 static_cast<unsigned long long>(content.left_out));
}

core::Result<void> writeTraceFile(const fs::path &path,
                                  std::span<const runtime::ObservedProcesses> runs,
                                  const core::Report &report) {
  return core::writeFile(path, [&](std::ostream &out) {
    if (path.extension() != ".gz")
      return writeTrace(out, runs, report);
    core::GzipStream compressed(out);
    writeTrace(compressed, runs, report);
    compressed.finish();
    if (!compressed)
      out.setstate(std::ios::badbit);
  });
}

} // namespace devsan::command
