#define _GNU_SOURCE
#include "runtime/cuda/standin/arena.h"
#include "runtime/cuda/standin/standin.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* CUDA's allocations lie on 512 bytes; ours on pages, so that they can be protected. */
static const uintptr_t kPage = 4096;
static const uintptr_t kGiB = (uintptr_t)1 << 30;
/* The same addresses in every run, as far as they are free. */
static void *const kWantedPlace = (void *)(uintptr_t)0x200000000000;

struct Allocation {
  uintptr_t begin, end;
  size_t size;
  int is_mapped;           /* another process's */
  struct Allocation *next; /* by address */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Allocation *allocations[kMaxDevices];
static size_t used[kMaxDevices];
static size_t memory_of_device;
static int arena_file = -1; /* while it is protected */
static int is_lost;
static int find(const void *address, const void **begin, size_t *size);
static DevSanStandinMemory arena = {0, 0, 0, 0, find};
static const DevSanSimulator *simulator; /* whose memory it is, where there is one */

static void *reserve(void *wanted, uintptr_t bytes) {
  void *place = mmap(wanted, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? NULL : place;
}

/* Files over the process's limit would end it by SIGXFSZ. */
static int fileMayHave(uintptr_t bytes) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= bytes;
}

/* A child after fork would write into its parent's devices; a core file would hold them twice. */
static void keepFromChildren(uintptr_t begin, uintptr_t length) {
  madvise((void *)begin, length, MADV_DONTFORK);
  madvise((void *)(begin + arena.distance), length, MADV_DONTFORK);
  madvise((void *)begin, length, MADV_DONTDUMP);
}

/* By a file, which other processes can map; without one where the process may not have it. */
static int makeProtected(char *place, uintptr_t bytes) {
  char *reached = place + bytes;
  const int file = fileMayHave(bytes) ? memfd_create("devsan-device-memory", MFD_CLOEXEC) : -1;
  if (file >= 0 && ftruncate(file, (off_t)bytes) == 0 &&
      mmap(place, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED &&
      mmap(reached, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED) {
    arena_file = file;
    return 1;
  }
  if (file >= 0)
    close(file);
  /* Shared memory that is moved from a length of 0 is there twice. */
  return mmap(reached, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED &&
         mremap(reached, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) != MAP_FAILED &&
         mprotect(place, bytes, PROT_NONE) == 0;
}

static int makeOpen(char *place, uintptr_t bytes) {
  return mprotect(place, bytes, PROT_READ | PROT_WRITE) == 0;
}

static int makeAt(char *place, uintptr_t bytes, int protect) {
  if (!place)
    return 0;
  const uintptr_t length = protect ? 2 * bytes : bytes;
  if (!(protect ? makeProtected(place, bytes) : makeOpen(place, bytes))) {
    munmap(place, length);
    return 0;
  }
  arena.distance = protect ? bytes : 0;
  arena.begin = (uintptr_t)place;
  keepFromChildren(arena.begin, bytes);
  return 1;
}

const DevSanSimulator *devsanSimulator(void) {
  devsan_standin_memory(); /* looks for it */
  return simulator;
}

void devsanMakeArena(int devices, size_t memory, int is_protected) {
  const DevSanGetSimulator get = (DevSanGetSimulator)dlsym(RTLD_DEFAULT, DEVSAN_GET_SIMULATOR);
  if (get) {
    simulator = get();
    arena = simulator->memory;
    devsan_standin_follow_streams(simulator->stream_order);
    return;
  }
  if (arena.size || devices < 1 || devices > kMaxDevices)
    return;
  memory_of_device = memory;
  /* Addresses, not memory: room for fragmentation beside the limit. */
  uintptr_t per_device = 64 * kGiB;
  while (per_device < 4 * memory && per_device * (uintptr_t)devices < 16384 * kGiB)
    per_device *= 2;
  for (int protect = is_protected; protect >= 0; --protect)
    for (uintptr_t wanted = per_device; wanted >= kGiB / 4; wanted /= 2) {
      const uintptr_t bytes = wanted * (uintptr_t)devices;
      if (!makeAt(reserve(kWantedPlace, protect ? 2 * bytes : bytes), bytes, protect))
        continue;
      arena.per_device = wanted;
      arena.size = bytes;
      if (is_protected && !protect)
        fprintf(stderr,
                "devsan: simulated devices: their memory is not protected, host accesses "
                "go unseen: %s\n",
                strerror(errno));
      return;
    }
}

const DevSanStandinMemory *devsanArena(void) {
  return &arena;
}

int devsanDeviceOf(const void *address) {
  const uintptr_t at = (uintptr_t)address - arena.begin;
  return at < arena.size ? (int)(at / arena.per_device) : -1;
}

void *devsanReach(const void *address) {
  const uintptr_t at = (uintptr_t)address;
  return (void *)(at - arena.begin < arena.size ? at + arena.distance : at);
}

/* Notes an allocation in the first gap that is large enough; NULL where there is none, or where it
   is this process's own and goes beyond the device's memory. */
static struct Allocation *place(int device, size_t size, int is_mapped) {
  struct Allocation *made = malloc(sizeof *made);
  if (!made || !arena.size || size > arena.per_device) {
    free(made);
    return NULL;
  }
  const uintptr_t length = (size + kPage - 1) / kPage * kPage;
  const uintptr_t first = arena.begin + (uintptr_t)device * arena.per_device;
  pthread_mutex_lock(&lock);
  struct Allocation **link = &allocations[device];
  uintptr_t begin = first;
  while (*link && (*link)->begin - begin < length) {
    begin = (*link)->end;
    link = &(*link)->next;
  }
  const int has_room = begin + length <= first + arena.per_device &&
                       (is_mapped || used[device] + length <= memory_of_device);
  if (has_room) {
    *made = (struct Allocation){begin, begin + length, size, is_mapped, *link};
    *link = made;
    used[device] += is_mapped ? 0 : length;
  }
  pthread_mutex_unlock(&lock);
  if (!has_room)
    free(made);
  return has_room ? made : NULL;
}

void *devsanTakeDeviceMemory(int device, size_t size) {
  if (simulator)
    return simulator->allocate(size);
  const struct Allocation *made = place(device, size, 0);
  return made ? (void *)made->begin : NULL;
}

/* Both of its addresses. */
static int mapFile(uintptr_t begin, uintptr_t length, int file, uint64_t offset) {
  if (mmap((void *)begin, length, PROT_NONE, MAP_SHARED | MAP_FIXED, file, (off_t)offset) ==
          MAP_FAILED ||
      mmap((void *)(begin + arena.distance), length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           file, (off_t)offset) == MAP_FAILED)
    return 0;
  keepFromChildren(begin, length);
  return 1;
}

/* Removes the allocation that begins there; 0 where there is none of that kind. */
static int removeAt(const void *address, int is_mapped) {
  const int device = devsanDeviceOf(address);
  if (device < 0)
    return 0;
  pthread_mutex_lock(&lock);
  struct Allocation **link = &allocations[device];
  while (*link && (*link)->begin != (uintptr_t)address)
    link = &(*link)->next;
  struct Allocation *one = *link && (*link)->is_mapped == is_mapped ? *link : NULL;
  if (one) {
    *link = one->next;
    if (is_mapped) {
      mapFile(one->begin, one->end - one->begin, arena_file, one->begin - arena.begin);
    } else {
      used[device] -= one->end - one->begin;
      /* The machine has the pages back; they read as zero when they are used again. */
      madvise((void *)(one->begin + arena.distance), one->end - one->begin,
              arena.distance ? MADV_REMOVE : MADV_DONTNEED);
    }
  }
  pthread_mutex_unlock(&lock);
  free(one);
  return one != NULL;
}

int devsanGiveDeviceMemoryBack(const void *address) {
  return simulator ? simulator->release((void *)address) : removeAt(address, 0);
}

int devsanShareDeviceMemory(const void *address, DevSanSharedMemory *shared) {
  const void *begin = NULL;
  size_t size = 0;
  if (arena_file < 0 || !find(address, &begin, &size))
    return 0;
  *shared = (DevSanSharedMemory){getpid(), arena_file, (uintptr_t)begin - arena.begin, size};
  return 1;
}

void *devsanMapDeviceMemory(int device, const DevSanSharedMemory *shared) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%d", shared->process, shared->file);
  const int file = arena_file < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0)
    return NULL;
  const struct Allocation *made = place(device, shared->size, 1);
  const int is_mapped = made && mapFile(made->begin, made->end - made->begin, file, shared->begin);
  close(file);
  if (made && !is_mapped)
    removeAt((const void *)made->begin, 1);
  return is_mapped ? (void *)made->begin : NULL;
}

int devsanUnmapDeviceMemory(const void *address) {
  return removeAt(address, 1);
}

size_t devsanFreeDeviceMemory(int device) {
  if (simulator)
    return simulator->free_memory(device);
  pthread_mutex_lock(&lock);
  const size_t bytes = used[device] < memory_of_device ? memory_of_device - used[device] : 0;
  pthread_mutex_unlock(&lock);
  return bytes;
}

static int find(const void *address, const void **begin, size_t *size) {
  const int device = devsanDeviceOf(address);
  if (device < 0)
    return 0;
  pthread_mutex_lock(&lock);
  const struct Allocation *one = allocations[device];
  while (one && (uintptr_t)address >= one->end)
    one = one->next;
  const int is_found = one && (uintptr_t)address >= one->begin;
  if (is_found) {
    *begin = (const void *)one->begin;
    *size = one->size;
  }
  pthread_mutex_unlock(&lock);
  return is_found;
}

void devsanLoseArena(void) {
  if (arena_file >= 0)
    close(arena_file);
  arena_file = -1;
  is_lost = arena.size != 0 && !simulator;
  pthread_mutex_init(&lock, NULL);
}

int devsanRemakeArena(void) {
  pthread_mutex_lock(&lock);
  if (is_lost) {
    const int protect = arena.distance != 0;
    const uintptr_t length = protect ? 2 * arena.size : arena.size;
    void *place = reserve((void *)arena.begin, length);
    if (place == (void *)arena.begin)
      is_lost = !makeAt(place, arena.size, protect);
    else if (place)
      munmap(place, length);
  }
  const int is_there = !is_lost;
  pthread_mutex_unlock(&lock);
  return is_there;
}
