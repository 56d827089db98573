// Where both halves of DevSan keep what they will need again, and whom they believe there.
#pragma once

#include "core/system/result.h"

#include <filesystem>
#include <sys/stat.h>

namespace devsan::core {

// $XDG_CACHE_HOME/devsan, else ~/.cache/devsan; empty where the environment names neither.
std::filesystem::path userCache();

// Whether the file is neither this user's nor root's.
bool isForeign(const struct stat &status);

// Fails where somebody else decides what is there: the file, or a link to it, belongs to another
// user, or others can write it. Where nothing is, nobody does. What is kept there is loaded into
// the user's programs, or hides findings.
Result<void> checkTrust(const std::filesystem::path &path);
// The same of an open file, which is no link.
Result<void> checkTrust(const std::filesystem::path &path, const struct stat &status);

} // namespace devsan::core
