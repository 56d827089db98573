/* Functions by name, for whoever asks the driver instead of the loader. */
#include "runtime/cuda/standin/driver/driver.h"

#include <string.h>

int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuGetErrorString(int error, const char **text);
int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status);

static const struct {
  const char *name;
  void *function;
} kNames[] = {
#include "driver_names.inc"
    {"cuDeviceGetAttribute", (void *)cuDeviceGetAttribute},
    {"cuGetErrorString", (void *)cuGetErrorString},
    {"cuGetProcAddress", (void *)cuGetProcAddress},
    {"cuGetProcAddress_v2", (void *)cuGetProcAddress_v2},
#define DEVSAN_NAMED(name, what) {#name, (void *)name},
    DEVSAN_LOOKED_UP(DEVSAN_NAMED)};

static void *named(const char *base, const char *version, const char *stream) {
  char name[96];
  const size_t lengths[] = {strlen(base), strlen(version), strlen(stream)};
  if (lengths[0] + lengths[1] + lengths[2] >= sizeof name)
    return NULL;
  memcpy(name, base, lengths[0]);
  memcpy(name + lengths[0], version, lengths[1]);
  memcpy(name + lengths[0] + lengths[1], stream, lengths[2] + 1);
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i)
    if (strcmp(kNames[i].name, name) == 0)
      return kNames[i].function;
  return NULL;
}

/* Forms that came later than others of their suffix, or have to be asked for by their full name. */
static int isSince(const char *symbol, const char *suffix, int since, int version) {
  static const struct {
    const char *symbol;
    int since;
  } kLate[] = {{"cuMemcpyBatchAsync", 13000},
               {"cuMemcpy3DBatchAsync", 13000},
               {"cuCtxSynchronize", 1 << 30}};
  if (*suffix)
    for (size_t i = 0; i < sizeof kLate / sizeof *kLate; ++i)
      if (strcmp(kLate[i].symbol, symbol) == 0)
        since = kLate[i].since;
  return version >= since;
}

/* The newest form that the caller's CUDA version knows, on the thread's own default stream where it
   asks for that. */
static void *address(const char *symbol, int version, uint64_t flags) {
  enum { kPerThread = 2 };
  static const char *const kPerThreadSuffixes[] = {"_ptsz", "_ptds", ""};
  static const struct {
    const char *suffix;
    int since;
  } kVersions[] = {{"_v4", 12050}, {"_v3", 11040}, {"_v2", 3020}, {"", 0}};
  for (size_t v = 0; v < sizeof kVersions / sizeof *kVersions; ++v) {
    if (!isSince(symbol, kVersions[v].suffix, kVersions[v].since, version))
      continue;
    for (size_t s = flags & kPerThread ? 0 : 2; s < 3; ++s) {
      void *function = named(symbol, kVersions[v].suffix, kPerThreadSuffixes[s]);
      if (function)
        return function;
    }
  }
  return NULL;
}

int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status) {
  if (!symbol || !function)
    return kInvalidValue;
  *function = address(symbol, version, flags);
  if (status)
    *status = *function ? 0 : 1;
  return *function ? kSuccess : kNotFound;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
