#include "core/system/whole_file.h"

#include "core/system/replace_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
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

// A pipe's writer may work for minutes before it says something; one that nobody writes to ends
// sooner.
constexpr int kWriterComesMs = 2'000;
constexpr int kWriterSpeaksMs = 600'000;

char last_read[512];

void noteRead(const fs::path &path) {
  std::snprintf(last_read, sizeof last_read, "%s", path.c_str());
  for (char *c = last_read; *c; ++c)
    if (static_cast<unsigned char>(*c) < 32 || *c == 127)
      *c = '?';
}

const char *kindOfFile(mode_t mode) {
  return S_ISDIR(mode)    ? "a directory"
         : S_ISFIFO(mode) ? "a pipe"
         : S_ISSOCK(mode) ? "a socket"
                          : "a device";
}

// False where nothing came in time.
bool awaitData(int file, int milliseconds) {
  pollfd entry = {file, POLLIN, 0};
  int ready = -1;
  while ((ready = poll(&entry, 1, milliseconds)) < 0 && errno == EINTR)
    ;
  return ready > 0;
}

Result<std::string> readBounded(const fs::path &path, std::size_t most, bool may_be_pipe) {
  noteRead(path);
  const auto cannot = [&](const std::string &why) {
    return failure("cannot read " + path.string() + ": " + why);
  };
  const auto isTooLarge = [&] {
    return cannot("it holds more than " + std::to_string(most >> 20) + " MB");
  };
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status;
  if (!file && errno == ENXIO)
    return cannot("it is a socket or a device, not a file");
  if (!file || fstat(file.get(), &status) != 0)
    return cannot(std::strerror(errno));
  const bool is_pipe = !S_ISREG(status.st_mode);
  if (S_ISDIR(status.st_mode))
    return cannot("it is a directory");
  if (is_pipe && !may_be_pipe)
    return cannot(std::string("it is ") + kindOfFile(status.st_mode) +
                  ", not a file; remove it, or put a file in its place");
  if (!is_pipe && static_cast<std::uintmax_t>(status.st_size) > most)
    return isTooLarge();
  // A byte more, so that its end shows.
  std::string text(is_pipe ? 0 : static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t size = 0;
  bool waited = false;
  while (true) {
    if (size == text.size()) // files of the kernel say that they are empty
      text.resize(std::max<std::size_t>(2 * size, std::size_t{1} << 14));
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got > 0) {
      size += static_cast<std::size_t>(got);
      if (size > most)
        return isTooLarge();
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else if (got < 0 && errno == EAGAIN && is_pipe) {
      if (!awaitData(file.get(), kWriterSpeaksMs))
        return cannot("nothing came from it");
    } else if (got < 0) {
      return cannot(std::strerror(errno));
    } else if (size || waited || !S_ISFIFO(status.st_mode)) {
      break;
    } else {
      waited = true; // nobody has opened it for writing yet, or somebody has closed it
      if (!awaitData(file.get(), kWriterComesMs))
        return cannot("nobody writes to it");
    }
  }
  text.resize(size);
  return text;
}

} // namespace

Result<std::string> readFile(const fs::path &path, std::size_t most) {
  return readBounded(path, most, /*may_be_pipe=*/false);
}

Result<std::string> readNamedFile(const fs::path &path, std::size_t most) {
  return readBounded(path, most, /*may_be_pipe=*/true);
}

std::string readHead(const fs::path &path, std::size_t size) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat status;
  if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return {};
  std::string head(size, '\0');
  const ssize_t got = ::read(file.get(), head.data(), size);
  head.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return head;
}

const char *lastRead() {
  return last_read;
}

void ignoreWriteSignals() {
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
