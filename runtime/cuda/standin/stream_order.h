/* What the driver's stand-in tells whoever follows which stream uses which memory
   (runtime/sim/streams): what is issued on a stream, by which memory, and what orders it after the
   work of other streams. Streams are told by their device and handle, NULL for the default one.
   Called from any thread, with no lock held. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_STREAM_ORDER_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_STREAM_ORDER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel's parameter that points to mutable memory says no more than that it may write. */
enum { kDevSanReads, kDevSanWrites, kDevSanMayWrite };

typedef struct {
  const void *address;
  int access;
} DevSanMemoryUse;

typedef struct {
  /* A stream besides the default ones was made. */
  void (*add_stream)(void);
  /* Work was issued; `op` lives for ever. Addresses that are no device's are left out. */
  void (*use)(int device, const void *stream, const char *op, const DevSanMemoryUse *uses,
              size_t count);
  /* `later` goes on after what `earlier` of the same device has been given. */
  void (*order)(int device, const void *later, const void *earlier);
  /* The host has waited for a stream, for all of a device. */
  void (*finish_stream)(int device, const void *stream);
  void (*finish_device)(int device);
  /* Events: `seen` is what one has seen of its stream, NULL before it has seen any. */
  void (*record)(void **seen, int device, const void *stream);
  void (*wait)(int device, const void *stream, const void *seen);
  void (*finish)(const void *seen);
  void (*forget)(void *seen);
} DevSanStreamOrder;

/* Exported by libcuda.so.1; `order` lives for ever. */
void devsan_standin_follow_streams(const DevSanStreamOrder *order);
/* Exported by libcuda.so.1, for launches: work on `stream` of the current device uses memory. */
void devsan_standin_use(void *stream, const char *op, const DevSanMemoryUse *uses, size_t count);

#ifdef __cplusplus
}
#endif

#endif
