// What another machine says of its part of a project: refused, or the same when written again. The
// input is what the file holds behind its checksum, unpacked.
#include "analyzer/summary/summary.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::analyzer;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  CHECK(!readSummary(text, "part", "/p", "devsan"));
  const auto summary = readSummary(packSummary(text, "devsan"), "part", "/p", "devsan");
  if (!summary) {
    CHECK(summary.error().message.starts_with("part: "));
    return 0;
  }
  CHECK(summary->shard.index >= 1 && summary->shard.index <= summary->shard.count);
  for (const Summary::Unit &unit : summary->units) {
    if (!unit.outcome.result)
      continue;
    const FileResult &result = *unit.outcome.result;
    CHECK(result.contexts.size() == result.findings.size());
    for (const FileCalls::Call &call : result.calls.calls)
      CHECK(call.caller < result.calls.functions.size() &&
            call.callee < result.calls.functions.size());
    for (const FileData::Source &source : result.data.sources)
      CHECK(source.holder < result.data.holders.size() && source.from < result.data.holders.size());
  }
  const std::string written = writeSummary(*summary, "/p", "devsan");
  const auto again = readSummary(written, "part", "/p", "devsan");
  CHECK(again && writeSummary(*again, "/p", "devsan") == written);
  return 0;
}
