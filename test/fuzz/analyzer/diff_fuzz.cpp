// What git diff prints: any text is taken, and lines are touched in files that are.
#include "analyzer/run/changes.h"
#include "test/fuzz/check.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  devsan::analyzer::Changes changes;
  changes.addDiff({reinterpret_cast<const char *>(data), size}, "/p");
  if (changes.touches("/p/scan.cpp", 1, 4))
    CHECK(changes.touchesFile("/p/scan.cpp"));
  return 0;
}
