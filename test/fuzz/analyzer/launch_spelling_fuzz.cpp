// CUDA sources: respelled launches move nothing.
#include "analyzer/files/launch_spelling.h"
#include "test/fuzz/check.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  const auto respelled = devsan::analyzer::withClangsLaunches(text);
  if (!respelled)
    return 0;
  CHECK(respelled->size() == size && *respelled != text);
  for (std::size_t i = 0; i < size; ++i)
    CHECK(((*respelled)[i] == '\n') == (text[i] == '\n'));
  return 0;
}
