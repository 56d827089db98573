// A compiler's command line, one argument a line. Response files are not read: "@" is left out.
#include "analyzer/flags/foreign_arguments.h"
#include "test/fuzz/check.h"

#include <algorithm>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::vector<std::string> arguments{"nvcc"};
  std::string_view text(reinterpret_cast<const char *>(data), size);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string argument(text.substr(0, end));
    std::replace(argument.begin(), argument.end(), '@', '_');
    arguments.push_back(std::move(argument));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const auto plain = devsan::analyzer::plainArguments(arguments, "/p");
  CHECK(plain && !plain->empty() && plain->front() == "nvcc");
  return 0;
}
