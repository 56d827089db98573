// setup.py: whatever it says, what is taken from it are absolute folders.
#include "analyzer/flags/setup_script.h"
#include "test/fuzz/check.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  for (const auto &extension : devsan::analyzer::readSetupScript(text, "/p/setup.py")) {
    for (const std::string &source : extension.sources)
      CHECK(source.starts_with("/"));
    for (const std::string &folder : extension.include_folders)
      CHECK(folder.starts_with("/"));
    extension.builds("/p/csrc/scan.cu");
  }
  return 0;
}
