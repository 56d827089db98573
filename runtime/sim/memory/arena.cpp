#include "arena.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include <c10/util/Exception.h>

#include "runtime/sim/devices/devices.h"
#include "settings.h"

namespace devsan::sim {

ArenaLayout arena_layout;

namespace {

constexpr std::uintptr_t kGiB = std::uintptr_t{1} << 30;
// Addresses, not memory: room for fragmentation beside the limit, within the 47 bits of a process.
constexpr std::uintptr_t kMinPerDevice = 64 * kGiB, kMaxInAll = 32768 * kGiB;
// A machine that gives less than this has a limit on addresses (ulimit -v).
constexpr std::uintptr_t kSmallestPerDevice = kGiB / 4;
// The same addresses in every run, as far as they are free.
void *const kWantedPlace = reinterpret_cast<void *>(std::uintptr_t{0x200000000000});

bool is_protected = false;

void *reserve(std::uintptr_t bytes) {
  void *place =
      mmap(kWantedPlace, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? nullptr : place;
}

// Files over the process's limit would end it by SIGXFSZ.
bool fileMayHave(std::uintptr_t bytes) {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= bytes;
}

// nullptr, or what failed.
const char *makeProtected(std::uintptr_t bytes) {
  if (!fileMayHave(bytes)) {
    errno = EFBIG;
    return "ulimit -f";
  }
  int file = memfd_create("devsan-device-memory", MFD_CLOEXEC);
  if (file < 0)
    return "memfd_create";
  const char *failed = nullptr;
  void *place = nullptr;
  if (ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    failed = "ftruncate";
  } else if (place = reserve(2 * bytes); place == nullptr) {
    failed = "mmap";
  } else {
    void *kernels = static_cast<char *>(place) + bytes;
    if (mmap(place, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED ||
        mmap(kernels, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED) {
      failed = "mmap";
      munmap(place, 2 * bytes);
    }
  }
  int error = errno;
  close(file);
  errno = error;
  if (failed)
    return failed;
  // A child after fork would write into its parent's devices; a core file would hold them twice.
  madvise(place, 2 * bytes, MADV_DONTFORK);
  madvise(place, bytes, MADV_DONTDUMP);
  arena_layout.distance = bytes;
  arena_layout.begin = reinterpret_cast<std::uintptr_t>(place);
  arena_layout.size = bytes;
  return nullptr;
}

bool makeOpen(std::uintptr_t bytes) {
  void *place = reserve(bytes);
  if (place == nullptr)
    return false;
  if (mprotect(place, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(place, bytes);
    return false;
  }
  madvise(place, bytes, MADV_DONTFORK);
  arena_layout.distance = 0;
  arena_layout.begin = reinterpret_cast<std::uintptr_t>(place);
  arena_layout.size = bytes;
  return true;
}

bool makeBlockTable(std::uintptr_t bytes) {
  void *table = mmap(nullptr, bytes / kBlockUnit * sizeof(Block *), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (table == MAP_FAILED)
    return false;
  arena_layout.blocks = static_cast<Block **>(table);
  return true;
}

void make() {
  auto devices = static_cast<std::uintptr_t>(deviceCount());
  std::uintptr_t wanted =
      std::max<std::uintptr_t>(4 * std::bit_ceil(memoryOfDevice()), kMinPerDevice);
  std::uintptr_t per_device = std::min(wanted, kMaxInAll / std::bit_ceil(devices));
  const char *failed = nullptr;
  int error = 0;
  for (; per_device >= kSmallestPerDevice; per_device /= 2) {
    arena_layout.per_device = per_device;
    std::uintptr_t bytes = per_device * devices;
    if (protectionWanted()) {
      failed = makeProtected(bytes);
      if (failed == nullptr && makeBlockTable(bytes)) {
        is_protected = true;
        return;
      }
      error = errno;
      if (failed == nullptr) {
        failed = "mmap";
        munmap(reinterpret_cast<void *>(arena_layout.begin), 2 * bytes);
      }
      if (std::strcmp(failed, "memfd_create") == 0)
        break;
    } else if (makeOpen(bytes)) {
      if (makeBlockTable(bytes))
        return;
      munmap(reinterpret_cast<void *>(arena_layout.begin), bytes);
    }
  }
  for (per_device = std::max(per_device, kMinPerDevice); per_device >= kSmallestPerDevice;
       per_device /= 2) {
    arena_layout.per_device = per_device;
    if (!makeOpen(per_device * devices))
      continue;
    if (!makeBlockTable(per_device * devices)) {
      munmap(reinterpret_cast<void *>(arena_layout.begin), per_device * devices);
      continue;
    }
    if (failed)
      std::fprintf(stderr,
                   "devsan: simulated devices: their memory is not protected, host accesses go "
                   "unseen: %s: %s\n",
                   failed, std::strerror(error));
    return;
  }
  arena_layout = {};
  TORCH_CHECK(false, "devsan: simulated devices: no address range for the memory of ", devices,
              " devices: ", std::strerror(errno), "; raise the limit on addresses (ulimit -v)");
}

} // namespace

void makeArena() {
  static std::once_flag made;
  std::call_once(made, make);
}

void adoptArena(std::uintptr_t begin, std::uintptr_t size, std::uintptr_t distance,
                std::uintptr_t per_device) {
  arena_layout = {begin, size, distance, per_device, nullptr};
  is_protected = distance != 0;
}

bool arenaIsProtected() {
  return is_protected;
}

namespace {

void protect(std::uintptr_t begin, std::uintptr_t end, int protection) {
  if (mprotect(reinterpret_cast<void *>(begin), end - begin, protection) == 0)
    return;
  // Too many mappings: rather unprotected than dead.
  static std::once_flag said;
  std::call_once(said, [] {
    std::fprintf(stderr,
                 "devsan: simulated devices: their memory is no longer protected: mprotect: %s\n",
                 std::strerror(errno));
  });
  mprotect(reinterpret_cast<void *>(arena_layout.begin), arena_layout.size, PROT_READ | PROT_WRITE);
}

} // namespace

void openToHost(std::uintptr_t begin, std::uintptr_t end) {
  protect(pageDown(begin), pageUp(end), PROT_READ | PROT_WRITE);
}

void closeToHost(std::uintptr_t begin, std::uintptr_t end) {
  protect(pageDown(begin), pageUp(end), PROT_NONE);
}

void releasePages(std::uintptr_t begin, std::uintptr_t end) {
  begin = pageUp(begin);
  end = pageDown(end);
  if (begin < end)
    madvise(reinterpret_cast<void *>(begin + arena_layout.distance), end - begin,
            is_protected ? MADV_REMOVE : MADV_DONTNEED);
}

} // namespace devsan::sim
