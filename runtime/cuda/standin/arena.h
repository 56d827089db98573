/* Device memory of the stand-in: addresses and pages. Any thread; the caller holds no lock. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_ARENA_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_ARENA_H

#include "runtime/cuda/standin/memory.h"
#include "runtime/cuda/standin/simulator.h"

/* For `devices` devices of `memory` bytes each; once. `is_protected` as far as the machine lets
   it. Where LibTorch is a CPU build, its simulated devices have their memory already. */
void devsanMakeArena(int devices, size_t memory, int is_protected);

/* Those devices; NULL elsewhere. */
const DevSanSimulator *devsanSimulator(void);

const DevSanStandinMemory *devsanArena(void);

/* On the current device; NULL where it has no room left. */
void *devsanTakeDeviceMemory(int device, size_t size);
/* 0 where no allocation begins there. */
int devsanGiveDeviceMemoryBack(const void *address);
size_t devsanFreeDeviceMemory(int device);

/* The device whose memory it is, allocated or not; -1 for other addresses. */
int devsanDeviceOf(const void *address);
/* Where the bytes at a device's address can be read and written; others stay as they are. */
void *devsanReach(const void *address);

/* What another process needs to map an allocation: the file of the exporting process's devices. */
typedef struct {
  int process, file;
  uint64_t begin, size;
} DevSanSharedMemory;

/* Whether `address` begins an allocation of this process's that others can map: with protection
   alone, because only then there is a file. */
int devsanShareDeviceMemory(const void *address, DevSanSharedMemory *shared);
/* At an address of the device's, though it does not count as this process's; NULL where the other
   process, or its memory, is gone. Given back by devsanUnmapDeviceMemory. */
void *devsanMapDeviceMemory(int device, const DevSanSharedMemory *shared);
/* 0 where nothing was mapped there. */
int devsanUnmapDeviceMemory(const void *address);

/* In a child, which has nothing of its parent's device memory. */
void devsanLoseArena(void);
/* Its own, at the same addresses, before a child's first use of a device where the parent had not
   used any. 0 where there is no room. */
int devsanRemakeArena(void);

#endif
