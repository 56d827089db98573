#include "analyzer/system/cache_folder.h"

#include "core/system/replace_file.h"
#include "core/system/user_cache.h"
#include "core/text/terminal_text.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace devsan::analyzer {
namespace {

constexpr std::chrono::hours kAbandoned(1);
constexpr std::chrono::hours kUseIsNoted(1);

// Said once: one of another user's files there is seldom the only one.
bool isTrusted(const core::Result<void> &trust) {
  static bool said = false;
  if (!trust && !std::exchange(said, true))
    llvm::errs() << "devsan check: note: " << core::printable(trust.error().message) << "\n";
  return trust.has_value();
}

} // namespace

std::string cacheFolder(llvm::StringRef name) {
  const std::filesystem::path cache = core::userCache();
  if (cache.empty())
    return {};
  const std::filesystem::path folder = cache / name.str();
  for (const std::filesystem::path &path : {cache, folder})
    if (!isTrusted(core::checkTrust(path)))
      return {};
  return folder;
}

bool makeFolderOf(const std::string &file) {
  return !llvm::sys::fs::create_directories(llvm::sys::path::parent_path(file), true,
                                            llvm::sys::fs::owner_all);
}

bool canStoreIn(llvm::StringRef name) {
  const std::string folder = cacheFolder(name);
  return !folder.empty() && makeFolderOf(folder + "/file") &&
         access(folder.c_str(), W_OK | X_OK) == 0;
}

std::unique_ptr<llvm::MemoryBuffer> readCached(const std::string &file) {
  const core::Descriptor open(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!open || fstat(open.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      !isTrusted(core::checkTrust(file, status)))
    return nullptr;
  auto buffer = llvm::MemoryBuffer::getOpenFile(llvm::sys::fs::convertFDToNativeFile(open.get()),
                                                file, static_cast<std::uint64_t>(status.st_size),
                                                /*RequiresNullTerminator=*/false);
  return buffer ? std::move(*buffer) : nullptr;
}

bool storeFile(const std::string &file, llvm::ArrayRef<llvm::StringRef> parts) {
  if (!makeFolderOf(file))
    return false;
  // A link that lies there goes, and what it leads to stays.
  const std::filesystem::path path = file;
  const core::Result<core::FilePlace> place =
      core::FilePlace::in(path.parent_path(), path.filename());
  if (!place)
    return false;
  core::NewFile stored(*place, 0600);
  if (!stored)
    return false;
  core::DescriptorStream stream(stored.descriptor());
  for (llvm::StringRef part : parts)
    stream.write(part.data(), static_cast<std::streamsize>(part.size()));
  return stream.flush() && stored.takePlace();
}

void noteUse(const std::string &file) {
  struct stat status;
  if (stat(file.c_str(), &status) == 0 &&
      std::chrono::system_clock::from_time_t(status.st_mtime) + kUseIsNoted <
          std::chrono::system_clock::now())
    utimensat(AT_FDCWD, file.c_str(), nullptr, 0);
}

void trimFolder(const std::string &folder, std::uint64_t max_bytes) {
  struct Entry {
    std::string path;
    std::uint64_t bytes;
    llvm::sys::TimePoint<> used;
  };
  std::vector<Entry> entries;
  const auto now = std::chrono::system_clock::now();
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const auto status = it->status();
    if (!status || status->type() != llvm::sys::fs::file_type::regular_file)
      continue;
    if (!llvm::sys::path::filename(it->path()).starts_with(core::kNewFile))
      entries.push_back({it->path(), status->getSize(), status->getLastModificationTime()});
    else if (status->getLastModificationTime() + kAbandoned < now)
      llvm::sys::fs::remove(it->path());
  }
  std::ranges::sort(entries, std::greater<>(), &Entry::used);
  std::uint64_t bytes = 0;
  for (const Entry &entry : entries)
    if ((bytes += entry.bytes) > max_bytes)
      llvm::sys::fs::remove(entry.path);
}

std::string checksum(llvm::StringRef data) {
  const llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      llvm::ArrayRef(reinterpret_cast<const std::uint8_t *>(data.data()), data.size()));
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, /*LowerCase=*/true, 16);
}

} // namespace devsan::analyzer
