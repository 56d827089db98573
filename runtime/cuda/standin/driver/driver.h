/* What the files of the driver's stand-in share. Everything here is hidden outside of libcuda.so.1.

   The driver stands in for libcuda.so.1 on a machine that has none: devices, contexts, memory in
   the host's, streams, events. The runtime's stand-in (runtime.c) is built on it, as CUDA's runtime
   is on the driver.

   Under `devsan run --sim=N` (DEVSAN_SIM_DEVICES) it is what a CUDA build of LibTorch finds:
   devices as CUDA_VISIBLE_DEVICES shows them, each with the memory of DEVSAN_SIM_MEMORY (bytes),
   which the host cannot touch (DEVSAN_SIM_PROTECT). Work is done when it is issued and takes no
   time; the host implementations of kernels are run by the runtime's stand-in (kernels.h).

   In tests of the runtime, work takes time: when it would be over is a point in time that waits
   wait for, and kernels do nothing but take theirs.
     DEVSAN_STANDIN_DEVICES     how many devices there are, 2 unless said otherwise
     DEVSAN_STANDIN_KERNEL_US   how long a kernel runs, 50 */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_DRIVER_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_DRIVER_H

#include "declarations.h"
#include "runtime/cuda/calls.h"
#include "runtime/cuda/standin/arena.h"
#include "runtime/cuda/standin/standin.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

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
  kAlreadyRegistered = 712,
  kCaptureUnsupported = 900
};

struct Stream {
  struct Context *context;
  void *handle;     /* what the program has; NULL for a default stream */
  int is_blocking;  /* ordered with the default stream, as CUDA orders those made without flags */
  uint64_t done;    /* when what was issued so far is over */
  uint64_t capture; /* the last that it was part of */
  int priority;
};

struct Context {
  int device;
  struct Stream legacy;
  struct Stream *streams[256];
  int stream_count;
};

extern pthread_mutex_t devsanDriverLock;

/* devices.c */
extern struct DevSanDevices {
  int count;
  int is_initialized;
  int is_simulated;
  size_t memory;             /* of each, in bytes */
  int physical[kMaxDevices]; /* the device's number within the machine, by index */
} devsanDevices;
int devsanIsDevice(int device);
/* Exported for the runtime's stand-in; reads the settings. */
int devsan_standin_is_simulated(void);

/* contexts.c: the thread's current one. */
extern __thread struct Context *devsanCurrent;

/* streams.c. Times are those of the monotonic clock, in nanoseconds. */
/* A null stream and the handles 1 and 2 are the default streams; LibTorch's own may be the
   simulator's. */
struct Stream *devsanStreamOf(void *handle);
/* What the simulator lets arrive late, before memory is used that it may go to or come from. */
void devsanFinishCopies(void);
void devsanIssue(struct Stream *stream, uint64_t duration);
void devsanUse(struct Stream *stream, const char *op, const DevSanMemoryUse *uses, size_t count);
void devsanWaitForStream(struct Stream *stream);
void devsanWaitForContext(struct Context *context);
int devsanIsCaptured(uint64_t capture);
int devsanIsContextCaptured(const struct Context *context);
/* What waits for captured work ends the capture. */
int devsanRefuseWait(int is_captured);

/* memory.c */
enum { kPageable = 0, kPinned = 1, kOnDevice = 2, kManaged = 3 };
int devsanTypeOf(const void *address);

static inline void *devsanHost(DevSanCudaAddress address) {
  return (void *)(uintptr_t)address;
}

/* refused.c: what c10_cuda looks up before it needs any of it. */
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

#define DEVSAN_DECLARE(name, what) int name(void);
DEVSAN_LOOKED_UP(DEVSAN_DECLARE)
#undef DEVSAN_DECLARE

#endif
