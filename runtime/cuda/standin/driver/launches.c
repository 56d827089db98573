#include "runtime/cuda/standin/driver/driver.h"

#include <stdlib.h>

static uint64_t kernelTime(void) {
  if (devsanDevices.is_simulated)
    return 0;
  const char *text = getenv("DEVSAN_STANDIN_KERNEL_US");
  return 1000u * (text && *text ? strtoull(text, NULL, 10) : 50);
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
  struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  if (stream->context != devsanCurrent)
    return kInvalidHandle;
  /* The runtime's stand-in runs those that it has described. */
  if (devsanDevices.is_simulated && !described(kernel))
    return devsan_standin_refuse("kernels of the driver's interface");
  devsanFinishCopies();
  devsanIssue(stream, kernelTime());
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
