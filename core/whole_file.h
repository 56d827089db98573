// Small files, read and written as a whole: settings, baselines, reports.
#pragma once

#include "core/result.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace devsan::core {

Result<std::string> readFile(const std::filesystem::path &path);

// Replaces the file or makes it (replace_file.h). Where this fails, what was there is there still,
// also where others write it at the same time: the last one's is there as a whole. Links stay
// links, and some are refused; other hard links keep what was there. Pipes and devices are written
// to.
Result<void> writeFile(const std::filesystem::path &path,
                       const std::function<void(std::ostream &)> &content);

// Fails as writeFile() would, as far as one can tell before; nothing is changed.
// `what` is the file to people, such as "the report".
Result<void> tryToWriteFile(const std::filesystem::path &path, const std::string &what);

// A write to a closed pipe, or beyond a limit on the size of files, then fails instead of ending
// the process. Not to be called before a program is started that would inherit it.
void outliveFailedWrites();

} // namespace devsan::core
