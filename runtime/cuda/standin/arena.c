#define _GNU_SOURCE
#include "runtime/cuda/standin/arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { kMaxDevices = 64 };
/* CUDA's allocations lie on 512 bytes; ours on pages, so that they can be protected. */
static const uintptr_t kPage = 4096;
static const uintptr_t kGiB = (uintptr_t)1 << 30;
/* The same addresses in every run, as far as they are free. */
static void *const kWantedPlace = (void *)(uintptr_t)0x200000000000;

struct Allocation {
  uintptr_t begin, end;
  size_t size;
  struct Allocation *next; /* by address */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Allocation *allocations[kMaxDevices];
static size_t used[kMaxDevices];
static size_t memory_of_device;
static int find(const void *address, const void **begin, size_t *size);
static DevSanStandinMemory arena = {0, 0, 0, 0, find};

static void *reserve(uintptr_t bytes) {
  void *place =
      mmap(kWantedPlace, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return place == MAP_FAILED ? NULL : place;
}

/* Files over the process's limit would end it by SIGXFSZ. */
static int fileMayHave(uintptr_t bytes) {
  struct rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= bytes;
}

static int makeProtected(uintptr_t bytes) {
  if (!fileMayHave(bytes))
    return 0;
  const int file = memfd_create("devsan-device-memory", MFD_CLOEXEC);
  if (file < 0)
    return 0;
  char *place = ftruncate(file, (off_t)bytes) == 0 ? reserve(2 * bytes) : NULL;
  int is_made = place != NULL;
  if (is_made && (mmap(place, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED ||
                  mmap(place + bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                       0) == MAP_FAILED)) {
    munmap(place, 2 * bytes);
    is_made = 0;
  }
  close(file);
  if (!is_made)
    return 0;
  /* A child after fork would write into its parent's devices; a core file would hold them twice. */
  madvise(place, 2 * bytes, MADV_DONTFORK);
  madvise(place, bytes, MADV_DONTDUMP);
  arena.distance = bytes;
  arena.begin = (uintptr_t)place;
  return 1;
}

static int makeOpen(uintptr_t bytes) {
  char *place = reserve(bytes);
  if (!place)
    return 0;
  if (mprotect(place, bytes, PROT_READ | PROT_WRITE) != 0) {
    munmap(place, bytes);
    return 0;
  }
  madvise(place, bytes, MADV_DONTFORK);
  arena.distance = 0;
  arena.begin = (uintptr_t)place;
  return 1;
}

void devsanMakeArena(int devices, size_t memory, int is_protected) {
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
      if (!(protect ? makeProtected(bytes) : makeOpen(bytes)))
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

void *devsanTakeDeviceMemory(int device, size_t size) {
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
  /* The first gap that is large enough. */
  while (*link && (*link)->begin - begin < length) {
    begin = (*link)->end;
    link = &(*link)->next;
  }
  const int has_room =
      begin + length <= first + arena.per_device && used[device] + length <= memory_of_device;
  if (has_room) {
    *made = (struct Allocation){begin, begin + length, size, *link};
    *link = made;
    used[device] += length;
  }
  pthread_mutex_unlock(&lock);
  if (!has_room)
    free(made);
  return has_room ? (void *)begin : NULL;
}

size_t devsanGiveDeviceMemoryBack(const void *address) {
  const int device = devsanDeviceOf(address);
  if (device < 0)
    return 0;
  pthread_mutex_lock(&lock);
  struct Allocation **link = &allocations[device];
  while (*link && (*link)->begin != (uintptr_t)address)
    link = &(*link)->next;
  struct Allocation *one = *link;
  if (one) {
    *link = one->next;
    used[device] -= one->end - one->begin;
    /* The machine has the pages back; they read as zero when they are used again. */
    madvise((void *)(one->begin + arena.distance), one->end - one->begin,
            arena.distance ? MADV_REMOVE : MADV_DONTNEED);
  }
  pthread_mutex_unlock(&lock);
  const size_t size = one ? one->size : 0;
  free(one);
  return size;
}

size_t devsanUsedDeviceMemory(int device) {
  pthread_mutex_lock(&lock);
  const size_t bytes = used[device];
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
  pthread_mutex_init(&lock, NULL);
}
