// A baseline: what is read is written so that it reads the same.
#include "core/project/baseline.h"
#include "test/fuzz/check.h"

#include <cstdint>

using namespace devsan::core;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const Result<Baseline> baseline = Baseline::parse(text, "fuzz.json");
  if (!baseline) {
    CHECK(baseline.error().message.starts_with("fuzz.json:"));
    return 0;
  }
  const Result<Baseline> again = Baseline::parse(baseline->text(), "again.json");
  CHECK(again);
  CHECK(again->text() == baseline->text());
  baseline->stale(Origin::kRuntime);
  return 0;
}
