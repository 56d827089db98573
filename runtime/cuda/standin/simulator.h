/* The simulated devices of a CPU build of LibTorch, for the stand-ins of CUDA's libraries: there
   compiled extensions call CUDA (runtime/sim/extensions) and LibTorch does not, so devices, memory
   and streams are the simulator's. With a CUDA build it is the other way round: see memory.h. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_SIMULATOR_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_SIMULATOR_H

#include "runtime/cuda/standin/memory.h"
#include "runtime/cuda/standin/stream_order.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  DevSanStandinMemory memory;
  int (*current_device)(void);
  void (*set_current_device)(int device);
  /* On the current device; NULL where its memory does not suffice. */
  void *(*allocate)(size_t bytes);
  /* 0 where no allocation begins there. */
  int (*release)(void *address);
  /* Bytes that the device has left. */
  size_t (*free_memory)(int device);
  /* Whether it is pinned host memory of LibTorch's. */
  int (*is_pinned)(const void *address);
  /* The device of a stream of LibTorch's by its handle; -1 for other handles. */
  int (*device_of_stream)(const void *handle);
  int (*priority_of_stream)(const void *handle);
  /* Copies that have been issued and not arrived, arrive. */
  void (*finish_copies)(void);
  const DevSanStreamOrder *stream_order;
} DevSanSimulator;

/* Exported by libdevsan_sim.so. */
typedef const DevSanSimulator *(*DevSanGetSimulator)(void);
#define DEVSAN_GET_SIMULATOR "devsan_sim_for_cuda"

#ifdef __cplusplus
}
#endif

#endif
