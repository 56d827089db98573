/* What one process lends to another: memory and events. */
#include "runtime/cuda/standin/driver/driver.h"

#include <string.h>
#include <unistd.h>

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
  return devsanCurrent && handle.memory.process != getpid() ? kSuccess : kInvalidContext;
}

int cuIpcGetMemHandle(DevSanCudaIpcHandle *out, DevSanCudaAddress address) {
  DevSanSharedMemory memory;
  if (devsanDeviceOf(devsanHost(address)) < 0)
    return kInvalidValue;
  if (!devsanShareDeviceMemory(devsanHost(address), &memory))
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
  *out = (uintptr_t)devsanMapDeviceMemory(devsanCurrent->device, &memory);
  return *out ? kSuccess : kInvalidHandle;
}

int cuIpcCloseMemHandle(DevSanCudaAddress address) {
  devsan_standin_count("cuIpcCloseMemHandle");
  return devsanUnmapDeviceMemory(devsanHost(address)) ? kSuccess : kInvalidValue;
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
