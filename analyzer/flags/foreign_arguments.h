// Command lines of other compilers, nvcc's among them, brought into the form that clang's own have:
// response files read, options for the host's compiler taken out of their wrapping, nvcc's long
// names replaced, and what is nvcc's alone taken away together with its values.
#pragma once

#include "core/system/result.h"

#include <string>
#include <vector>

namespace devsan::analyzer {

// Paths of response files start in `folder`. One that is not there is left out; one that cannot be
// read is an error.
core::Result<std::vector<std::string>> plainArguments(const std::vector<std::string> &arguments,
                                                      const std::string &folder);

} // namespace devsan::analyzer
