// Small files, read and written as a whole: settings, baselines, reports.
#pragma once

#include "core/result.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace devsan::core {

Result<std::string> readFile(const std::filesystem::path &path);

// Where this fails, what was there is there still. Links stay links; pipes and devices are written
// to.
Result<void> writeFile(const std::filesystem::path &path,
                       const std::function<void(std::ostream &)> &content);

// A write to a closed pipe, or beyond a limit on the size of files, then fails instead of ending
// the process. Not to be called before a program is started that would inherit it.
void outliveFailedWrites();

} // namespace devsan::core
