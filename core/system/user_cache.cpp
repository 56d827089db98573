#include "core/system/user_cache.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace devsan::core {

namespace fs = std::filesystem;

namespace {

Result<void> trusted(const fs::path &path, bool is_foreign, mode_t mode) {
  const char *why = is_foreign                   ? "belongs to another user"
                    : mode & (S_IWGRP | S_IWOTH) ? "can be written by other users"
                                                 : nullptr;
  if (why)
    return failure(fmt::format("{} {}, so nothing is loaded from there; remove it, or set "
                               "XDG_CACHE_HOME to a folder of your own",
                               path.string(), why));
  return {};
}

} // namespace

fs::path userCache() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/')
    return fs::path(cache) / "devsan";
  const char *home = std::getenv("HOME");
  return home && *home == '/' ? fs::path(home) / ".cache/devsan" : fs::path();
}

bool isForeign(const struct stat &status) {
  return status.st_uid != geteuid() && status.st_uid != 0;
}

Result<void> checkTrust(const fs::path &path) {
  struct stat link, file;
  const bool is_there = lstat(path.c_str(), &link) == 0;
  if (!is_there && errno == ENOENT)
    return {};
  if (!is_there || stat(path.c_str(), &file) != 0)
    return failure(fmt::format("cannot look at {}: {}", path.string(), std::strerror(errno)));
  return trusted(path, isForeign(link) || isForeign(file), file.st_mode);
}

Result<void> checkTrust(const fs::path &path, const struct stat &status) {
  return trusted(path, isForeign(status), status.st_mode);
}

} // namespace devsan::core
