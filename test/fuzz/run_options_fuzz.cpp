// The values of `devsan run`'s options and DEVSAN_OPTIONS: one a line, the first character says of
// which.
#include "command/run_options.h"
#include "runtime/protocol/options.h"
#include "test/fuzz/check.h"

#include <cstdint>
#include <sstream>

using namespace devsan;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
  std::istringstream lines(std::string(reinterpret_cast<const char *>(data), size));
  command::RunArguments arguments;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty())
      continue;
    const std::string value = line.substr(1);
    switch (line.front()) {
    case 's':
      arguments.sim = value;
      break;
    case 'm':
      arguments.sim_memory = value;
      break;
    case 'p':
      arguments.sim_protect = value;
      break;
    case 'f':
      arguments.fail_on = value;
      break;
    case 'r':
      arguments.reports.push_back(value);
      break;
    case 'b':
      arguments.budgets.push_back(value);
      break;
    case 't':
      arguments.transfer = value;
      break;
    case 'y':
      arguments.sync = value;
      break;
    case 'w':
      arguments.warmup = value;
      break;
    case 'e': {
      runtime::Options options;
      bool help = false;
      if (const auto error = runtime::parseOptions(value, options, help))
        CHECK(error->find('\'') != std::string::npos);
      break;
    }
    default:
      break;
    }
  }
  const auto options = command::parseRunOptions(arguments);
  if (!options) {
    CHECK(!options.error().message.empty());
    return 0;
  }
  CHECK(options->simulated_devices >= 0 && options->simulated_devices <= 64);
  // What the options become is taken by what reads it.
  runtime::Options handed_on;
  bool help = false;
  CHECK(!runtime::parseOptions(options->runtime_options, handed_on, help) && !help);
  core::Finding finding;
  finding.rule = "device-host-sync";
  options->failure.failed({&finding, 1});
  return 0;
}
