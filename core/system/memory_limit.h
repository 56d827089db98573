// What a process may take of the machine's memory. Nothing that is worth reading comes near it.
#pragma once

namespace devsan::core {

inline constexpr unsigned kDefaultMemory = 1536; // megabytes

// From now on, for what this process and its children allocate: each has so much. What goes beyond
// it ends the process with status 2 and a line that begins with `tool`. 0: no limit.
void limitMemory(unsigned megabytes, const char *tool);

} // namespace devsan::core
