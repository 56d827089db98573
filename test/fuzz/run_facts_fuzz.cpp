// run.json of a folder of kept logs, which may come from anywhere.
#include "command/run_folder.h"
#include "test/fuzz/check.h"

#include <cstdint>
#include <string_view>

using namespace devsan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  command::RunFacts facts;
  facts.command = "before";
  if (!command::parseRunFacts(text, "run.json", facts))
    CHECK(facts.command == "before" && facts.missing.empty());
  return 0;
}
