/* What a program sets and asks about devices, streams, peers and memory where it changes nothing
   here: it is kept, where it can be asked for again, and checked as a GPU checks it. Also where on
   the host or a device memory is, of kernels what their code would say, and work for the host in a
   stream's order. */
#include "runtime/cuda/standin/runtime.h"

#include "runtime/cuda/standin/kernels.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Limits. */

enum { kLimits = 7 };

/* Of the runtime's part for kernels that launch kernels, the L2 cache and the rest: how each
   differs from what it is at first. */
static _Atomic size_t limits[kMaxDevices][kLimits];
static const size_t kLimitsAtFirst[kLimits] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

int cudaDeviceGetLimit(size_t *value, int limit);
int cudaDeviceGetLimit(size_t *value, int limit) {
  REQUIRE(value);
  if (limit < 0 || limit >= kLimits)
    return devsanDone(kUnsupportedLimit);
  *value = limits[devsanCurrentDevice()][limit] ^ kLimitsAtFirst[limit];
  return kSuccess;
}

int cudaDeviceSetLimit(int limit, size_t value);
int cudaDeviceSetLimit(int limit, size_t value) {
  if (limit < 0 || limit >= kLimits)
    return devsanDone(kUnsupportedLimit);
  limits[devsanCurrentDevice()][limit] = value ^ kLimitsAtFirst[limit];
  return kSuccess;
}

int cudaThreadGetLimit(size_t *value, int limit);
int cudaThreadGetLimit(size_t *value, int limit) {
  return cudaDeviceGetLimit(value, limit);
}

int cudaThreadSetLimit(int limit, size_t value);
int cudaThreadSetLimit(int limit, size_t value) {
  return cudaDeviceSetLimit(limit, value);
}

int cudaCtxResetPersistingL2Cache(void);
int cudaCtxResetPersistingL2Cache(void) {
  return kSuccess;
}

/* How shared memory and the L1 cache are divided. */

static _Atomic int cache_configs[kMaxDevices];

int cudaDeviceGetCacheConfig(int *config);
int cudaDeviceGetCacheConfig(int *config) {
  REQUIRE(config);
  *config = cache_configs[devsanCurrentDevice()];
  return kSuccess;
}

int cudaDeviceSetCacheConfig(int config);
int cudaDeviceSetCacheConfig(int config) {
  enum { kLast = 3 };
  REQUIRE(config >= 0 && config <= kLast);
  cache_configs[devsanCurrentDevice()] = config;
  return kSuccess;
}

int cudaThreadGetCacheConfig(int *config);
int cudaThreadGetCacheConfig(int *config) {
  return cudaDeviceGetCacheConfig(config);
}

int cudaThreadSetCacheConfig(int config);
int cudaThreadSetCacheConfig(int config) {
  return cudaDeviceSetCacheConfig(config);
}

/* Devices with more than one size of banks are gone. */
int cudaDeviceGetSharedMemConfig(int *config);
int cudaDeviceGetSharedMemConfig(int *config) {
  enum { kFourBytes = 1 };
  REQUIRE(config);
  *config = kFourBytes;
  return kSuccess;
}

int cudaDeviceSetSharedMemConfig(int config);
int cudaDeviceSetSharedMemConfig(int config) {
  (void)config;
  return kSuccess;
}

/* Devices. */

enum { kMapHost = 8 };
static _Atomic unsigned device_flags[kMaxDevices];

int cudaGetDeviceFlags(unsigned *flags);
int cudaGetDeviceFlags(unsigned *flags) {
  REQUIRE(flags);
  *flags = device_flags[devsanCurrentDevice()] | kMapHost;
  return kSuccess;
}

int cudaSetDeviceFlags(unsigned flags);
int cudaSetDeviceFlags(unsigned flags) {
  enum { kSchedule = 7, kAll = 0xff };
  const unsigned schedule = flags & kSchedule;
  REQUIRE(!(flags & ~(unsigned)kAll) && !(schedule & (schedule - 1)));
  device_flags[devsanCurrentDevice()] = flags;
  return kSuccess;
}

int cudaChooseDevice(int *device, const void *wanted);
int cudaChooseDevice(int *device, const void *wanted) {
  REQUIRE(device && wanted);
  *device = 0; /* all are alike */
  return devsanDone(devsanIsDeviceNumber(0) ? kSuccess : kNoDevice);
}

int cudaSetValidDevices(const int *devices, int count);
int cudaSetValidDevices(const int *devices, int count) {
  REQUIRE(devices || !count);
  for (int i = 0; i < count; ++i)
    if (!devsanIsDeviceNumber(devices[i]))
      return devsanDone(kInvalidDevice);
  return kSuccess;
}

int cudaDeviceGetPCIBusId(char *text, int size, int device);
int cudaDeviceGetPCIBusId(char *text, int size, int device) {
  if (!devsanIsDeviceNumber(device))
    return devsanDone(kInvalidDevice);
  REQUIRE(text && size > 0);
  snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
  return kSuccess;
}

int cudaDeviceGetByPCIBusId(int *device, const char *text);
int cudaDeviceGetByPCIBusId(int *device, const char *text) {
  unsigned domain = 0, bus, slot, function = 0;
  REQUIRE(device && text);
  if (sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
    domain = 0;
    if (sscanf(text, "%x:%x.%x", &bus, &slot, &function) != 3)
      return devsanDone(kInvalidDevice);
  }
  if (domain || slot || function || bus > kMaxDevices || !devsanIsDeviceNumber((int)bus - 1))
    return devsanDone(kInvalidDevice);
  *device = (int)bus - 1;
  return kSuccess;
}

int cudaThreadExit(void);
int cudaThreadExit(void) {
  return cudaDeviceReset();
}

/* Peers. */

static char peers[kMaxDevices][kMaxDevices];

/* Not in a simulated run: PyTorch then copies between devices in parts that are no kernels. */
static int havePeers(void) {
  return !devsanIsSimulated();
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer);
int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  REQUIRE(can);
  if (!devsanIsDeviceNumber(device) || !devsanIsDeviceNumber(peer))
    return devsanDone(kInvalidDevice);
  *can = device != peer && havePeers();
  return kSuccess;
}

int cudaDeviceEnablePeerAccess(int peer, unsigned flags);
int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  REQUIRE(!flags);
  if (!devsanIsDeviceNumber(peer) || peer == devsanCurrentDevice())
    return devsanDone(kInvalidDevice);
  if (!havePeers())
    return devsanDone(kPeerAccessUnsupported);
  const int was_enabled =
      __atomic_exchange_n(&peers[devsanCurrentDevice()][peer], 1, __ATOMIC_RELAXED);
  return devsanDone(was_enabled ? kPeerAccessAlreadyEnabled : kSuccess);
}

int cudaDeviceDisablePeerAccess(int peer);
int cudaDeviceDisablePeerAccess(int peer) {
  if (!devsanIsDeviceNumber(peer))
    return devsanDone(kInvalidDevice);
  const int was_enabled =
      __atomic_exchange_n(&peers[devsanCurrentDevice()][peer], 0, __ATOMIC_RELAXED);
  return devsanDone(was_enabled ? kSuccess : kPeerAccessNotEnabled);
}

int cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer);
int cudaDeviceGetP2PAttribute(int *value, int attribute, int device, int peer) {
  enum { kLast = 4 };
  REQUIRE(value && attribute > 0 && attribute <= kLast);
  if (!devsanIsDeviceNumber(device) || !devsanIsDeviceNumber(peer) || device == peer)
    return devsanDone(kInvalidDevice);
  *value = 0;
  return kSuccess;
}

/* Streams and events. */

/* Streams of LibTorch's may be the simulator's, which the driver knows. */
static int ask(const char *name, void *stream, void *value) {
  REQUIRE(value);
  /* Whose default stream it may be. */
  const int result = devsanEnterContext();
  if (result != kSuccess)
    return devsanDone(result);
  int (*function)(void *, void *) = (int (*)(void *, void *))devsanDriverFunction(name);
  return devsanDone(function ? function(stream, value) : kNoDriver);
}

int cudaStreamGetPriority(void *stream, int *priority);
int cudaStreamGetPriority(void *stream, int *priority) {
  return ask("cuStreamGetPriority", stream, priority);
}

int cudaStreamGetFlags(void *stream, unsigned *flags);
int cudaStreamGetFlags(void *stream, unsigned *flags) {
  return ask("cuStreamGetFlags", stream, flags);
}

int cudaStreamGetDevice(void *stream, int *device);
int cudaStreamGetDevice(void *stream, int *device) {
  return ask("cuStreamGetDevice", stream, device);
}

int cudaStreamGetId(void *stream, unsigned long long *id);
int cudaStreamGetId(void *stream, unsigned long long *id) {
  int device = 0;
  REQUIRE(id);
  const int result = cudaStreamGetDevice(stream, &device);
  /* Of default streams a number that no handle has. */
  *id = (uintptr_t)stream > 2 ? (uintptr_t)stream : 1 + (unsigned long long)device;
  return result;
}

enum { kPriorityAttribute = 8, kAttributeSize = 64 };

int cudaStreamGetAttribute(void *stream, int attribute, void *value);
int cudaStreamGetAttribute(void *stream, int attribute, void *value) {
  REQUIRE(value);
  memset(value, 0, kAttributeSize);
  return attribute == kPriorityAttribute ? cudaStreamGetPriority(stream, value) : kSuccess;
}

int cudaStreamSetAttribute(void *stream, int attribute, const void *value);
int cudaStreamSetAttribute(void *stream, int attribute, const void *value) {
  (void)stream, (void)attribute;
  REQUIRE(value);
  return kSuccess;
}

int cudaStreamCopyAttributes(void *to, void *from);
int cudaStreamCopyAttributes(void *to, void *from) {
  (void)to, (void)from;
  return kSuccess;
}

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags);
int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  (void)flags;
  return cudaEventRecord(event, stream);
}

int cudaEventElapsedTime_v2(float *milliseconds, void *event, void *later);
int cudaEventElapsedTime_v2(float *milliseconds, void *event, void *later) {
  return cudaEventElapsedTime(milliseconds, event, later);
}

/* Memory. */

static int typeOf(const void *memory) {
  /* CUDA 13's are larger. */
  union {
    DevSanCudaPointerAttributes known;
    char room[128];
  } attributes;
  return cudaPointerGetAttributes(&attributes.known, memory) == kSuccess ? attributes.known.type
                                                                         : 0;
}

enum { kHostMemory = 1, kManagedMemory = 3 };

int cudaHostGetDevicePointer(void **out, void *memory, unsigned flags);
int cudaHostGetDevicePointer(void **out, void *memory, unsigned flags) {
  REQUIRE(out && !flags && typeOf(memory) == kHostMemory);
  *out = memory;
  return kSuccess;
}

/* All of it can be reached by all devices, as with one space of addresses. */
int cudaHostGetFlags(unsigned *flags, void *memory);
int cudaHostGetFlags(unsigned *flags, void *memory) {
  enum { kPortable = 1, kMapped = 2 };
  REQUIRE(flags && typeOf(memory) == kHostMemory);
  *flags = kPortable | kMapped;
  return kSuccess;
}

/* Managed memory lies in the host's. */
static int isManaged(const void *memory) {
  return devsanDone(typeOf(memory) == kManagedMemory ? kSuccess : kInvalidValue);
}

typedef struct {
  int type, id;
} Location;

static int isLocation(Location location) {
  enum { kDevice = 1, kLast = 4 };
  return location.type == kDevice ? devsanIsDeviceNumber(location.id)
                                  : location.type > 0 && location.type <= kLast;
}

#if DEVSAN_STANDIN_VERSION < 13
int cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream);
int cudaMemPrefetchAsync(const void *memory, size_t bytes, int device, void *stream) {
  (void)bytes, (void)stream;
  if (device != -1 && !devsanIsDeviceNumber(device))
    return devsanDone(kInvalidDevice);
  return isManaged(memory);
}

int cudaMemAdvise(const void *memory, size_t bytes, int advice, int device);
int cudaMemAdvise(const void *memory, size_t bytes, int advice, int device) {
  (void)bytes, (void)advice, (void)device;
  return isManaged(memory);
}
#else
int cudaMemPrefetchAsync(const void *memory, size_t bytes, Location location, unsigned flags,
                         void *stream);
int cudaMemPrefetchAsync(const void *memory, size_t bytes, Location location, unsigned flags,
                         void *stream) {
  (void)bytes, (void)flags, (void)stream;
  REQUIRE(isLocation(location));
  return isManaged(memory);
}

int cudaMemAdvise(const void *memory, size_t bytes, int advice, Location location);
int cudaMemAdvise(const void *memory, size_t bytes, int advice, Location location) {
  (void)bytes, (void)advice, (void)location;
  return isManaged(memory);
}
#endif

int cudaMemPrefetchAsync_v2(const void *memory, size_t bytes, Location location, unsigned flags,
                            void *stream);
int cudaMemPrefetchAsync_v2(const void *memory, size_t bytes, Location location, unsigned flags,
                            void *stream) {
  (void)bytes, (void)flags, (void)stream;
  REQUIRE(isLocation(location));
  return isManaged(memory);
}

int cudaMemAdvise_v2(const void *memory, size_t bytes, int advice, Location location);
int cudaMemAdvise_v2(const void *memory, size_t bytes, int advice, Location location) {
  (void)bytes, (void)advice, (void)location;
  return isManaged(memory);
}

int cudaStreamAttachMemAsync(void *stream, void *memory, size_t bytes, unsigned flags);
int cudaStreamAttachMemAsync(void *stream, void *memory, size_t bytes, unsigned flags) {
  (void)stream, (void)bytes, (void)flags;
  return isManaged(memory);
}

/* Kernels. */

static int isKernel(const void *kernel) {
  return !devsanIsSimulated() || devsanKernelHandle(kernel) ? kSuccess : kInvalidDeviceFunction;
}

int cudaFuncSetCacheConfig(const void *kernel, int config);
int cudaFuncSetCacheConfig(const void *kernel, int config) {
  (void)config;
  return devsanDone(isKernel(kernel));
}

int cudaFuncSetSharedMemConfig(const void *kernel, int config);
int cudaFuncSetSharedMemConfig(const void *kernel, int config) {
  (void)config;
  return devsanDone(isKernel(kernel));
}

int cudaFuncGetName(const char **name, const void *kernel);
int cudaFuncGetName(const char **name, const void *kernel) {
  REQUIRE(name);
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() ? devsanKernelHandle(kernel) : NULL;
  if (handle)
    *name = handle->name;
  return devsanDone(handle ? kSuccess : kInvalidDeviceFunction);
}

int cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *size);
int cudaFuncGetParamInfo(const void *kernel, size_t index, size_t *offset, size_t *size) {
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() ? devsanKernelHandle(kernel) : NULL;
  __typeof__(cuFuncGetParamInfo) *get =
      (__typeof__(cuFuncGetParamInfo) *)devsanDriverFunction("cuFuncGetParamInfo");
  size_t unwanted;
  REQUIRE(offset);
  return devsanDone(handle && get ? get(handle, index, offset, size ? size : &unwanted)
                                  : kInvalidDeviceFunction);
}

int cudaGetKernel(const void **out, const void *kernel);
int cudaGetKernel(const void **out, const void *kernel) {
  REQUIRE(out);
  *out = devsanIsSimulated() ? devsanKernelHandle(kernel) : kernel;
  return devsanDone(*out ? kSuccess : kInvalidDeviceFunction);
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                  size_t shared_memory);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int threads,
                                                  size_t shared_memory) {
  (void)kernel;
  REQUIRE(blocks && threads > 0);
  *blocks = devsanBlocksPerProcessor((size_t)threads, shared_memory);
  return kSuccess;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel,
                                                           int threads, size_t shared_memory,
                                                           unsigned flags);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel,
                                                           int threads, size_t shared_memory,
                                                           unsigned flags) {
  (void)flags;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared_memory);
}

int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *kernel, int blocks,
                                              int threads);
int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *kernel, int blocks,
                                              int threads) {
  enum { kReserved = 1 << 10 };
  (void)kernel;
  REQUIRE(bytes && blocks > 0 && threads > 0);
  REQUIRE(blocks <= devsanBlocksPerProcessor((size_t)threads, 0));
  const size_t each = kSharedPerProcessor / (size_t)blocks - kReserved;
  *bytes = each < kSharedPerBlock ? each : kSharedPerBlock;
  return kSuccess;
}

/* The first double of a kernel's argument, from devices that had none. */
int cudaSetDoubleForDevice(double *value);
int cudaSetDoubleForDevice(double *value) {
  (void)value;
  return kSuccess;
}

int cudaSetDoubleForHost(double *value);
int cudaSetDoubleForHost(double *value) {
  (void)value;
  return kSuccess;
}

/* Work for the host: done when it is issued, like all work, once what was issued before has
   arrived. */

static int beforeHostFunction(void *stream) {
  const int result = devsanEnterContext();
  if (result != kSuccess)
    return devsanDone(result);
  devsanReportUse(stream, "cudaLaunchHostFunc", NULL, 0);
  devsanFinishCopies();
  return kSuccess;
}

int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data);
int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  REQUIRE(function);
  const int result = beforeHostFunction(stream);
  if (result != kSuccess)
    return result;
  function(data);
  return kSuccess;
}

int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags);
int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags) {
  REQUIRE(function && !flags);
  const int result = beforeHostFunction(stream);
  if (result != kSuccess)
    return result;
  function(stream, kSuccess, data);
  return kSuccess;
}
