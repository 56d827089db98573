// Kernel launches as the rules on guards and streams read them.
#pragma once

#include "runtime/detectors/groups.h"

#include <string>

namespace devsan::runtime {

// A kernel that the program's own code launched; LibTorch's operators set their guards.
bool isProgramsLaunch(const ResolvedEvent &event);

// One of the kernel's arguments points to memory of another device than it runs on.
bool reachesOtherDevice(const ResolvedEvent &event);

// "kernel scale", or the function of CUDA that launched it.
std::string kernelText(const ResolvedEvent &event);

// The id of the stream that was current in LibTorch: "35"; "?" where LibTorch knows no such device.
std::string currentStreamOf(const ResolvedEvent &event);

} // namespace devsan::runtime
