// A compiler's command line, one argument a line. No response file that it names is there; "@" is left out.
#include "analyzer/flags/foreign_arguments.h"
#include "test/fuzz/check.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

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
  const bool names_file = std::ranges::any_of(arguments, [](std::string_view argument) {
    return argument.starts_with("-optf") || argument.starts_with("--options-file");
  });
  CHECK(plain ? !plain->empty() && plain->front() == "nvcc" : names_file);
  return 0;
}
