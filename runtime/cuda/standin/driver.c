/* A stand-in for CUDA's driver, libcuda.so.1, on a machine that has none: devices, contexts, memory
   in the host's, streams, events. The runtime's stand-in (runtime.c) is built on it, as CUDA's
   runtime is on the driver.

   Under `devsan run --sim=N` (DEVSAN_SIM_DEVICES) it is what a CUDA build of LibTorch finds:
   devices as CUDA_VISIBLE_DEVICES shows them, each with the memory of DEVSAN_SIM_MEMORY (bytes),
   which the host cannot touch (DEVSAN_SIM_PROTECT). Work is done when it is issued and takes no
   time; the host implementations of kernels are run by the runtime's stand-in (kernels.h).

   In tests of the runtime, work takes time: when it would be over is a point in time that waits
   wait for, and kernels do nothing but take theirs. DEVSAN_STANDIN_DEVICES     how many devices
   there are, 2 unless said otherwise DEVSAN_STANDIN_KERNEL_US   how long a kernel runs, 50 */
#define _GNU_SOURCE
#include "declarations.h"
#include "runtime/cuda/calls.h"
#include "runtime/cuda/standin/arena.h"
#include "runtime/cuda/standin/standin.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kNotInitialized = 3,
  kInvalidDevice = 101,
  kInvalidContext = 201,
  kInvalidHandle = 400,
  kNotFound = 500,
  kNotReady = 600,
  kCaptureUnsupported = 900
};

enum { kMaxDevices = 64, kPageable = 0, kPinned = 1, kOnDevice = 2, kManaged = 3 };

struct Stream {
  struct Context *context;
  uint64_t done;    /* when what was issued so far is over */
  uint64_t capture; /* the last that it was part of */
};

struct Context {
  int device;
  struct Stream legacy;
  struct Stream *streams[256];
  int stream_count;
};

struct Event {
  struct Context *context;
  uint64_t done;
  uint64_t capture;
  int is_recorded;
};

struct Memory {
  char *begin;
  size_t size;
  int type;
  int device;
  int is_mapped; /* ours, to be unmapped */
  struct Memory *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int device_count;
static struct Context *primary[kMaxDevices];
static int primary_uses[kMaxDevices];
static struct Memory *memory;
static int is_initialized;
static int is_simulated;
static int machine_devices;
static size_t memory_of_device = (size_t)16 << 30;
/* The device's number within the machine, by index. */
static int physical[kMaxDevices];
/* A child of a process that has used the devices can use none: CUDA's cudaErrorInitializationError.
 */
static int is_child;
static __thread struct Context *current;
static __thread struct Context *stack[16];
static __thread int stack_size;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t kernelTime(void) {
  if (is_simulated)
    return 0;
  const char *text = getenv("DEVSAN_STANDIN_KERNEL_US");
  return 1000u * (text && *text ? strtoull(text, NULL, 10) : 50);
}

static uint64_t copyTime(uint64_t bytes) {
  return is_simulated ? 0 : 2000 + bytes / 10;
}

static void waitUntil(uint64_t done) {
  struct timespec time = {(time_t)(done / 1000000000u), (long)(done % 1000000000u)};
  if (done > now())
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

/* A null stream and the handles 1 and 2 are the default streams. */
static struct Stream *streamOf(void *handle) {
  if ((uintptr_t)handle > 2)
    return handle;
  return current ? &current->legacy : NULL;
}

static void issue(struct Stream *stream, uint64_t duration) {
  if (!stream)
    return;
  pthread_mutex_lock(&lock);
  uint64_t begin = now();
  if (stream->done > begin)
    begin = stream->done;
  stream->done = begin + duration;
  pthread_mutex_unlock(&lock);
}

/* The capture of a CUDA graph, one at a time: on the stream where it began and on those that wait
   for its events. What is captured is the simulator's affair (cuda_build/graphs.cpp); work on these
   streams is done as ever, and the host cannot wait for it. */
static uint64_t capture, last_capture; /* `capture` is 0 where there is none */
static const struct Context *captured_context;
static int is_capture_invalid;

void devsan_standin_begin_capture(void *handle) {
  struct Stream *stream = streamOf(handle);
  if (!stream)
    return;
  pthread_mutex_lock(&lock);
  capture = stream->capture = ++last_capture;
  captured_context = stream->context;
  is_capture_invalid = 0;
  pthread_mutex_unlock(&lock);
}

int devsan_standin_end_capture(void) {
  pthread_mutex_lock(&lock);
  capture = 0;
  captured_context = NULL;
  pthread_mutex_unlock(&lock);
  return !is_capture_invalid;
}

static int isCaptured(uint64_t number) {
  return number != 0 && number == __atomic_load_n(&capture, __ATOMIC_RELAXED);
}

int devsan_standin_is_capturing(void *handle, uint64_t *number) {
  const struct Stream *stream = streamOf(handle);
  const int is_captured = stream && isCaptured(stream->capture);
  *number = is_captured ? stream->capture : 0;
  return is_captured ? 1 + is_capture_invalid : 0;
}

/* What waits for captured work ends the capture. */
static int refuseWait(int is_captured) {
  if (is_captured)
    is_capture_invalid = 1;
  return is_captured ? kCaptureUnsupported : kSuccess;
}

static uint64_t doneOf(struct Context *context) {
  pthread_mutex_lock(&lock);
  uint64_t done = context->legacy.done;
  for (int i = 0; i < context->stream_count; ++i)
    if (context->streams[i]->done > done)
      done = context->streams[i]->done;
  pthread_mutex_unlock(&lock);
  return done;
}

static const struct Memory *find(const void *address) {
  for (const struct Memory *one = memory; one; one = one->next)
    if ((const char *)address >= one->begin && (const char *)address < one->begin + one->size)
      return one;
  return NULL;
}

static int typeOf(const void *address) {
  if (devsanDeviceOf(address) >= 0)
    return kOnDevice;
  pthread_mutex_lock(&lock);
  const struct Memory *one = find(address);
  const int type = one ? one->type : kPageable;
  pthread_mutex_unlock(&lock);
  return type;
}

static void add(char *begin, size_t size, int type, int is_mapped) {
  struct Memory *one = malloc(sizeof *one);
  pthread_mutex_lock(&lock);
  *one = (struct Memory){begin, size, type, current ? current->device : 0, is_mapped, memory};
  memory = one;
  pthread_mutex_unlock(&lock);
}

static int allocate(void **out, size_t size, int type) {
  if (!out || size == 0)
    return kInvalidValue;
  if (!current)
    return kInvalidContext;
  if (type == kOnDevice) {
    *out = devsanTakeDeviceMemory(current->device, size);
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
  pthread_mutex_lock(&lock);
  struct Memory **link = &memory;
  while (*link && (*link)->begin != address)
    link = &(*link)->next;
  struct Memory *one = *link;
  if (one)
    *link = one->next;
  pthread_mutex_unlock(&lock);
  if (!one)
    return kInvalidValue;
  if (one->is_mapped)
    munmap(one->begin, one->size);
  free(one);
  return kSuccess;
}

static int releaseWhenIdle(const void *address) {
  if (address && current)
    waitUntil(doneOf(current));
  return release(address);
}

static const char *placeOf(const void *address, int type, char text[16]) {
  if (type < kOnDevice)
    return type == kPinned ? "pinned" : "pageable";
  snprintf(text, 16, "cuda:%d", devsanDeviceOf(address));
  return text;
}

/* Lets the host wait as CUDA does: always for a copy that is not in a stream's order, else where
   one side is pageable. */
static int copyRows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                    size_t rows, struct Stream *stream, int is_async) {
  if (!current)
    return kInvalidContext;
  if ((!to || !from) && width * rows)
    return kInvalidValue;
  for (size_t i = 0; i < rows; ++i)
    memmove((char *)devsanReach(to) + i * to_pitch, (char *)devsanReach(from) + i * from_pitch,
            width);
  const int to_type = typeOf(to), from_type = typeOf(from);
  const int between_devices = to_type >= kOnDevice && from_type >= kOnDevice;
  const int waits = is_async ? to_type == kPageable || from_type == kPageable : !between_devices;
  char from_text[16], to_text[16];
  devsan_standin_note("copy %s %s %zu%s", placeOf(from, from_type, from_text),
                      placeOf(to, to_type, to_text), width * rows, waits ? " wait" : "");
  issue(stream, copyTime(width * rows));
  if (!waits)
    return kSuccess;
  waitUntil(stream->done);
  return refuseWait(isCaptured(stream->capture));
}

static int copy(void *to, const void *from, size_t bytes, void *stream, int is_async) {
  return copyRows(to, 0, from, 0, bytes, 1, streamOf(stream), is_async);
}

static void *host(DevSanCudaAddress address) {
  return (void *)(uintptr_t)address;
}

static void uuidOf(int device, unsigned char *uuid) {
  memset(uuid, 0, 16);
  memcpy(uuid, "DevSan", 6);
  uuid[15] = (unsigned char)physical[device];
}

/* CUDA_VISIBLE_DEVICES, as CUDA's driver reads it: the list ends before the first entry that names
   no device, and one that is named twice hides them all. What follows a number is ignored. */
static void readVisibleDevices(void) {
  const char *text = getenv("CUDA_VISIBLE_DEVICES");
  device_count = 0;
  for (int i = 0; !text && i < machine_devices; ++i)
    physical[device_count++] = i;
  while (text && *text) {
    char *end;
    long device = -1;
    unsigned by_uuid;
    text += strspn(text, " \t");
    if (sscanf(text, "GPU-44657653-616e-0000-0000-00000000%4x", &by_uuid) == 1)
      device = (long)by_uuid;
    else if ((device = strtol(text, &end, 10)), end == text)
      device = -1;
    if (device < 0 || device >= machine_devices)
      return;
    for (int i = 0; i < device_count; ++i)
      if (physical[i] == device) {
        device_count = 0;
        return;
      }
    physical[device_count++] = (int)device;
    text = strchrnul(text, ',');
    text += *text == ',';
  }
}

static void enterChild(void) {
  pthread_mutex_init(&lock, NULL);
  devsanLoseArena();
  is_child = 1;
}

static pthread_once_t memory_once = PTHREAD_ONCE_INIT, devices_once = PTHREAD_ONCE_INIT;

static void makeMemory(void) {
  const char *simulated = getenv("DEVSAN_SIM_DEVICES"), *text = getenv("DEVSAN_STANDIN_DEVICES");
  const char *protect = getenv("DEVSAN_SIM_PROTECT"), *size = getenv("DEVSAN_SIM_MEMORY");
  is_simulated = simulated && *simulated;
  if (is_simulated)
    text = simulated;
  machine_devices = text && *text ? atoi(text) : 2;
  if (machine_devices > kMaxDevices)
    machine_devices = kMaxDevices;
  if (is_simulated) {
    memory_of_device = size && *size
                           ? strtoull(size, NULL, 10)
                           : (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    pthread_atfork(NULL, NULL, enterChild);
  }
  devsanMakeArena(machine_devices, memory_of_device,
                  is_simulated && protect && strcmp(protect, "on") == 0);
}

/* At the first use of a device, as CUDA's driver does: programs choose theirs after they have
   loaded LibTorch. */
static void countDevices(void) {
  if (is_simulated)
    return readVisibleDevices();
  for (device_count = 0; device_count < machine_devices; ++device_count)
    physical[device_count] = device_count;
}

const DevSanStandinMemory *devsan_standin_memory(void) {
  pthread_once(&memory_once, makeMemory);
  return devsanArena();
}

int cuInit(unsigned flags) {
  if (flags)
    return kInvalidValue;
  /* Nothing is lost in a child of a process that has not used the devices. */
  if (is_child && is_initialized)
    return kNotInitialized;
  pthread_once(&memory_once, makeMemory);
  pthread_once(&devices_once, countDevices);
  is_initialized = 1;
  return kSuccess;
}

/* For the runtime's stand-in. */
int devsan_standin_is_simulated(void) {
  pthread_once(&memory_once, makeMemory);
  return is_simulated;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == kSuccess ? "no error"
          : error == kDevSanCudaNotSupported && devsan_standin_refused()
              ? devsan_standin_refused()
              : "an error of the simulated CUDA driver";
  return kSuccess;
}

int cuGetErrorName(int error, const char **text) {
  *text = error == kSuccess ? "CUDA_SUCCESS" : "CUDA_ERROR_NOT_SUPPORTED";
  return kSuccess;
}

/* NVRTC asks for a table of its own, and takes a driver without this function for one with it. */
int cuGetExportTable(const void **table, const void *id) {
  (void)id;
  *table = NULL;
  return kNotFound;
}

#define DEVSAN_REFUSE(name, what)                                                                  \
  int name(void);                                                                                  \
  int name(void) {                                                                                 \
    return devsan_standin_refuse(what " (" #name ")");                                             \
  }
DEVSAN_REFUSE(cuLinkCreate_v2, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuLinkAddData_v2, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuLinkComplete, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuFuncSetAttribute, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuFuncSetCacheConfig, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cuTensorMapEncodeTiled, "tensor maps of GPU kernels")

/* What c10_cuda looks up before it needs any of it. */
#define DEVSAN_LOOKED_UP(X)                                                                        \
  X(cuMemAddressFree, "memory that the program maps itself")                                       \
  X(cuMemAddressReserve, "memory that the program maps itself")                                    \
  X(cuMemCreate, "memory that the program maps itself")                                            \
  X(cuMemExportToShareableHandle, "memory that the program maps itself")                           \
  X(cuMemGetAddressRange_v2, "memory that the program maps itself")                                \
  X(cuMemGetAllocationGranularity, "memory that the program maps itself")                          \
  X(cuMemGetAllocationPropertiesFromHandle, "memory that the program maps itself")                 \
  X(cuMemImportFromShareableHandle, "memory that the program maps itself")                         \
  X(cuMemMap, "memory that the program maps itself")                                               \
  X(cuMemRelease, "memory that the program maps itself")                                           \
  X(cuMemRetainAllocationHandle, "memory that the program maps itself")                            \
  X(cuMemSetAccess, "memory that the program maps itself")                                         \
  X(cuMulticastAddDevice, "multicast memory")                                                      \
  X(cuMulticastBindMem, "multicast memory")                                                        \
  X(cuMulticastCreate, "multicast memory")                                                         \
  X(cuMulticastUnbind, "multicast memory")                                                         \
  X(cuCtxFromGreenCtx, "green contexts")                                                           \
  X(cuDevResourceGenerateDesc, "green contexts")                                                   \
  X(cuDevSmResourceSplitByCount, "green contexts")                                                 \
  X(cuDeviceGetDevResource, "green contexts")                                                      \
  X(cuGreenCtxCreate, "green contexts")                                                            \
  X(cuGreenCtxDestroy, "green contexts")                                                           \
  X(cuGreenCtxStreamCreate, "green contexts")                                                      \
  X(cuLogsRegisterCallback, "the driver's log")                                                    \
  X(cuLogsUnregisterCallback, "the driver's log")                                                  \
  X(cuStreamWriteValue32_v2, "writes to memory in a stream's order")
DEVSAN_LOOKED_UP(DEVSAN_REFUSE)

/* In tests of the runtime, kernels that are loaded from code do nothing, as all others. */
static char loaded;
#define DEVSAN_FROM_CODE(name, type, value)                                                        \
  int name(type *out);                                                                             \
  int name(type *out) {                                                                            \
    if (devsan_standin_is_simulated())                                                             \
      return devsan_standin_refuse("GPU kernels that are loaded from code (" #name ")");           \
    *out = value;                                                                                  \
    return kSuccess;                                                                               \
  }
DEVSAN_FROM_CODE(cuModuleLoad, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleLoadData, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleLoadDataEx, void *, &loaded)
DEVSAN_FROM_CODE(cuModuleGetFunction, void *, &loaded)
DEVSAN_FROM_CODE(cuFuncGetAttribute, int, 0)
DEVSAN_FROM_CODE(cuOccupancyMaxActiveBlocksPerMultiprocessor, int, 2)

int cuDeviceGetUuid(void *out, int device) {
  if (device < 0 || device >= device_count)
    return kInvalidDevice;
  uuidOf(device, out);
  return kSuccess;
}

int cuDeviceGetUuid_v2(void *out, int device) {
  return cuDeviceGetUuid(out, device);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  if (device < 0 || device >= device_count)
    return kInvalidDevice;
  *bytes = memory_of_device;
  return kSuccess;
}

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return kSuccess;
}

int cuDeviceGetCount(int *count) {
  if (!is_initialized)
    return kNotInitialized;
  *count = device_count;
  return kSuccess;
}

int cuDeviceGet(int *out, int device) {
  if (!is_initialized)
    return kNotInitialized;
  if (device < 0 || device >= device_count)
    return kInvalidDevice;
  *out = device;
  return kSuccess;
}

static int isDevice(int device) {
  return device >= 0 && device < device_count;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  static const int kLargestBlock[] = {1024, 1024, 64};
  static const int kLargestGrid[] = {2147483647, 65535, 65535};
  if (!isDevice(device))
    return kInvalidDevice;
  switch (attribute) {
  case 1:
    *value = kThreadsPerBlock;
    return kSuccess;
  case 2:
  case 3:
  case 4:
    *value = kLargestBlock[attribute - 2];
    return kSuccess;
  case 5:
  case 6:
  case 7:
    *value = kLargestGrid[attribute - 5];
    return kSuccess;
  case 8:
    *value = kSharedPerBlock;
    return kSuccess;
  case 10:
    *value = kWarp;
    return kSuccess;
  case 16:
    *value = kProcessors;
    return kSuccess;
  case 39:
    *value = kThreadsPerProcessor;
    return kSuccess;
  case 75:
    *value = kMajor;
    return kSuccess;
  case 76:
    *value = kMinor;
    return kSuccess;
  case 81:
    *value = kSharedPerProcessor;
    return kSuccess;
  case 97:
    *value = kSharedPerBlockOptIn;
    return kSuccess;
  default:
    *value = 0;
    return kSuccess;
  }
}

int cuDevicePrimaryCtxRetain(void **out, int device) {
  devsan_standin_count("cuDevicePrimaryCtxRetain");
  if (!is_initialized)
    return kNotInitialized;
  if (!isDevice(device))
    return kInvalidDevice;
  pthread_mutex_lock(&lock);
  if (!primary[device]) {
    primary[device] = calloc(1, sizeof **primary);
    primary[device]->device = device;
    primary[device]->legacy.context = primary[device];
  }
  ++primary_uses[device];
  *out = primary[device];
  pthread_mutex_unlock(&lock);
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (!isDevice(device))
    return kInvalidDevice;
  pthread_mutex_lock(&lock);
  if (primary_uses[device])
    --primary_uses[device];
  pthread_mutex_unlock(&lock);
  return kSuccess;
}

int cuDevicePrimaryCtxReset_v2(int device) {
  if (!isDevice(device))
    return kInvalidDevice;
  if (primary[device])
    waitUntil(doneOf(primary[device]));
  pthread_mutex_lock(&lock);
  primary_uses[device] = 0;
  pthread_mutex_unlock(&lock);
  return kSuccess;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (!isDevice(device))
    return kInvalidDevice;
  *flags = 0;
  *active = primary_uses[device] > 0;
  return kSuccess;
}

static int createContext(void **out, int device) {
  if (!isDevice(device))
    return kInvalidDevice;
  struct Context *context = calloc(1, sizeof *context);
  context->device = device;
  context->legacy.context = context;
  current = *out = context;
  return kSuccess;
}

int cuCtxCreate_v2(void **out, unsigned flags, int device) {
  (void)flags;
  devsan_standin_count("cuCtxCreate_v2");
  return createContext(out, device);
}

int cuCtxCreate_v3(void **out, void *affinity, int count, unsigned flags, int device) {
  (void)affinity, (void)count, (void)flags;
  devsan_standin_count("cuCtxCreate_v3");
  return createContext(out, device);
}

int cuCtxCreate_v4(void **out, void *parameters, unsigned flags, int device) {
  (void)parameters, (void)flags;
  devsan_standin_count("cuCtxCreate_v4");
  return createContext(out, device);
}

int cuCtxDestroy_v2(void *context) {
  if (current == context)
    current = NULL;
  return kSuccess;
}

int cuCtxSetCurrent(void *context) {
  current = context;
  return kSuccess;
}

int cuCtxGetCurrent(void **out) {
  *out = current;
  return kSuccess;
}

int cuCtxPushCurrent_v2(void *context) {
  if (stack_size == sizeof stack / sizeof *stack)
    return kInvalidValue;
  stack[stack_size++] = current;
  current = context;
  return kSuccess;
}

int cuCtxPopCurrent_v2(void **out) {
  if (out)
    *out = current;
  if (stack_size == 0)
    return kInvalidContext;
  current = stack[--stack_size];
  return kSuccess;
}

int cuCtxGetDevice(int *out) {
  if (!current)
    return kInvalidContext;
  *out = current->device;
  return kSuccess;
}

int cuCtxSynchronize(void) {
  devsan_standin_count("cuCtxSynchronize");
  devsan_standin_note("wait device");
  if (!current)
    return kInvalidContext;
  waitUntil(doneOf(current));
  return refuseWait(current == captured_context);
}

int cuCtxSynchronize_v2(void *context) {
  devsan_standin_count("cuCtxSynchronize_v2");
  devsan_standin_note("wait device");
  waitUntil(doneOf(context));
  return kSuccess;
}

int cuPointerGetAttribute(void *out, int attribute, DevSanCudaAddress address) {
  enum { kContext = 1, kMemoryType = 2, kIsManaged = 8, kOrdinal = 9 };
  const void *begin;
  size_t size;
  int type = 0, device = devsanDeviceOf(host(address));
  if (device >= 0) {
    if (devsanArena()->find(host(address), &begin, &size))
      type = kOnDevice;
  } else {
    pthread_mutex_lock(&lock);
    const struct Memory *one = find(host(address));
    type = one ? one->type : 0;
    device = one ? one->device : -1;
    pthread_mutex_unlock(&lock);
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
  if (!current)
    return kInvalidContext;
  const size_t used = devsanUsedDeviceMemory(current->device);
  *total = memory_of_device;
  *free_bytes = used < memory_of_device ? memory_of_device - used : 0;
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
  if (current)
    waitUntil(doneOf(current));
  return allocate(out, size, kPinned);
}

int cuMemHostAlloc(void **out, size_t size, unsigned flags) {
  (void)flags;
  devsan_standin_count("cuMemHostAlloc");
  if (current)
    waitUntil(doneOf(current));
  return allocate(out, size, kPinned);
}

int cuMemHostRegister_v2(void *address, size_t size, unsigned flags) {
  (void)flags;
  devsan_standin_count("cuMemHostRegister_v2");
  if (typeOf(address) != kPageable)
    return 712; /* already registered */
  add(address, size, kPinned, 0);
  return kSuccess;
}

int cuMemHostUnregister(void *address) {
  devsan_standin_count("cuMemHostUnregister");
  return releaseWhenIdle(address);
}

int cuMemFree_v2(DevSanCudaAddress address) {
  devsan_standin_count("cuMemFree_v2");
  return releaseWhenIdle(host(address));
}

int cuMemFreeHost(void *address) {
  devsan_standin_count("cuMemFreeHost");
  return releaseWhenIdle(address);
}

int cuMemFreeAsync(DevSanCudaAddress address, void *stream) {
  (void)stream;
  return release(host(address));
}

int cuMemcpy(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpy");
  return copy(host(to), host(from), bytes, NULL, 0);
}

int cuMemcpyHtoD_v2(DevSanCudaAddress to, const void *from, size_t bytes) {
  devsan_standin_count("cuMemcpyHtoD_v2");
  return copy(host(to), from, bytes, NULL, 0);
}

int cuMemcpyDtoH_v2(void *to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpyDtoH_v2");
  return copy(to, host(from), bytes, NULL, 0);
}

int cuMemcpyDtoD_v2(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpyDtoD_v2");
  return copy(host(to), host(from), bytes, NULL, 0);
}

int cuMemcpyPeer(DevSanCudaAddress to, void *to_context, DevSanCudaAddress from, void *from_context,
                 size_t bytes) {
  (void)to_context, (void)from_context;
  devsan_standin_count("cuMemcpyPeer");
  return copy(host(to), host(from), bytes, NULL, 0);
}

int cuMemcpyAsync(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyAsync");
  return copy(host(to), host(from), bytes, stream, 1);
}

int cuMemcpyHtoDAsync_v2(DevSanCudaAddress to, const void *from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyHtoDAsync_v2");
  return copy(host(to), from, bytes, stream, 1);
}

int cuMemcpyDtoHAsync_v2(void *to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyDtoHAsync_v2");
  return copy(to, host(from), bytes, stream, 1);
}

int cuMemcpyDtoDAsync_v2(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyDtoDAsync_v2");
  return copy(host(to), host(from), bytes, stream, 1);
}

int cuMemcpyPeerAsync(DevSanCudaAddress to, void *to_context, DevSanCudaAddress from,
                      void *from_context, size_t bytes, void *stream) {
  (void)to_context, (void)from_context;
  devsan_standin_count("cuMemcpyPeerAsync");
  return copy(host(to), host(from), bytes, stream, 1);
}

static int copy2D(const DevSanDriverCopy2D *call, void *stream, int is_async) {
  char *to = call->to_type == kDevSanDriverHost ? call->to_host : host(call->to_device);
  const char *from =
      call->from_type == kDevSanDriverHost ? call->from_host : host(call->from_device);
  return copyRows(to + call->to_y * call->to_pitch + call->to_x, call->to_pitch,
                  from + call->from_y * call->from_pitch + call->from_x, call->from_pitch,
                  call->width, call->height, streamOf(stream), is_async);
}

int cuMemcpy2D_v2(const DevSanDriverCopy2D *call) {
  devsan_standin_count("cuMemcpy2D_v2");
  return copy2D(call, NULL, 0);
}

int cuMemcpy2DUnaligned_v2(const DevSanDriverCopy2D *call) {
  devsan_standin_count("cuMemcpy2DUnaligned_v2");
  return copy2D(call, NULL, 0);
}

int cuMemcpy2DAsync_v2(const DevSanDriverCopy2D *call, void *stream) {
  devsan_standin_count("cuMemcpy2DAsync_v2");
  return copy2D(call, stream, 1);
}

static int set(DevSanCudaAddress to, const void *value, size_t size, size_t pitch, size_t width,
               size_t height, void *stream, int is_async) {
  if (!current)
    return kInvalidContext;
  if (size == 1)
    for (size_t y = 0; y < height; ++y)
      memset((char *)devsanReach(host(to)) + y * pitch, *(const unsigned char *)value, width);
  for (size_t y = 0; size > 1 && y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      memcpy((char *)devsanReach(host(to)) + y * pitch + x * size, value, size);
  issue(streamOf(stream), copyTime(size * width * height));
  if (!is_async && typeOf(host(to)) < kOnDevice)
    waitUntil(streamOf(stream)->done);
  return kSuccess;
}

#define DEVSAN_DEFINE_SET(bits, type)                                                              \
  int cuMemsetD##bits##_v2(DevSanCudaAddress to, type value, size_t count) {                       \
    devsan_standin_count("cuMemsetD" #bits "_v2");                                                 \
    return set(to, &value, sizeof value, 0, count, 1, NULL, 0);                                    \
  }                                                                                                \
  int cuMemsetD##bits##Async(DevSanCudaAddress to, type value, size_t count, void *stream) {       \
    devsan_standin_count("cuMemsetD" #bits "Async");                                               \
    return set(to, &value, sizeof value, 0, count, 1, stream, 1);                                  \
  }                                                                                                \
  int cuMemsetD2D##bits##_v2(DevSanCudaAddress to, size_t pitch, type value, size_t width,         \
                             size_t height) {                                                      \
    devsan_standin_count("cuMemsetD2D" #bits "_v2");                                               \
    return set(to, &value, sizeof value, pitch, width, height, NULL, 0);                           \
  }                                                                                                \
  int cuMemsetD2D##bits##Async(DevSanCudaAddress to, size_t pitch, type value, size_t width,       \
                               size_t height, void *stream) {                                      \
    devsan_standin_count("cuMemsetD2D" #bits "Async");                                             \
    return set(to, &value, sizeof value, pitch, width, height, stream, 1);                         \
  }
DEVSAN_DEFINE_SET(8, unsigned char)
DEVSAN_DEFINE_SET(16, unsigned short)
DEVSAN_DEFINE_SET(32, unsigned)

int cuStreamCreate(void **out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}

int cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  (void)flags, (void)priority;
  if (!current)
    return kInvalidContext;
  struct Stream *stream = calloc(1, sizeof *stream);
  stream->context = current;
  pthread_mutex_lock(&lock);
  const int has_room = current->stream_count < 256;
  if (has_room)
    current->streams[current->stream_count++] = stream;
  pthread_mutex_unlock(&lock);
  if (!has_room) {
    free(stream);
    return kOutOfMemory;
  }
  *out = stream;
  return kSuccess;
}

int cuStreamDestroy_v2(void *handle) {
  struct Stream *stream = handle;
  if (!stream)
    return kInvalidHandle;
  pthread_mutex_lock(&lock);
  struct Context *context = stream->context;
  for (int i = 0; i < context->stream_count; ++i)
    if (context->streams[i] == stream)
      context->streams[i] = context->streams[--context->stream_count];
  pthread_mutex_unlock(&lock);
  free(stream);
  return kSuccess;
}

int cuStreamSynchronize(void *handle) {
  devsan_standin_count("cuStreamSynchronize");
  devsan_standin_note("wait stream");
  struct Stream *stream = streamOf(handle);
  if (!stream)
    return kInvalidContext;
  waitUntil(stream->done);
  return refuseWait(isCaptured(stream->capture));
}

int cuStreamQuery(void *handle) {
  devsan_standin_count("cuStreamQuery");
  struct Stream *stream = streamOf(handle);
  if (!stream)
    return kInvalidContext;
  return stream->done > now() ? kNotReady : kSuccess;
}

int cuStreamWaitEvent(void *handle, void *event, unsigned flags) {
  (void)flags;
  struct Stream *stream = streamOf(handle);
  if (!stream || !event)
    return kInvalidHandle;
  pthread_mutex_lock(&lock);
  if (((struct Event *)event)->done > stream->done)
    stream->done = ((struct Event *)event)->done;
  if (isCaptured(((struct Event *)event)->capture))
    stream->capture = capture;
  pthread_mutex_unlock(&lock);
  return kSuccess;
}

int cuEventCreate(void **out, unsigned flags) {
  (void)flags;
  if (!current)
    return kInvalidContext;
  struct Event *event = calloc(1, sizeof *event);
  event->context = current;
  *out = event;
  return kSuccess;
}

int cuEventRecord(void *handle, void *stream_handle) {
  struct Event *event = handle;
  struct Stream *stream = streamOf(stream_handle);
  if (!event || !stream)
    return kInvalidHandle;
  event->done = stream->done;
  event->capture = stream->capture;
  event->is_recorded = 1;
  return kSuccess;
}

int cuEventSynchronize(void *handle) {
  devsan_standin_count("cuEventSynchronize");
  devsan_standin_note("wait event");
  if (!handle)
    return kInvalidHandle;
  waitUntil(((struct Event *)handle)->done);
  return refuseWait(isCaptured(((struct Event *)handle)->capture));
}

int cuEventQuery(void *handle) {
  devsan_standin_count("cuEventQuery");
  if (!handle)
    return kInvalidHandle;
  return ((struct Event *)handle)->done > now() ? kNotReady : kSuccess;
}

int cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  const struct Event *from = first, *to = second;
  if (!from || !to || !from->is_recorded || !to->is_recorded)
    return kInvalidHandle;
  *milliseconds = (float)((double)to->done - (double)from->done) / 1e6f;
  return kSuccess;
}

int cuEventDestroy_v2(void *event) {
  free(event);
  return event ? kSuccess : kInvalidHandle;
}

/* Of memory and of events, which are done when they are recorded. */
struct IpcHandle {
  char name[8];
  DevSanSharedMemory memory;
};
_Static_assert(sizeof(struct IpcHandle) <= sizeof(DevSanCudaIpcHandle), "fits into CUDA's handle");
static const char kMemoryHandle[8] = "memory", kEventHandle[8] = "event";

static void writeHandle(DevSanCudaIpcHandle *out, const char *name, DevSanSharedMemory memory) {
  struct IpcHandle handle = {.memory = memory};
  memcpy(handle.name, name, sizeof handle.name);
  memset(out, 0, sizeof *out);
  memcpy(out, &handle, sizeof handle);
}

/* Of another process; a process opens no handle of its own. */
static int readHandle(const DevSanCudaIpcHandle *in, const char *name, DevSanSharedMemory *memory) {
  struct IpcHandle handle;
  memcpy(&handle, in, sizeof handle);
  *memory = handle.memory;
  if (memcmp(handle.name, name, sizeof handle.name) != 0)
    return kInvalidValue;
  return current && handle.memory.process != getpid() ? kSuccess : kInvalidContext;
}

int cuIpcGetMemHandle(DevSanCudaIpcHandle *out, DevSanCudaAddress address) {
  DevSanSharedMemory memory;
  if (devsanDeviceOf(host(address)) < 0)
    return kInvalidValue;
  if (!devsanShareDeviceMemory(host(address), &memory))
    return devsan_standin_refuse("device memory shared between processes with --sim-protect=off "
                                 "(cuIpcGetMemHandle)");
  writeHandle(out, kMemoryHandle, memory);
  return kSuccess;
}

int cuIpcOpenMemHandle_v2(DevSanCudaAddress *out, DevSanCudaIpcHandle handle, unsigned flags) {
  (void)flags;
  DevSanSharedMemory memory;
  const int error = readHandle(&handle, kMemoryHandle, &memory);
  if (error)
    return error;
  *out = (uintptr_t)devsanMapDeviceMemory(current->device, &memory);
  return *out ? kSuccess : kInvalidHandle;
}

int cuIpcCloseMemHandle(DevSanCudaAddress address) {
  devsan_standin_count("cuIpcCloseMemHandle");
  return devsanUnmapDeviceMemory(host(address)) ? kSuccess : kInvalidValue;
}

int cuIpcGetEventHandle(DevSanCudaIpcHandle *out, void *event) {
  if (!event)
    return kInvalidHandle;
  writeHandle(out, kEventHandle, (DevSanSharedMemory){.process = getpid()});
  return kSuccess;
}

int cuIpcOpenEventHandle(void **out, DevSanCudaIpcHandle handle) {
  DevSanSharedMemory none;
  const int error = readHandle(&handle, kEventHandle, &none);
  return error ? error : cuEventCreate(out, 0);
}

static const struct DevSanStandinKernel *described(const void *handle) {
  const struct DevSanStandinKernel *kernel = handle;
  return kernel && kernel->magic == kDevSanStandinKernel ? kernel : NULL;
}

int cuFuncGetName(const char **name, const void *handle) {
  const struct DevSanStandinKernel *kernel = described(handle);
  if (!kernel)
    return kInvalidHandle;
  *name = kernel->name;
  return kSuccess;
}

int cuKernelGetName(const char **name, const void *handle) {
  return cuFuncGetName(name, handle);
}

int cuFuncGetParamInfo(const void *handle, size_t index, size_t *offset, size_t *size) {
  const struct DevSanStandinKernel *kernel = described(handle);
  if (!kernel)
    return kInvalidHandle;
  if (index >= kDevSanStandinMaxParameters || kernel->sizes[index] == 0)
    return kInvalidValue;
  *offset = 0;
  for (size_t i = 0; i < index; ++i)
    *offset += (kernel->sizes[i] + 7) / 8 * 8;
  *size = kernel->sizes[index];
  return kSuccess;
}

int cuKernelGetParamInfo(const void *handle, size_t index, size_t *offset, size_t *size) {
  return cuFuncGetParamInfo(handle, index, offset, size);
}

static int launch(const void *kernel, void *handle) {
  struct Stream *stream = streamOf(handle);
  if (!stream)
    return kInvalidContext;
  if (stream->context != current)
    return kInvalidHandle;
  /* The runtime's stand-in runs those that it has described. */
  if (is_simulated && !described(kernel))
    return devsan_standin_refuse("kernels of the driver's interface");
  issue(stream, kernelTime());
  return kSuccess;
}

int cuLaunchKernel(const void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_memory,
                   void *stream, void **arguments, void **packed) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
  (void)block_z, (void)shared_memory, (void)arguments, (void)packed;
  devsan_standin_count("cuLaunchKernel");
  return launch(kernel, stream);
}

int cuLaunchKernelEx(const DevSanDriverLaunch *call, const void *kernel, void **arguments,
                     void **packed) {
  (void)arguments, (void)packed;
  devsan_standin_count("cuLaunchKernelEx");
  return launch(kernel, call->stream);
}

int cuLaunchCooperativeKernel(const void *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                              unsigned block_x, unsigned block_y, unsigned block_z,
                              unsigned shared_memory, void *stream, void **arguments) {
  (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y;
  (void)block_z, (void)shared_memory, (void)arguments;
  devsan_standin_count("cuLaunchCooperativeKernel");
  return launch(kernel, stream);
}

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
