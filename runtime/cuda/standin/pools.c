/* Memory pools: which one a device allocates from, and what has been set of them. All memory comes
   from the device's allocator at once, and goes back to it: nothing is kept, and none of a pool's
   counts is anything but 0. */
#include "runtime/cuda/standin/runtime.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { kAttributes = 9, kReleaseThreshold = 4 };

struct Pool {
  int device, is_set_up;
  unsigned long long attributes[kAttributes]; /* the settable ones come first */
  struct Pool *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Pool defaults[kMaxDevices], *chosen[kMaxDevices], *own;

static void setUp(struct Pool *pool, int device) {
  pool->device = device;
  pool->is_set_up = 1;
  /* Memory is reused along events, opportunistically and by dependencies of the pool's own. */
  for (int i = 1; i < kReleaseThreshold; ++i)
    pool->attributes[i] = 1;
}

/* The lock is held. */
static struct Pool *defaultOf(int device) {
  if (!defaults[device].is_set_up)
    setUp(&defaults[device], device);
  return &defaults[device];
}

/* The lock is held; NULL where there is none. */
static struct Pool *find(const void *pool) {
  for (int device = 0; device < kMaxDevices; ++device)
    if (pool == &defaults[device])
      return &defaults[device];
  struct Pool *one = own;
  while (one && one != pool)
    one = one->next;
  return one;
}

static int poolOf(void **out, int device, int is_default) {
  REQUIRE(out);
  if (!devsanIsDeviceNumber(device))
    return devsanDone(kInvalidDevice);
  pthread_mutex_lock(&lock);
  *out = chosen[device] && !is_default ? chosen[device] : defaultOf(device);
  pthread_mutex_unlock(&lock);
  return kSuccess;
}

int cudaDeviceGetDefaultMemPool(void **out, int device);
int cudaDeviceGetDefaultMemPool(void **out, int device) {
  return poolOf(out, device, 1);
}

int cudaDeviceGetMemPool(void **out, int device);
int cudaDeviceGetMemPool(void **out, int device) {
  return poolOf(out, device, 0);
}

int cudaDeviceSetMemPool(int device, void *pool);
int cudaDeviceSetMemPool(int device, void *pool) {
  if (!devsanIsDeviceNumber(device))
    return devsanDone(kInvalidDevice);
  pthread_mutex_lock(&lock);
  struct Pool *one = find(pool);
  const int is_its = one && one->device == device;
  if (is_its)
    chosen[device] = one;
  pthread_mutex_unlock(&lock);
  return devsanDone(is_its ? kSuccess : kInvalidValue);
}

int cudaMemPoolCreate(void **out, const void *properties);
int cudaMemPoolCreate(void **out, const void *properties) {
  enum { kPinned = 1, kDevice = 1 };
  const struct {
    int kind, handles, location, device;
  } *wanted = properties;
  REQUIRE(out && wanted && wanted->kind == kPinned && wanted->location == kDevice);
  if (!devsanIsDeviceNumber(wanted->device))
    return devsanDone(kInvalidDevice);
  struct Pool *made = calloc(1, sizeof *made);
  if (!made)
    return devsanDone(kOutOfMemory);
  setUp(made, wanted->device);
  pthread_mutex_lock(&lock);
  made->next = own;
  own = made;
  pthread_mutex_unlock(&lock);
  *out = made;
  return kSuccess;
}

int cudaMemPoolDestroy(void *pool);
int cudaMemPoolDestroy(void *pool) {
  pthread_mutex_lock(&lock);
  struct Pool **link = &own, *one;
  while (*link && *link != pool)
    link = &(*link)->next;
  one = *link;
  if (one) {
    *link = one->next;
    if (chosen[one->device] == one)
      chosen[one->device] = NULL;
  }
  pthread_mutex_unlock(&lock);
  free(one);
  return devsanDone(one ? kSuccess : kInvalidValue);
}

/* Sizes have 8 bytes, all else is an int. */
static size_t sizeOf(int attribute) {
  enum { kMaxPoolSize = 13 };
  return (attribute >= kReleaseThreshold && attribute < kAttributes) || attribute == kMaxPoolSize
             ? sizeof(unsigned long long)
             : sizeof(int);
}

int cudaMemPoolGetAttribute(void *pool, int attribute, void *value);
int cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
  REQUIRE(value && attribute > 0);
  pthread_mutex_lock(&lock);
  const struct Pool *one = find(pool);
  /* Those of newer releases are 0. */
  const unsigned long long set = one && attribute < kAttributes ? one->attributes[attribute] : 0;
  pthread_mutex_unlock(&lock);
  if (one)
    memcpy(value, &set, sizeOf(attribute));
  return devsanDone(one ? kSuccess : kInvalidValue);
}

int cudaMemPoolSetAttribute(void *pool, int attribute, const void *value);
int cudaMemPoolSetAttribute(void *pool, int attribute, const void *value) {
  REQUIRE(value && attribute > 0 && attribute < kAttributes);
  pthread_mutex_lock(&lock);
  struct Pool *one = find(pool);
  /* The highest counts can be set to 0, which they are. */
  if (one && attribute <= kReleaseThreshold) {
    one->attributes[attribute] = 0;
    memcpy(&one->attributes[attribute], value, sizeOf(attribute));
  }
  pthread_mutex_unlock(&lock);
  return devsanDone(one ? kSuccess : kInvalidValue);
}

int devsanPoolDevice(const void *pool) {
  pthread_mutex_lock(&lock);
  const struct Pool *one = find(pool);
  const int device = one ? one->device : -1;
  pthread_mutex_unlock(&lock);
  return device;
}

static int isThere(const void *pool) {
  return devsanDone(devsanPoolDevice(pool) >= 0 ? kSuccess : kInvalidValue);
}

int cudaMemPoolSetAccess(void *pool, const void *access, size_t count);
int cudaMemPoolSetAccess(void *pool, const void *access, size_t count) {
  REQUIRE(access || !count);
  return isThere(pool);
}

int cudaMemPoolGetAccess(int *access, void *pool, const void *location);
int cudaMemPoolGetAccess(int *access, void *pool, const void *location) {
  enum { kDevice = 1, kReadWrite = 3 };
  const struct {
    int type, device;
  } *asked = location;
  REQUIRE(access && asked);
  pthread_mutex_lock(&lock);
  const struct Pool *one = find(pool);
  *access = one && asked->type == kDevice && asked->device == one->device ? kReadWrite : 0;
  pthread_mutex_unlock(&lock);
  return devsanDone(one ? kSuccess : kInvalidValue);
}

int cudaMemPoolTrimTo(void *pool, size_t kept) {
  (void)kept;
  devsan_standin_count(__func__);
  return isThere(pool);
}
