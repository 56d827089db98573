// CMakeLists.txt: as for setup.py, also where one file's variables reach the next.
#include "analyzer/flags/cmake_script.h"
#include "test/fuzz/check.h"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  devsan::analyzer::CMakeScripts scripts("/p");
  scripts.read(text.substr(0, size / 2), "/p");
  scripts.read(text, "/p/csrc");
  for (const std::string &folder : scripts.flags().include_folders)
    CHECK(folder.starts_with("/"));
  return 0;
}
