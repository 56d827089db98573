#include "core/whole_file.h"

#include "core/replace_file.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace devsan::core {

namespace fs = std::filesystem;

namespace {

constexpr int kPipeAttempts = 200;
constexpr useconds_t kPipeWait = 10'000; // microseconds

tl::unexpected<Error> cannotWrite(const std::string &shown, const std::string &reason) {
  return failure("cannot write " + shown + ": " + reason);
}

tl::unexpected<Error> cannotWrite(const std::string &shown, int error) {
  return cannotWrite(shown, std::strerror(error ? error : EIO));
}

Result<void> fill(int file, const std::string &shown,
                  const std::function<void(std::ostream &)> &content) {
  DescriptorStream stream(file);
  content(stream);
  if (!stream.flush())
    return cannotWrite(shown, stream.error());
  return {};
}

// A pipe's reader may be on its way.
int openInto(const FilePlace &place, mode_t mode) {
  if (place.isOpenFile())
    return openat(place.folder(), place.name().c_str(), O_WRONLY | O_TRUNC | O_NOCTTY | O_CLOEXEC);
  const int flags =
      O_WRONLY | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC | (S_ISFIFO(mode) ? O_NONBLOCK : 0);
  int file = -1;
  for (int attempt = 0; attempt < kPipeAttempts; ++attempt) {
    file = openat(place.folder(), place.name().c_str(), flags);
    if (file >= 0 || errno != ENXIO)
      break;
    usleep(kPipeWait);
  }
  if (file >= 0)
    fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
  return file;
}

// Neither a pipe nor a device is replaced.
Result<void> writeInto(const FilePlace &place, mode_t mode, const std::string &shown,
                       const std::function<void(std::ostream &)> &content) {
  if (S_ISDIR(mode))
    return cannotWrite(shown, EISDIR);
  if (!place.isOpenFile() && !S_ISFIFO(mode) && !S_ISCHR(mode))
    return cannotWrite(shown, "it is neither a file nor a pipe; name another one");
  const Descriptor file(openInto(place, mode));
  if (!file && errno == ENXIO)
    return cannotWrite(shown, "nobody reads the pipe; start the reader first, or name a file");
  if (!file)
    return cannotWrite(shown, errno);
  return fill(file.get(), shown, content);
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
  const Result<FilePlace> place = FilePlace::of(path);
  if (!place)
    return cannotWrite(path, place.error().message);
  struct stat before;
  const bool is_there = place->look(before);
  if (is_there && !S_ISREG(before.st_mode))
    return writeInto(*place, before.st_mode, path, content);
  NewFile file(*place, 0666);
  if (!file)
    return cannotWrite(path, errno);
  if (Result<void> filled = fill(file.descriptor(), path, content); !filled)
    return filled;
  if (is_there)
    file.resemble(before); // as far as the system lets us
  if (!file.takePlace())
    return cannotWrite(path, errno);
  return {};
}

Result<void> tryToWriteFile(const fs::path &path, const std::string &what) {
  const std::string shown = what + " " + path.string();
  const Result<FilePlace> place = FilePlace::of(path);
  if (!place)
    return cannotWrite(shown, place.error().message);
  struct stat before;
  const bool is_there = place->look(before);
  if (is_there && S_ISDIR(before.st_mode))
    return cannotWrite(shown, EISDIR);
  if (is_there && !S_ISREG(before.st_mode))
    return {};
  if (!NewFile(*place, 0600))
    return cannotWrite(shown, errno);
  return {};
}

} // namespace devsan::core
