// DEVSAN_OPTIONS, read once when the runtime starts. An unknown key or value ends the process and
// lists the valid ones; `devsan run` finds it before it starts the program.
#pragma once

#include "runtime/protocol/levels.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace devsan::runtime {

enum class Origins {
  kSampled, // the first thousand host tensors, then one in 64, later one in 1024
  kAll,
  kOff,
};

struct Options {
  Origins origins = Origins::kSampled;
  bool python_stacks = true;
  bool provenance = true;
  Guards guards;            // what holds outside of all scopes
  std::uint32_t warmup = 0; // steps whose copies and waits are exempt
  std::uint32_t trace = 0;  // events that are written one by one, besides the first of each kind
};

// Moved tensors have their origin recorded in any case; under simulation all factories are recorded
// unless the user says otherwise.
const Options &options();

// Changes `options` as the text says, or says what is wrong and changes nothing. `help`: the list
// of keys is asked for.
std::optional<std::string> parseOptions(std::string_view text, Options &options, bool &help);

// The keys with their values, one a line.
std::string listOfKeys();

// Parses the environment. Ends the process where it is wrong.
void readOptions(bool simulated);

} // namespace devsan::runtime
