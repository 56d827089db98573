/* What the shim (runtime/preload) tells of a call of CUDA, and to whom. Plain C, because the shim
   links libc alone and the runtime is C++; both are built from the same tree, so the layout carries
   no version. The shim calls the observer on the program's thread, before and after the real
   function, for the outermost call only: what CUDA does inside of its own functions, and what the
   observer itself calls, is not told. */
#ifndef DEVSAN_RUNTIME_CUDA_CALLS_H
#define DEVSAN_RUNTIME_CUDA_CALLS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a function does, the last column but one of entry_points.txt. */
typedef enum {
  kDevSanCudaCopy,         /* copies; the host waits unless both sides are on devices */
  kDevSanCudaCopyAsync,    /* copies; the host waits where a side is pageable memory, but for
                              small uploads (runtime/protocol/staged_upload.h) */
  kDevSanCudaSet,          /* sets memory; the host waits where that is on the host */
  kDevSanCudaWait,         /* the host waits for a device, a stream or an event */
  kDevSanCudaQuery,        /* asks whether a stream or an event is done */
  kDevSanCudaAllocate,     /* device memory; does not wait for the device's work */
  kDevSanCudaAllocateHost, /* pinned memory: waits for the device */
  kDevSanCudaRelease,      /* of memory: waits for the device */
  kDevSanCudaDevice,       /* makes a device current, which may make a context */
  kDevSanCudaContext,      /* makes a context */
  kDevSanCudaLaunch,       /* launches a kernel */
  kDevSanCudaPlain         /* none of these: the stand-in has it, the shim does not */
} DevSanCudaClass;

/* An array's or a symbol's memory, which has no address for the host. */
#define DEVSAN_CUDA_ON_DEVICE ((const void *)(uintptr_t)-1)

typedef struct {
  const char *name;
  DevSanCudaClass call_class;
  int is_driver;
  /* A null stream means the thread's own default stream. */
  int is_per_thread;
  int result; /* 0 is success, 600 not ready */

  const void *to;
  const void *from;
  uint64_t bytes;
  int kind; /* 0 host to host, 1 host to device, 2 device to host, 3 device to device; else by
               address */
  /* Of a copy between named devices, and of an allocation, else -1. */
  int to_device;
  int from_device;

  const void *stream;
  const void *object;     /* what is asked or waited for: an event, a stream */
  const void *kernel;     /* a handle, or the host's address for it */
  void *const *arguments; /* of the kernel: one address each; null where they are packed */

  const void *caller; /* where the program goes on */
  uint64_t begin_ns;  /* for the observer */
} DevSanCudaCall;

typedef struct {
  void (*enter)(DevSanCudaCall *call); /* not for launches */
  void (*leave)(DevSanCudaCall *call);
} DevSanCudaObserver;

enum { kDevSanCudaNotReady = 600, kDevSanCudaNotSupported = 801 };

/* Exported by the shim; found by dlsym, because the runtime also runs without it. */
typedef void (*DevSanObserveCuda)(
    const DevSanCudaObserver *observer); /* devsan_preload_observe_cuda */
/* CUDA's own function of that name, null where no library has brought it. */
typedef void *(*DevSanRealCuda)(const char *name); /* devsan_preload_real_cuda */

#ifdef __cplusplus
}
#endif

#endif
