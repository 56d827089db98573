#include "core/system/replace_file.h"

#include "core/system/project_root.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/limits.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <vector>

namespace devsan::core {

namespace fs = std::filesystem;

namespace {

constexpr unsigned kMaxLinks = 40; // the kernel's limit
constexpr int kLockAttempts = 500;
constexpr useconds_t kLockWait = 10'000; // microseconds

bool isOnProc(int folder) {
  struct statfs status;
  return fstatfs(folder, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

std::string targetOf(int folder, const std::string &link) {
  char target[4096];
  const ssize_t size = readlinkat(folder, link.c_str(), target, sizeof target);
  return size < 0 ? std::string() : std::string(target, static_cast<std::size_t>(size));
}

// As another user's link may be where everybody can make one.
bool isUntrustedLink(int folder, const struct stat &link) {
  struct stat around;
  return fstat(folder, &around) == 0 &&
         (around.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) &&
         link.st_uid != geteuid() && link.st_uid != around.st_uid;
}

// Those that say who may use the file, and the user's own; others, such as a signature, speak of
// what it held.
bool isKept(std::string_view attribute) {
  constexpr std::string_view kKept[] = {"user.", "system.", "security.selinux"};
  return std::ranges::any_of(kKept, [&](auto start) { return attribute.starts_with(start); });
}

// As far as both file systems have them, and the system lets us.
void copyAttributes(const FilePlace &from, int to) {
  const std::string path = "/proc/self/fd/" + std::to_string(from.folder()) + "/" + from.name();
  std::string names(XATTR_LIST_MAX, '\0'), value(XATTR_SIZE_MAX, '\0');
  const ssize_t size = llistxattr(path.c_str(), names.data(), names.size());
  for (ssize_t i = 0; i < size;) {
    const char *name = names.c_str() + i;
    i += static_cast<ssize_t>(std::strlen(name)) + 1;
    if (const ssize_t length =
            isKept(name) ? lgetxattr(path.c_str(), name, value.data(), value.size()) : -1;
        length >= 0)
      fsetxattr(to, name, value.data(), static_cast<std::size_t>(length), 0);
  }
}

// The last comes first.
void pushComponents(std::vector<std::string> &rest, const fs::path &path) {
  std::vector<std::string> names;
  for (const fs::path &name : path.relative_path())
    names.push_back(name.string());
  rest.insert(rest.end(), names.rbegin(), names.rend());
}

struct Followed {
  fs::path link;
  fs::path project; // that it must not lead out of
};

} // namespace

Descriptor &Descriptor::operator=(Descriptor &&other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

Descriptor::~Descriptor() {
  if (number_ >= 0)
    close(number_);
}

int Descriptor::release() {
  return std::exchange(number_, -1);
}

Result<FilePlace> FilePlace::of(const fs::path &path) {
  FilePlace place;
  const auto enter = [&](const char *name) {
    const int from = place.folder_ ? place.folder() : AT_FDCWD;
    Descriptor next(openat(from, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    place.folder_ = std::move(next);
    return static_cast<bool>(place.folder_);
  };
  const auto begin = [&](const fs::path &way) {
    std::error_code error;
    place.folder_path_ = way.is_absolute() ? "/" : fs::current_path(error);
    place.folder_ = Descriptor();
    return !error && enter(way.is_absolute() ? "/" : ".");
  };
  std::vector<std::string> rest;
  std::vector<Followed> followed;
  pushComponents(rest, path);
  if (path.empty() || !begin(path))
    return failure(std::strerror(path.empty() ? ENOENT : errno));
  for (unsigned links = 0; !rest.empty();) {
    place.name_ = std::move(rest.back());
    rest.pop_back();
    if (place.name_.empty() || place.name_ == ".")
      continue;
    if (place.name_ == "..") {
      if (!enter(".."))
        return failure(std::strerror(errno));
      place.folder_path_ = place.folder_path_.parent_path();
      continue;
    }
    struct stat status;
    if (!place.look(status)) {
      if (errno == ENOENT && rest.empty())
        break;
      return failure(std::strerror(errno));
    }
    if (S_ISLNK(status.st_mode)) {
      if (rest.empty() && isOnProc(place.folder())) {
        place.is_open_file_ = true;
        break;
      }
      if (++links > kMaxLinks)
        return failure(std::strerror(ELOOP));
      if (isUntrustedLink(place.folder(), status))
        return failure(place.path().string() +
                       " is a link of another user; remove it, or name another file");
      if (std::optional<fs::path> project = projectAround(place.folder_path_))
        followed.push_back({place.path(), std::move(*project)});
      const fs::path target = targetOf(place.folder(), place.name_);
      if (target.empty() || (target.is_absolute() && !begin(target)))
        return failure(std::strerror(errno));
      pushComponents(rest, target);
      continue;
    }
    if (rest.empty())
      break;
    if (!enter(place.name_.c_str()))
      return failure(std::strerror(errno));
    place.folder_path_ /= place.name_;
    place.name_.clear();
  }
  if (place.name_.empty() || place.name_ == "..")
    place.name_ = ".";
  for (const Followed &link : followed)
    if (!isWithin(place.path(), link.project))
      return failure(link.link.string() + " is a link that leads out of " + link.project.string() +
                     "; name the file that is meant, " + place.path().string() +
                     ", or remove the link");
  return place;
}

Result<FilePlace> FilePlace::in(const fs::path &folder, std::string name) {
  FilePlace place;
  place.folder_ = Descriptor(open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!place.folder_)
    return failure(std::strerror(errno));
  place.folder_path_ = folder;
  place.name_ = std::move(name);
  return place;
}

fs::path FilePlace::path() const {
  return name_ == "." ? folder_path_ : folder_path_ / name_;
}

bool FilePlace::look(struct stat &status) const {
  return fstatat(folder(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

NewFile::NewFile(const FilePlace &place, mode_t mode) : place_(place) {
  do {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
      return;
    char name[32];
    std::snprintf(name, sizeof name, "%s%016llx", kNewFile,
                  static_cast<unsigned long long>(random));
    file_ = Descriptor(
        openat(place_.folder(), name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file_)
      name_ = name;
  } while (!file_ && errno == EEXIST);
}

NewFile::~NewFile() {
  if (!name_.empty())
    unlinkat(place_.folder(), name_.c_str(), 0);
}

bool NewFile::look(struct stat &status) const {
  return fstatat(place_.folder(), name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

bool NewFile::resemble(const struct stat &other) {
  struct stat own;
  if (fstat(descriptor(), &own) != 0)
    return false;
  const bool is_owned = (own.st_uid == other.st_uid && own.st_gid == other.st_gid) ||
                        fchown(descriptor(), other.st_uid, other.st_gid) == 0;
  // What the old group could do is not for another.
  const mode_t mode = other.st_mode & (is_owned ? 0777 : 0707);
  fremovexattr(descriptor(), "system.posix_acl_access"); // the folder's default
  if (fchmod(descriptor(), mode) != 0 || !is_owned)
    return false;
  copyAttributes(place_, descriptor());
  return true;
}

bool NewFile::takePlace() {
  if (renameat(place_.folder(), name_.c_str(), place_.folder(), place_.name().c_str()) != 0)
    return false;
  name_.clear();
  return true;
}

bool NewFile::tradePlaces() {
  return renameat2(place_.folder(), name_.c_str(), place_.folder(), place_.name().c_str(),
                   RENAME_EXCHANGE) == 0;
}

bool NewFile::putBack() {
  struct stat ours, out, in;
  if (fstat(descriptor(), &ours) != 0)
    return false;
  ino_t expected = ours.st_ino; // what has its place
  while (look(out)) {
    if (!tradePlaces()) {
      if (errno != ENOENT)
        return false;
      // Somebody took the file away.
      if (renameat2(place_.folder(), name_.c_str(), place_.folder(), place_.name().c_str(),
                    RENAME_NOREPLACE) == 0)
        return true;
      if (errno != EEXIST)
        return false;
      continue;
    }
    if (!look(in))
      return false;
    if (in.st_ino == expected)
      return true;
    expected = out.st_ino;
  }
  return false;
}

Descriptor lockFolderOf(const fs::path &path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  Descriptor lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int attempt = 0; lock && attempt < kLockAttempts; ++attempt) {
    if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
      break;
    usleep(kLockWait);
  }
  return lock;
}

class DescriptorStream::Buffer : public std::streambuf {
public:
  explicit Buffer(int descriptor) : descriptor_(descriptor), text_(1 << 16, '\0') { reset(); }
  int error() const { return error_; }

protected:
  int_type overflow(int_type next) override {
    if (sync() != 0)
      return traits_type::eof();
    if (!traits_type::eq_int_type(next, traits_type::eof()))
      sputc(traits_type::to_char_type(next));
    return traits_type::not_eof(next);
  }

  int sync() override {
    const char *at = pbase();
    while (!error_ && at != pptr()) {
      const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (written >= 0)
        at += written;
      else if (errno != EINTR)
        error_ = errno;
    }
    reset();
    return error_ ? -1 : 0;
  }

private:
  void reset() { setp(text_.data(), text_.data() + text_.size()); }

  int descriptor_;
  int error_ = 0;
  std::string text_;
};

DescriptorStream::DescriptorStream(int descriptor)
    : std::ostream(nullptr), buffer_(std::make_unique<Buffer>(descriptor)) {
  rdbuf(buffer_.get());
}

DescriptorStream::~DescriptorStream() = default;

int DescriptorStream::error() const {
  return buffer_->error();
}

} // namespace devsan::core
