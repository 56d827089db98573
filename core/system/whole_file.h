// Small files, read and written as a whole: settings, scripts, sources, baselines, reports.
#pragma once

#include "core/system/result.h"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <ostream>
#include <string>

namespace devsan::core {

// The most bytes that a file may hold, by what it is.
inline constexpr std::size_t kMaxSettings = std::size_t{4} << 20; // settings, scripts
inline constexpr std::size_t kMaxSource = std::size_t{64} << 20;  // a source, a header
inline constexpr std::size_t kMaxReport = std::size_t{256} << 20; // lists that programs write

// What a project holds may be anything, a pipe or a device that never ends among it. So only a
// regular file of at most `most` bytes is read, and opening it neither waits nor has effects.
Result<std::string> readFile(const std::filesystem::path &path, std::size_t most);

// The same of a file that the user names, which may be a pipe, as in `devsan report <(…)`.
Result<std::string> readNamedFile(const std::filesystem::path &path, std::size_t most);

// The first bytes of a regular file: fewer where it is shorter, none where it cannot be read.
std::string readHead(const std::filesystem::path &path, std::size_t size);

// The file that was read last, for a message; without control characters, and empty before.
const char *lastRead();

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
void ignoreWriteSignals();

} // namespace devsan::core
