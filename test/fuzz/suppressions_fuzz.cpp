// A file of suppressions, by itself and as a part of a project file: of a malformed one nothing is
// used, and its error names a line.
#include "core/project/suppressions.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string text(reinterpret_cast<const char *>(data), size);
  Finding finding;
  finding.rule = "device-host-sync";
  finding.locations = {{"src/log.cpp", 1, 1, "log"}};
  for (const char *table : {"", "suppressions"}) {
    Suppressions suppressions;
    const Result<void> added = suppressions.add(text, "/p/fuzz.toml", table);
    const bool covered = suppressions.covers(finding);
    const auto unused = suppressions.unused([](const Rule &) { return true; });
    if (added)
      continue;
    CHECK(added.error().message.starts_with("/p/fuzz.toml:"));
    CHECK(!covered && unused.empty());
  }
  return 0;
}
