// CUDA sources: joined chevrons move nothing, and are all joined at once.
#include "analyzer/files/launch_spelling.h"
#include "test/fuzz/check.h"

#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  const auto joined = devsan::analyzer::withJoinedChevrons(text);
  if (!joined)
    return 0;
  constexpr std::string_view kMoved = "<> \t";
  CHECK(joined->size() == size && *joined != text);
  for (std::size_t i = 0; i < size; ++i)
    CHECK((*joined)[i] == text[i] || (kMoved.find((*joined)[i]) != std::string_view::npos &&
                                      kMoved.find(text[i]) != std::string_view::npos));
  CHECK(!devsan::analyzer::withJoinedChevrons(*joined));
  return 0;
}
