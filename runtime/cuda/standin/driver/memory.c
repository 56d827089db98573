/* Pinned and managed memory, which lies in the host's; a device's is that of arena.h. */
#define _GNU_SOURCE
#include "runtime/cuda/standin/driver/driver.h"

#include <stdlib.h>
#include <sys/mman.h>

struct Memory {
  char *begin;
  size_t size;
  int type;
  int device;
  int is_mapped; /* ours, to be unmapped */
  struct Memory *next;
};
static struct Memory *memory;

static const struct Memory *find(const void *address) {
  for (const struct Memory *one = memory; one; one = one->next)
    if ((const char *)address >= one->begin && (const char *)address < one->begin + one->size)
      return one;
  return NULL;
}

static int isPinnedBySimulator(const void *address) {
  const DevSanSimulator *simulator = devsanSimulator();
  return simulator && simulator->is_pinned(address);
}

int devsanTypeOf(const void *address) {
  if (devsanDeviceOf(address) >= 0)
    return kOnDevice;
  if (isPinnedBySimulator(address))
    return kPinned;
  pthread_mutex_lock(&devsanDriverLock);
  const struct Memory *one = find(address);
  const int type = one ? one->type : kPageable;
  pthread_mutex_unlock(&devsanDriverLock);
  return type;
}

static void add(char *begin, size_t size, int type, int is_mapped) {
  struct Memory *one = malloc(sizeof *one);
  pthread_mutex_lock(&devsanDriverLock);
  *one = (struct Memory){begin,     size,  type, devsanCurrent ? devsanCurrent->device : 0,
                         is_mapped, memory};
  memory = one;
  pthread_mutex_unlock(&devsanDriverLock);
}

static int allocate(void **out, size_t size, int type) {
  if (!out || size == 0)
    return kInvalidValue;
  if (!devsanCurrent)
    return kInvalidContext;
  if (type == kOnDevice) {
    *out = devsanTakeDeviceMemory(devsanCurrent->device, size);
    return *out ? kSuccess : kOutOfMemory;
  }
  void *begin =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (begin == MAP_FAILED)
    return kOutOfMemory;
  add(begin, size, type, 1);
  *out = begin;
  return kSuccess;
}

static int release(const void *address) {
  if (!address)
    return kSuccess;
  if (devsanDeviceOf(address) >= 0)
    return devsanGiveDeviceMemoryBack(address) ? kSuccess : kInvalidValue;
  pthread_mutex_lock(&devsanDriverLock);
  struct Memory **link = &memory;
  while (*link && (*link)->begin != address)
    link = &(*link)->next;
  struct Memory *one = *link;
  if (one)
    *link = one->next;
  pthread_mutex_unlock(&devsanDriverLock);
  if (!one)
    return kInvalidValue;
  if (one->is_mapped)
    munmap(one->begin, one->size);
  free(one);
  return kSuccess;
}

static int releaseWhenIdle(const void *address) {
  if (address && devsanCurrent)
    devsanWaitForContext(devsanCurrent);
  return release(address);
}

int cuPointerGetAttribute(void *out, int attribute, DevSanCudaAddress address) {
  enum { kContext = 1, kMemoryType = 2, kIsManaged = 8, kOrdinal = 9 };
  const void *begin;
  size_t size;
  int type = 0, device = devsanDeviceOf(devsanHost(address));
  if (device >= 0) {
    if (devsanArena()->find(devsanHost(address), &begin, &size))
      type = kOnDevice;
  } else if (isPinnedBySimulator(devsanHost(address))) {
    type = kPinned;
    device = devsanCurrent ? devsanCurrent->device : 0;
  } else {
    pthread_mutex_lock(&devsanDriverLock);
    const struct Memory *one = find(devsanHost(address));
    type = one ? one->type : 0;
    device = one ? one->device : -1;
    pthread_mutex_unlock(&devsanDriverLock);
  }
  if (!type)
    return kInvalidValue;
  switch (attribute) {
  case kMemoryType:
    *(unsigned *)out = type == kPinned ? 1 : 2;
    return kSuccess;
  case kIsManaged:
    *(unsigned *)out = type == kManaged;
    return kSuccess;
  case kOrdinal:
    *(int *)out = device;
    return kSuccess;
  default:
    return kInvalidValue;
  }
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *total) {
  if (!devsanCurrent)
    return kInvalidContext;
  *total = devsanDevices.memory;
  *free_bytes = devsanFreeDeviceMemory(devsanCurrent->device);
  return kSuccess;
}

int cuMemAlloc_v2(DevSanCudaAddress *out, size_t size) {
  devsan_standin_count("cuMemAlloc_v2");
  void *address = NULL;
  const int result = allocate(&address, size, kOnDevice);
  *out = (uintptr_t)address;
  return result;
}

int cuMemAllocAsync(DevSanCudaAddress *out, size_t size, void *stream) {
  (void)stream;
  devsan_standin_count("cuMemAllocAsync");
  void *address = NULL;
  const int result = allocate(&address, size, kOnDevice);
  *out = (uintptr_t)address;
  return result;
}

int cuMemAllocManaged(DevSanCudaAddress *out, size_t size, unsigned flags) {
  (void)flags;
  devsan_standin_count("cuMemAllocManaged");
  void *address = NULL;
  const int result = allocate(&address, size, kManaged);
  *out = (uintptr_t)address;
  return result;
}

int cuMemAllocHost_v2(void **out, size_t size) {
  devsan_standin_count("cuMemAllocHost_v2");
  if (devsanCurrent)
    devsanWaitForContext(devsanCurrent);
  return allocate(out, size, kPinned);
}

int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  devsan_standin_count("cuMemHostAlloc");
  if (devsanCurrent)
    devsanWaitForContext(devsanCurrent);
  return allocate(out, size, kPinned);
}

int cuMemHostRegister_v2(void *address, size_t size, unsigned flags) {
  (void)flags;
  devsan_standin_count("cuMemHostRegister_v2");
  if (devsanTypeOf(address) != kPageable)
    return kAlreadyRegistered;
  add(address, size, kPinned, 0);
  return kSuccess;
}

int cuMemHostUnregister(void *address) {
  devsan_standin_count("cuMemHostUnregister");
  return releaseWhenIdle(address);
}

int cuMemFree_v2(DevSanCudaAddress address) {
  devsan_standin_count("cuMemFree_v2");
  return releaseWhenIdle(devsanHost(address));
}

int cuMemFreeHost(void *address) {
  devsan_standin_count("cuMemFreeHost");
  return releaseWhenIdle(address);
}

/* It is not known for which stream the memory was taken: the host waits, so that whoever gets it
   next comes after its uses. */
int cuMemFreeAsync(DevSanCudaAddress address, void *handle) {
  struct Stream *stream = devsanStreamOf(handle);
  if (stream)
    devsanWaitForStream(stream);
  return release(devsanHost(address));
}
