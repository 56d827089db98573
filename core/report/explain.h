// One finding with all that led to it, as text that can be given to others: for a report that
// DevSan is wrong. It holds no source text, no arguments of the program, and no path outside of the
// project but what lies in an installed package.
#pragma once

#include "core/finding/finding.h"
#include "core/report/reports.h"

#include <string>
#include <string_view>

namespace devsan::core {

// "src/train.py:7", "site-packages/torch/nn/module.py:3", "libtorch_cpu.so", "(outside)".
std::string publicPlace(const Frame &frame);

// Paths in a sentence are left out.
std::string withoutPaths(std::string_view text);

// What a report holds of the finding, and how its severity and its place came about.
std::string explanation(const Finding &finding, const Summary &summary);

} // namespace devsan::core
