/* What compiled programs ask of CUDA's runtime beyond the entry points that are forwarded: devices'
   properties, their own kernels and variables, pools, peers, captures. Enough for LibTorch's CUDA
   library to start and to run its own host code. */
#define _GNU_SOURCE
#include "runtime/cuda/standin/runtime.h"

#include "runtime/cuda/standin/kernels.h"
#include "runtime/cuda/standin/simulator.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cudaDeviceGetAttribute(int *value, int attribute, int device);

void *devsanDriverFunction(const char *name) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : NULL;
}

/* The places are those of cudaDeviceProp, which differ between CUDA 12 and 13. */
#if DEVSAN_STANDIN_VERSION >= 13
enum {
  kPropertiesSize = 1008,
  kAtProcessors = 384,
  kAtMapHost = 392,
  kAtConcurrentKernels = 560,
  kAtBus = 568,
  kAtEngines = 584,
  kAtUnified = 588,
  kAtPriorities = 608,
  kAtManaged = 636,
  kAtCooperative = 668,
  kAtMostBlocks = 688,
  kAtHostRegister = 704,
  kAtPools = 720,
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
  kAtMapHost = 400,
  kAtConcurrentKernels = 576,
  kAtBus = 584,
  kAtEngines = 600,
  kAtUnified = 604,
  kAtPriorities = 628,
  kAtManaged = 652,
  kAtCooperative = 688,
  kAtMostBlocks = 712,
  kAtHostRegister = 728,
  kAtPools = 744,
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
  kAtPitch = 312,
  kAtThreadsPerBlock = 320,
  kAtBlock = 324,
  kAtGrid = 336,
  kAtConstant = 352,
  kAtMajor = 360,
  kAtMinor = 364,
  kAtTextureAlignment = 368,
  kAtTexturePitch = 376
};

static void putInt(char *properties, int at, int value) {
  memcpy(properties + at, &value, sizeof value);
}

static void putSize(char *properties, int at, size_t value) {
  memcpy(properties + at, &value, sizeof value);
}

int cudaGetDeviceProperties(void *out, int device) {
  if (!devsanIsDeviceNumber(device))
    return kInvalidDevice;
  char *properties = out;
  REQUIRE(out);
  memset(properties, 0, kPropertiesSize);
  strcpy(properties, devsanIsSimulated() ? "DevSan simulated GPU" : "DevSan stand-in");
  int (*uuid)(void *, int) = (int (*)(void *, int))devsanDriverFunction("cuDeviceGetUuid");
  int (*total)(size_t *, int) = (int (*)(size_t *, int))devsanDriverFunction("cuDeviceTotalMem_v2");
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
  putInt(properties, kAtL2, kL2);
  putInt(properties, kAtThreadsPerProcessor, kThreadsPerProcessor);
  putSize(properties, kAtSharedPerProcessor, kSharedPerProcessor);
  putInt(properties, kAtRegistersPerProcessor, kRegisters);
  putSize(properties, kAtOptIn, kSharedPerBlockOptIn);
  putSize(properties, kAtPitch, kMostPitch);
  putSize(properties, kAtConstant, kConstant);
  putSize(properties, kAtTextureAlignment, kTextureAlignment);
  putSize(properties, kAtTexturePitch, kTexturePitch);
  putInt(properties, kAtBus, device + 1);
  putInt(properties, kAtEngines, kCopyEngines);
  putInt(properties, kAtMostBlocks, kBlocksPerProcessor);
  static const int kSupported[] = {kAtMapHost, kAtConcurrentKernels, kAtUnified,      kAtPriorities,
                                   kAtManaged, kAtCooperative,       kAtHostRegister, kAtPools};
  for (size_t i = 0; i < sizeof kSupported / sizeof *kSupported; ++i)
    putInt(properties, kSupported[i], 1);
  return kSuccess;
}

int cudaGetDeviceProperties_v2(void *out, int device) {
  return cudaGetDeviceProperties(out, device);
}

int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  REQUIRE(value);
  if (!devsanIsDeviceNumber(device))
    return devsanDone(kInvalidDevice);
  int (*ask)(int *, int, int) =
      (int (*)(int *, int, int))devsanDriverFunction("cuDeviceGetAttribute");
  return devsanDone(ask ? ask(value, attribute, device) : kNoDriver);
}

int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return kSuccess;
}

/* Of a kernel: places of cudaFuncAttributes. */
int cudaFuncGetAttributes(void *out, const void *kernel) {
  enum { kSize = 144, kAtThreads = 24, kAtRegisters = 28, kAtPtx = 32, kAtBinary = 36 };
  enum { kAtDynamicShared = 44 };
  char *attributes = out;
  REQUIRE(out);
  memset(attributes, 0, kSize);
  putInt(attributes, kAtThreads, kThreadsPerBlock);
  putInt(attributes, kAtRegisters, kRegistersPerThread);
  putInt(attributes, kAtPtx, 10 * kMajor);
  putInt(attributes, kAtBinary, 10 * kMajor);
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() ? devsanKernelHandle(kernel) : NULL;
  int device = 0;
  if (handle && cudaGetDevice(&device) == kSuccess)
    putInt(attributes, kAtDynamicShared, (int)devsanAllowedSharedMemory(handle, device));
  return kSuccess;
}

/* The capture's number; `status` is 1 while it goes on, 2 where it has become invalid. */
static unsigned long long captureOf(void *stream, int *status) {
  typedef int (*Ask)(void *, uint64_t *);
  /* Streams of a CPU build's simulator are unknown to the driver. */
  const Ask simulator = (Ask)dlsym(RTLD_DEFAULT, "devsan_sim_capture_of");
  const Ask driver = (Ask)devsanDriverFunction("devsan_standin_is_capturing");
  uint64_t number = 0;
  *status = simulator ? simulator(stream, &number) : 0;
  if (!*status && driver)
    *status = driver(stream, &number);
  return number;
}

int cudaStreamIsCapturing(void *stream, int *status) {
  REQUIRE(status);
  captureOf(stream, status);
  return kSuccess;
}

/* Which nodes the next one comes after is known of no capture. */
static int captureInfo(void *stream, int *status, unsigned long long *id, size_t *count) {
  REQUIRE(status);
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

/* Variables of kernels, whose host shadows they are. */
static struct Variable {
  const void *shadow;
  size_t size;
  struct Variable *next;
} *_Atomic variables;

int cudaGetSymbolAddress(void **out, const void *symbol) {
  REQUIRE(out && symbol);
  *out = (void *)(uintptr_t)symbol;
  return kSuccess;
}

int cudaGetSymbolSize(size_t *size, const void *symbol) {
  enum { kInvalidSymbol = 13 };
  REQUIRE(size);
  const struct Variable *one = variables;
  while (one && one->shadow != symbol)
    one = one->next;
  if (one)
    *size = one->size;
  return devsanDone(one ? kSuccess : kInvalidSymbol);
}

int cudaProfilerStart(void) {
  return kSuccess;
}

int cudaProfilerStop(void) {
  return kSuccess;
}

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
  (void)handle, (void)device_address, (void)name, (void)external, (void)constant, (void)global;
  struct Variable *made = malloc(sizeof *made);
  if (!made)
    return;
  *made = (struct Variable){variable, size, variables};
  while (!atomic_compare_exchange_weak(&variables, &made->next, made)) {
  }
}

int __cudaGetKernel(const void **kernel, const void *function) {
  REQUIRE(kernel);
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
