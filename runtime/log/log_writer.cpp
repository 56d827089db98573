#include "runtime/log/log_writer.h"

#include "runtime/log/spin_lock.h"
#include "runtime/protocol/run_board.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace devsan::runtime {
namespace {

constexpr std::size_t aligned(std::size_t size) {
  return (size + 7) & ~std::size_t{7};
}

// The record of lost events stands first in every log, unpublished until an event is lost: on a
// full disk there would be no room for it any more.
constexpr std::size_t kDroppedOffset = sizeof(FileHeader);
constexpr std::size_t kFirstRecord = kDroppedOffset + sizeof(RecordHeader) + sizeof(std::uint64_t);

std::uint64_t realTime() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return std::uint64_t(now.tv_sec) * 1'000'000'000 + std::uint64_t(now.tv_nsec);
}

// Reserves disk space for [offset, offset + size). Writing to a mapped page without it raises
// SIGBUS on a full disk, and growing beyond RLIMIT_FSIZE raises SIGXFSZ.
int reserveOnDisk(int file, std::uint64_t offset, std::uint64_t size) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      offset + size > limit.rlim_cur)
    return EFBIG;
  int status;
  do
    status = posix_fallocate(file, off_t(offset), off_t(size));
  while (status == EINTR);
  return status;
}

} // namespace

bool LogWriter::open(const char *directory, std::uint32_t simulated_devices) {
  std::snprintf(directory_, sizeof directory_, "%s", directory);
  simulated_devices_ = simulated_devices;
  const bool is_created = createOrWarn();
  configured_.store(is_created, std::memory_order_release);
  return is_created;
}

bool LogWriter::createOrWarn() {
  SpinLock lock(growing_);
  if (isOpen())
    return true;
  const int error = create();
  if (!error)
    return true;
  full_.store(true, std::memory_order_relaxed);
  if (!devsanRunIsOver(directory_) && devsanCountLoss(kDevsanNoLog, error))
    dprintf(STDERR_FILENO,
            "devsan: process %ld runs on unobserved: cannot write its event log in %s: %s\n",
            long(getpid()), directory_, std::strerror(error));
  return false;
}

int LogWriter::create() {
  if (devsanRunIsOver(directory_))
    return ENOENT;
  std::uint64_t start = realTime();
  std::snprintf(path_, sizeof path_, "%s/%ld-%llu.devsanlog", directory_, long(getpid()),
                (unsigned long long)start);
  int file = ::open(path_, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return errno;
  struct stat created;
  // The program's umask may forbid its owner to open the file again.
  int error = fchmod(file, 0600) == 0 && fstat(file, &created) == 0 ? 0 : errno;
  if (!error) {
    device_ = created.st_dev;
    inode_ = created.st_ino;
    error = map(file, 0);
  }
  ::close(file);
  if (error) {
    ::unlink(path_);
    return error;
  }
  FileHeader header;
  header.pid = std::uint32_t(getpid());
  header.parent_pid = std::uint32_t(getppid());
  if (const char *rank = std::getenv("RANK"); rank && *rank)
    header.rank = std::int32_t(std::strtol(rank, nullptr, 10));
  else
    header.rank = rank_.load(std::memory_order_relaxed);
  header.start_time_ns = start;
  header.simulated_devices = simulated_devices_;
  header.segments = 1;
  page_size_ = std::uintptr_t(sysconf(_SC_PAGESIZE));
  has_board_ = devsanRunBoard() != nullptr;
  std::snprintf(cut_, sizeof cut_,
                "devsan: process %ld runs on unobserved: its event log was truncated\n",
                long(getpid()));
  char *first = segments_[0].load(std::memory_order_relaxed);
  std::memcpy(first, &header, sizeof header);
  RecordHeader dropped;
  dropped.size = std::uint32_t(kFirstRecord - kDroppedOffset);
  std::memcpy(first + kDroppedOffset, &dropped, sizeof dropped);
  tail_.store(kFirstRecord, std::memory_order_relaxed);
  is_open_.store(true, std::memory_order_release);
  devsanCountLog();
  return 0;
}

// The file is open only here: a program that closes descriptors it did not open, as daemons do,
// would get ours for a file of its own.
int LogWriter::grow(std::size_t index) {
  int file = ::open(path_, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0)
    return errno;
  const int error = map(file, index);
  ::close(file);
  // Under the lock; segments come in order, but for those that threads reserve at once.
  if (!error) {
    auto &count =
        reinterpret_cast<FileHeader *>(segments_[0].load(std::memory_order_relaxed))->segments;
    count = std::max(count, std::uint32_t(index + 1));
  }
  return error;
}

int LogWriter::map(int file, std::size_t index) {
  struct stat opened;
  if (fstat(file, &opened) != 0)
    return errno;
  if (opened.st_dev != device_ || opened.st_ino != inode_)
    return ENOENT;
  if (const int error = reserveOnDisk(file, index * kSegmentSize, kSegmentSize))
    return error;
  void *memory = mmap(nullptr, kSegmentSize, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      off_t(index * kSegmentSize));
  if (memory == MAP_FAILED)
    return errno;
  segments_[index].store(static_cast<char *>(memory), std::memory_order_release);
  return 0;
}

char *LogWriter::segment(std::size_t index) {
  if (index >= kMaxSegments)
    return nullptr;
  if (char *memory = segments_[index].load(std::memory_order_acquire))
    return memory;
  if (full_.load(std::memory_order_relaxed))
    return nullptr;
  SpinLock lock(growing_);
  if (char *memory = segments_[index].load(std::memory_order_acquire))
    return memory;
  // Once full, always full: later records would name strings and stacks that are not there.
  if (full_.load(std::memory_order_relaxed) || grow(index) != 0) {
    full_.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  return segments_[index].load(std::memory_order_relaxed);
}

char *LogWriter::reserve(std::size_t size, std::uint64_t *at) {
  if (!isOpen()) {
    if (!configured_.load(std::memory_order_acquire) || full_.load(std::memory_order_relaxed))
      return nullptr;
    if (!createOrWarn())
      return nullptr;
  }
  for (;;) {
    // A full log keeps its tail, so that the offset cannot run away.
    if (full_.load(std::memory_order_relaxed))
      return nullptr;
    std::uint64_t offset = tail_.fetch_add(size, std::memory_order_relaxed);
    std::size_t index = offset / kSegmentSize;
    char *memory = segment(index);
    if (!memory)
      return nullptr;
    // A record that would straddle two segments leaves its room as zeros, which a reader skips.
    if ((offset + size - 1) / kSegmentSize != index)
      continue;
    char *record = memory + offset % kSegmentSize;
    RecordHeader header;
    header.size = std::uint32_t(size);
    std::memcpy(record, &header, sizeof header);
    if (at)
      *at = offset;
    return record;
  }
}

void LogWriter::publish(char *record, RecordKind kind) {
  auto *header = reinterpret_cast<RecordHeader *>(record);
  std::atomic_ref<std::uint16_t>(header->kind)
      .store(std::uint16_t(kind), std::memory_order_release);
}

void LogWriter::countDropped() {
  if (!isOpen())
    return;
  char *record = segments_[0].load(std::memory_order_relaxed) + kDroppedOffset;
  auto &count = *reinterpret_cast<std::uint64_t *>(record + sizeof(RecordHeader));
  std::atomic_ref<std::uint64_t>(count).fetch_add(1, std::memory_order_relaxed);
  publish(record, RecordKind::kDropped);
}

TallyRecord *LogWriter::appendTally(const TallyRecord &tally, std::uint64_t &offset) {
  char *record = reserve(sizeof(RecordHeader) + sizeof tally, &offset);
  if (!record)
    return nullptr;
  std::memcpy(record + sizeof(RecordHeader), &tally, sizeof tally);
  publish(record, RecordKind::kTally);
  return reinterpret_cast<TallyRecord *>(record + sizeof(RecordHeader));
}

TallyRecord *LogWriter::tallyAt(std::uint64_t offset) {
  char *segment = segments_[offset / kSegmentSize].load(std::memory_order_acquire);
  return reinterpret_cast<TallyRecord *>(segment + offset % kSegmentSize + sizeof(RecordHeader));
}

bool LogWriter::append(RecordKind kind, std::span<const std::string_view> parts) {
  std::size_t size = sizeof(RecordHeader);
  for (std::string_view part : parts)
    size += part.size();
  if (aligned(size) > kSegmentSize / 2)
    return false;
  char *record = reserve(aligned(size));
  if (!record)
    return false;
  char *body = record + sizeof(RecordHeader);
  for (std::string_view part : parts) {
    std::memcpy(body, part.data(), part.size());
    body += part.size();
  }
  publish(record, kind);
  return true;
}

void LogWriter::noteNoDeviceUsed() {
  if (isOpen())
    reinterpret_cast<FileHeader *>(segments_[0].load(std::memory_order_relaxed))->no_device_used =
        1;
}

void LogWriter::noteKernelsWithoutEffect(std::uint16_t kernels) {
  if (isOpen())
    reinterpret_cast<FileHeader *>(segments_[0].load(std::memory_order_relaxed))
        ->kernels_without_effect = kernels;
}

void LogWriter::noteUnreadablePython(std::uint32_t version) {
  if (isOpen())
    reinterpret_cast<FileHeader *>(segments_[0].load(std::memory_order_relaxed))
        ->unreadable_python = version;
}

void LogWriter::noteRank(std::int32_t rank) {
  rank_.store(rank, std::memory_order_relaxed);
  if (isOpen())
    reinterpret_cast<FileHeader *>(segments_[0].load(std::memory_order_relaxed))->rank = rank;
}

void LogWriter::end() {
  if (isOpen())
    append(RecordKind::kEnd, {});
}

bool LogWriter::survivesTruncation(const void *address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::size_t count =
      std::min<std::size_t>(tail_.load(std::memory_order_relaxed) / kSegmentSize + 1, kMaxSegments);
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = reinterpret_cast<std::uintptr_t>(segments_[i].load());
    if (!begin || at < begin || at - begin >= kSegmentSize)
      continue;
    const std::uintptr_t page = at & ~(page_size_ - 1);
    if (mmap(reinterpret_cast<void *>(page), begin + kSegmentSize - page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      return false;
    full_.store(true, std::memory_order_relaxed);
    if (!is_cut_.exchange(true) && (!has_board_ || devsanCountLoss(kDevsanLogCut, 0)))
      (void)!write(STDERR_FILENO, cut_, std::strlen(cut_));
    return true;
  }
  return false;
}

void LogWriter::resetInChild() {
  std::size_t last =
      std::min<std::size_t>(tail_.load(std::memory_order_relaxed) / kSegmentSize, kMaxSegments - 1);
  for (std::size_t i = 0; i <= last; ++i)
    if (char *memory = segments_[i].exchange(nullptr, std::memory_order_relaxed))
      munmap(memory, kSegmentSize);
  growing_.clear();
  full_.store(false, std::memory_order_relaxed);
  is_cut_.store(false, std::memory_order_relaxed);
  rank_.store(-1, std::memory_order_relaxed); // a child is its parent's worker
  is_open_.store(false, std::memory_order_relaxed);
}

} // namespace devsan::runtime
