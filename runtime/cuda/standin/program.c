/* What compiled programs ask of CUDA's runtime beyond the entry points that are forwarded: devices'
   properties, their own kernels and variables, pools, peers, captures. Enough for LibTorch's CUDA
   library to start and to run its own host code. Graphs of kernels are refused. */
#define _GNU_SOURCE
#include "runtime/cuda/calls.h"
#include "runtime/cuda/standin/kernels.h"
#include "runtime/cuda/standin/standin.h"
#include "runtime/cuda/types.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSuccess = 0, kInvalidDeviceFunction = 98, kInvalidDevice = 101 };

int cudaGetDevice(int *device);
int cudaGetDeviceCount(int *count);
int cudaDeviceGetAttribute(int *value, int attribute, int device);

static void *driverFunction(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

static int isDevice(int device) {
  int count = 0;
  cudaGetDeviceCount(&count);
  return device >= 0 && device < count;
}

/* The places are those of cudaDeviceProp, which differ between CUDA 12 and 13. */
#if DEVSAN_STANDIN_VERSION >= 13
enum {
  kPropertiesSize = 1008,
  kAtProcessors = 384,
  kAtUnified = 588,
  kAtL2 = 596,
  kAtThreadsPerProcessor = 604,
  kAtSharedPerProcessor = 624,
  kAtRegistersPerProcessor = 632,
  kAtOptIn = 672
};
#else
enum {
  kPropertiesSize = 1032,
  kAtProcessors = 388,
  kAtUnified = 604,
  kAtL2 = 616,
  kAtThreadsPerProcessor = 624,
  kAtSharedPerProcessor = 640,
  kAtRegistersPerProcessor = 648,
  kAtOptIn = 696
};
#endif
enum {
  kAtUuid = 256,
  kAtMemory = 288,
  kAtSharedPerBlock = 296,
  kAtRegistersPerBlock = 304,
  kAtWarp = 308,
  kAtThreadsPerBlock = 320,
  kAtBlock = 324,
  kAtGrid = 336,
  kAtMajor = 360,
  kAtMinor = 364
};

static void putInt(char *properties, int at, int value) {
  memcpy(properties + at, &value, sizeof value);
}

static void putSize(char *properties, int at, size_t value) {
  memcpy(properties + at, &value, sizeof value);
}

int cudaGetDeviceProperties(void *out, int device) {
  if (!isDevice(device))
    return kInvalidDevice;
  char *properties = out;
  memset(properties, 0, kPropertiesSize);
  strcpy(properties, devsanIsSimulated() ? "DevSan simulated GPU" : "DevSan stand-in");
  int (*uuid)(void *, int) = (int (*)(void *, int))driverFunction("cuDeviceGetUuid");
  int (*total)(size_t *, int) = (int (*)(size_t *, int))driverFunction("cuDeviceTotalMem_v2");
  size_t memory = 0;
  if (!uuid || !total || uuid(properties + kAtUuid, device) != kSuccess ||
      total(&memory, device) != kSuccess)
    return kInvalidDevice;
  putSize(properties, kAtMemory, memory);
  putSize(properties, kAtSharedPerBlock, kSharedPerBlock);
  putInt(properties, kAtRegistersPerBlock, kRegisters);
  putInt(properties, kAtWarp, kWarp);
  putInt(properties, kAtThreadsPerBlock, kThreadsPerBlock);
  enum { kBlockX = 2, kGridX = 5 };
  for (int i = 0; i < 3; ++i) {
    int block = 0, grid = 0;
    cudaDeviceGetAttribute(&block, kBlockX + i, device);
    cudaDeviceGetAttribute(&grid, kGridX + i, device);
    putInt(properties, kAtBlock + 4 * i, block);
    putInt(properties, kAtGrid + 4 * i, grid);
  }
  putInt(properties, kAtMajor, kMajor);
  putInt(properties, kAtMinor, kMinor);
  putInt(properties, kAtProcessors, kProcessors);
  putInt(properties, kAtUnified, 1);
  putInt(properties, kAtL2, 40 << 20);
  putInt(properties, kAtThreadsPerProcessor, kThreadsPerProcessor);
  putSize(properties, kAtSharedPerProcessor, kSharedPerProcessor);
  putInt(properties, kAtRegistersPerProcessor, kRegisters);
  putSize(properties, kAtOptIn, kSharedPerBlockOptIn);
  return kSuccess;
}

int cudaGetDeviceProperties_v2(void *out, int device) {
  return cudaGetDeviceProperties(out, device);
}

int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  int (*ask)(int *, int, int) = (int (*)(int *, int, int))driverFunction("cuDeviceGetAttribute");
  return ask ? ask(value, attribute, device) : kInvalidDevice;
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = -5;
  return kSuccess;
}

int cudaDeviceCanAccessPeer(int *can, int device, int peer) {
  /* Not in a simulated run: PyTorch then copies between devices in parts that are no kernels. */
  *can = device != peer && !devsanIsSimulated();
  return kSuccess;
}

int cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  (void)flags;
  return isDevice(peer) ? kSuccess : kInvalidDevice;
}

int cudaDeviceGetPCIBusId(char *text, int size, int device) {
  if (!isDevice(device))
    return kInvalidDevice;
  snprintf(text, (size_t)size, "0000:%02x:00.0", device + 1);
  return kSuccess;
}

int cudaDeviceGetDefaultMemPool(void **pool, int device) {
  static char pools[64];
  *pool = &pools[device & 63];
  return kSuccess;
}

int cudaMemPoolGetAttribute(void *pool, int attribute, void *value) {
  enum { kReleaseThreshold = 4, kUsedMemoryHigh = 8, kMaxPoolSize = 13 };
  (void)pool;
  /* Sizes have 8 bytes, all else is an int. */
  if ((attribute >= kReleaseThreshold && attribute <= kUsedMemoryHigh) || attribute == kMaxPoolSize)
    *(unsigned long long *)value = 0;
  else
    *(int *)value = 0;
  return kSuccess;
}

int cudaMemPoolSetAttribute(void *pool, int attribute, void *value) {
  (void)pool, (void)attribute, (void)value;
  return kSuccess;
}

int cudaMemPoolSetAccess(void *pool, const void *access, size_t count) {
  (void)pool, (void)access, (void)count;
  return kSuccess;
}

int cudaMemPoolTrimTo(void *pool, size_t kept) {
  (void)pool, (void)kept;
  devsan_standin_count("cudaMemPoolTrimTo");
  return kSuccess;
}

/* Of a kernel: places of cudaFuncAttributes. */
int cudaFuncGetAttributes(void *out, const void *kernel) {
  enum { kSize = 144, kAtThreads = 24, kAtRegisters = 28, kAtPtx = 32, kAtBinary = 36 };
  enum { kAtDynamicShared = 44 };
  char *attributes = out;
  memset(attributes, 0, kSize);
  putInt(attributes, kAtThreads, kThreadsPerBlock);
  putInt(attributes, kAtRegisters, 32);
  putInt(attributes, kAtPtx, 10 * kMajor);
  putInt(attributes, kAtBinary, 10 * kMajor);
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() ? devsanKernelHandle(kernel) : NULL;
  int device = 0;
  if (handle && cudaGetDevice(&device) == kSuccess)
    putInt(attributes, kAtDynamicShared, (int)devsanAllowedSharedMemory(handle, device));
  return kSuccess;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *kernel, int size,
                                                  size_t shared_memory) {
  (void)kernel, (void)size, (void)shared_memory;
  *blocks = 2;
  return kSuccess;
}

int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *kernel,
                                                           int size, size_t shared_memory,
                                                           unsigned flags) {
  (void)flags;
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, size, shared_memory);
}

/* The capture's number; `status` is 1 while it goes on, 2 where it has become invalid. */
static unsigned long long captureOf(void *stream, int *status) {
  typedef int (*Ask)(void *, uint64_t *);
  /* Streams of a CPU build's simulator are unknown to the driver. */
  const Ask simulator = (Ask)dlsym(RTLD_DEFAULT, "devsan_sim_capture_of");
  const Ask driver = (Ask)driverFunction("devsan_standin_is_capturing");
  uint64_t number = 0;
  *status = simulator ? simulator(stream, &number) : 0;
  if (!*status && driver)
    *status = driver(stream, &number);
  return number;
}

int cudaStreamIsCapturing(void *stream, int *status) {
  captureOf(stream, status);
  return kSuccess;
}

/* Which nodes the next one comes after is known of no capture. */
static int captureInfo(void *stream, int *status, unsigned long long *id, size_t *count) {
  const unsigned long long number = captureOf(stream, status);
  if (id)
    *id = number;
  if (count)
    *count = 0;
  return kSuccess;
}

#if DEVSAN_STANDIN_VERSION >= 13
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                             const void **dependencies, const void **edges, size_t *count) {
  (void)graph, (void)dependencies, (void)edges;
  return captureInfo(stream, status, id, count);
}
#else
int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id) {
  return captureInfo(stream, status, id, NULL);
}

int cudaStreamGetCaptureInfo_v3(void *stream, int *status, unsigned long long *id, void **graph,
                                const void **dependencies, const void **edges, size_t *count) {
  (void)graph, (void)dependencies, (void)edges;
  return captureInfo(stream, status, id, count);
}
#endif

/* CUDA 13 has it no more; what is compiled with DevSan's own headers asks for it. */
int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                const void **dependencies, size_t *count) {
  (void)graph, (void)dependencies;
  return captureInfo(stream, status, id, count);
}

int cudaThreadExchangeStreamCaptureMode(int *mode) {
  (void)mode;
  return kSuccess;
}

int cudaStreamGetPriority(void *stream, int *priority) {
  int (*ask)(void *, int *) = (int (*)(void *, int *))driverFunction("cuStreamGetPriority");
  return ask ? ask(stream, priority) : kInvalidDevice;
}

int cudaEventRecord(void *event, void *stream);

int cudaEventRecordWithFlags(void *event, void *stream, unsigned flags) {
  (void)flags;
  return cudaEventRecord(event, stream);
}

int cudaGetSymbolAddress(void **out, const void *symbol) {
  *out = (void *)symbol;
  return kSuccess;
}

int cudaLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  (void)stream;
  function(data);
  return kSuccess;
}

int cudaStreamAddCallback(void *stream, void (*function)(void *, int, void *), void *data,
                          unsigned flags) {
  (void)flags;
  function(stream, kSuccess, data);
  return kSuccess;
}

int cudaProfilerStart(void) {
  return kSuccess;
}

int cudaProfilerStop(void) {
  return kSuccess;
}

#define DEVSAN_REFUSE(name, what)                                                                  \
  int name(void) {                                                                                 \
    return devsan_standin_refuse(what " (" #name ")");                                             \
  }
DEVSAN_REFUSE(cudaDeviceGetGraphMemAttribute, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaDeviceSetGraphMemAttribute, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphAddEmptyNode, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphAddHostNode, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphAddKernelNode, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphAddMemsetNode, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphAddNode, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphConditionalHandleCreate, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphDebugDotPrint, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphDestroy, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphExecDestroy, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphGetNodes, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphInstantiate, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphInstantiateWithFlags, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphNodeGetDependencies, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphNodeGetType, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaGraphRetainUserObject, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaKernelSetAttributeForDevice, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryGetGlobal, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryGetKernel, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryGetKernelCount, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryGetManaged, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryGetUnifiedFunction, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryLoadData, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryLoadFromFile, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaLibraryUnload, "GPU kernels that are loaded from code")
DEVSAN_REFUSE(cudaMemPoolCreate, "memory pools of a program's own")
DEVSAN_REFUSE(cudaMemPoolDestroy, "memory pools of a program's own")
DEVSAN_REFUSE(cudaMemPoolGetAccess, "memory pools of a program's own")
DEVSAN_REFUSE(cudaStreamBeginCapture, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaStreamBeginCaptureToGraph, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaStreamEndCapture, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaStreamUpdateCaptureDependencies, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaUserObjectCreate, "CUDA graphs that C++ captures")
DEVSAN_REFUSE(cudaUserObjectRelease, "CUDA graphs that C++ captures")

/* A program's kernels and variables. */
void **__cudaRegisterFatBinary(void *binary) {
  static void *handle;
  (void)binary;
  return &handle;
}

void __cudaRegisterFatBinaryEnd(void **handle) {
  (void)handle;
}

void __cudaUnregisterFatBinary(void **handle) {
  (void)handle;
}

char __cudaInitModule(void **handle) {
  (void)handle;
  return 0;
}

void __cudaRegisterFunction(void **handle, const char *function, char *device_function,
                            const char *name, int thread_limit, void *tid, void *bid, void *block,
                            void *grid, int *warp) {
  (void)handle, (void)device_function, (void)thread_limit;
  (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
  devsanAddKernel(function, name);
}

void __cudaRegisterVar(void **handle, char *variable, char *device_address, const char *name,
                       int external, size_t size, int constant, int global) {
  (void)handle, (void)variable, (void)device_address, (void)name;
  (void)external, (void)size, (void)constant, (void)global;
}

int __cudaGetKernel(const void **kernel, const void *function) {
  *kernel = devsanIsSimulated() ? devsanKernelHandle(function) : function;
  return *kernel ? kSuccess : kInvalidDeviceFunction;
}

static __thread struct {
  DevSanCudaDim grid, block;
  size_t shared_memory;
  void *stream;
} configuration;

unsigned __cudaPushCallConfiguration(DevSanCudaDim grid, DevSanCudaDim block, size_t shared_memory,
                                     void *stream) {
  configuration.grid = grid;
  configuration.block = block;
  configuration.shared_memory = shared_memory;
  configuration.stream = stream;
  return 0;
}

int __cudaPopCallConfiguration(DevSanCudaDim *grid, DevSanCudaDim *block, size_t *shared_memory,
                               void *stream) {
  *grid = configuration.grid;
  *block = configuration.block;
  *shared_memory = configuration.shared_memory;
  *(void **)stream = configuration.stream;
  return kSuccess;
}
