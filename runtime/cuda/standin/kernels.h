/* The program's GPU kernels in the stand-in of CUDA's runtime: what simulated devices know of them,
   and what a launch does. Any thread. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_KERNELS_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_KERNELS_H

#include "runtime/cuda/standin/standin.h"
#include "runtime/cuda/standin/stream_order.h"
#include "runtime/cuda/types.h"

/* As compiled code registers them: the host's function that stands for one, and its mangled name,
   which lives as long as its library. */
void devsanAddKernel(const void *function, const char *name);

/* The handle by which the driver knows the kernel; NULL where it was not registered. */
const struct DevSanStandinKernel *devsanKernelHandle(const void *function);

typedef struct {
  DevSanCudaDim grid, block;
  size_t shared_memory;
  void *stream;
  void *const *arguments;
  int device;
  int is_cooperative;
} DevSanKernelLaunch;

/* Of dynamic shared memory, what a launch on a device may ask for: as cudaFuncSetAttribute sets it
   there. An error of CUDA's where no device has so much. */
int devsanAllowSharedMemory(const struct DevSanStandinKernel *handle, int device, size_t bytes);
size_t devsanAllowedSharedMemory(const struct DevSanStandinKernel *handle, int device);

/* How many blocks of so many threads, with so much shared memory, a processor of the device holds.
 */
int devsanBlocksPerProcessor(size_t threads, size_t shared_memory);

/* The error of CUDA's that a GPU answers to a grid, a block or a size of shared memory that it does
   not have; says so once. */
int devsanCheckLaunch(const struct DevSanStandinKernel *handle, const DevSanKernelLaunch *launch);

/* Tells that work of a stream uses memory, or just that there was some. */
void devsanReportUse(void *stream, const char *op, const DevSanMemoryUse *uses, size_t count);

/* Runs the kernel's host implementation, where the program has given one (devsan/host_kernel.h).
   Without one it leaves memory as it is, and says so once; PyTorch's own kernels, which nobody
   would expect to do nothing, are refused. */
int devsanLaunch(const struct DevSanStandinKernel *handle, const DevSanKernelLaunch *launch);

#endif
