/* The memory of the stand-in's devices, for the simulator (runtime/sim/cuda_build). One range of
   addresses, an equal part for each device; with protection it is mapped twice, at the addresses
   that the program gets, which no host code may touch, and at a fixed distance for what computes
   and copies. Made when the driver is first used, never given back. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_MEMORY_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  uintptr_t begin;
  uintptr_t size;     /* 0 where there is no room for it */
  uintptr_t distance; /* 0: not protected */
  uintptr_t per_device;
  /* The allocation that the address lies in; 0 where it lies in none. */
  int (*find)(const void *address, const void **begin, size_t *size);
} DevSanStandinMemory;

/* Exported by libcuda.so.1 as devsan_standin_memory. */
const DevSanStandinMemory *devsan_standin_memory(void);

#ifdef __cplusplus
}
#endif

#endif
