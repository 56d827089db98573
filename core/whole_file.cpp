#include "core/whole_file.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace devsan::core {

namespace fs = std::filesystem;

namespace {

Error cannotWrite(const fs::path &path, int error) {
  return {"cannot write " + path.string() + ": " + std::strerror(error ? error : EIO)};
}

// Of the error that a stream met, as far as the library tells.
Result<void> writeTo(const fs::path &path, const fs::path &shown,
                     const std::function<void(std::ostream &)> &content) {
  errno = 0;
  std::ofstream stream(path, std::ios::trunc);
  if (stream)
    content(stream);
  stream.close();
  if (!stream)
    return tl::unexpected(cannotWrite(shown, errno));
  return {};
}

} // namespace

Result<std::string> readFile(const fs::path &path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return failure("cannot read " + path.string() + ": it is a directory");
  std::ifstream stream(path);
  if (!stream)
    return failure("cannot read " + path.string() + ": " + std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(stream), {});
}

void outliveFailedWrites() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

Result<void> writeFile(const fs::path &path, const std::function<void(std::ostream &)> &content) {
  std::error_code error;
  // Through a link, so that the link stays one.
  const fs::path target = fs::exists(path, error) ? fs::canonical(path, error) : path;
  if (error || (fs::exists(target, error) && !fs::is_regular_file(target, error)))
    return writeTo(path, path, content);
  // In a folder that is not ours the file may still be.
  if (access(target.has_parent_path() ? target.parent_path().c_str() : ".", W_OK) != 0)
    return writeTo(target, path, content);
  const fs::path part = target.string() + ".part-" + std::to_string(getpid());
  Result<void> written = writeTo(part, path, content);
  if (written) {
    const fs::file_status before = fs::status(target, error);
    if (!error && fs::exists(before))
      fs::permissions(part, before.permissions(), error);
    fs::rename(part, target, error);
    if (error)
      written = tl::unexpected(cannotWrite(path, error.value()));
  }
  if (!written)
    fs::remove(part, error);
  return written;
}

} // namespace devsan::core
