/* A stand-in for CUDA's runtime, libcudart.so.12 and .13 with their symbol versions, over the
   driver that it finds as CUDA's does: libcuda.so.1 by dlopen, its functions by cuGetProcAddress.
   Symbols of kernels' variables are their host shadows, arrays are linear memory. What is not
   written out here is refused (see generate.py). */
#define _GNU_SOURCE
#include "declarations.h"
#include "runtime/cuda/calls.h"
#include "runtime/cuda/standin/kernels.h"
#include "runtime/cuda/standin/simulator.h"
#include "runtime/cuda/standin/standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kInitializationError = 3,
  kNoDriver = 35,
  kInvalidDeviceFunction = 98
};
enum { kNoDevice = 100, kInvalidDevice = 101 };
enum { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };

static __thread int own_device;
static __thread int current_context = -1;
static __thread int last_error;

static int done(int result) {
  if (result != kSuccess)
    last_error = result;
  return result;
}

typedef int (*GetProcAddress)(const char *, void **, int, uint64_t, int *);

static void *driverFunction(_Atomic(void *) *cached, const char *symbol, int is_per_thread) {
  void *function = atomic_load(cached);
  if (function)
    return function;
  static _Atomic(GetProcAddress) lookup;
  GetProcAddress look_up = atomic_load(&lookup);
  if (!look_up) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    look_up = driver ? (GetProcAddress)dlsym(driver, "cuGetProcAddress_v2") : NULL;
    if (!look_up)
      return NULL;
    atomic_store(&lookup, look_up);
  }
  look_up(symbol, &function, DEVSAN_STANDIN_VERSION * 1000, is_per_thread ? 2 : 1, NULL);
  atomic_store(cached, function);
  return function;
}

/* Calls a function of the driver: `form` is its newest name, `symbol` what it is asked for by. */
#define DRIVER_AS(form, symbol, ...)                                                               \
  ({                                                                                               \
    static _Atomic(void *) cached;                                                                 \
    __typeof__(form) *function = (__typeof__(form) *)driverFunction(&cached, #symbol, 0);          \
    function ? function(__VA_ARGS__) : kNoDriver;                                                  \
  })
#define DRIVER(form, ...) DRIVER_AS(form, form, ##__VA_ARGS__)

/* A child of a process that has used simulated devices has none. */
static int is_child;

static void enterChild(void) {
  is_child = 1;
}

static int initialize(void) {
  static atomic_int is_initialized;
  if (atomic_load(&is_initialized))
    return is_child ? kInitializationError : kSuccess;
  const int result = DRIVER(cuInit, 0);
  if (result == kSuccess && !atomic_exchange(&is_initialized, 1) && devsanIsSimulated())
    pthread_atfork(NULL, NULL, enterChild);
  return result;
}

static int deviceCount(void) {
  int count = 0;
  return initialize() == kSuccess && DRIVER(cuDeviceGetCount, &count) == kSuccess ? count : 0;
}

/* LibTorch's simulated devices, whose current one is CUDA's; NULL where LibTorch is a CUDA build.
 */
static const DevSanSimulator *simulator(void) {
  static atomic_int is_known;
  static const DevSanSimulator *_Atomic found;
  if (!atomic_load(&is_known)) {
    const DevSanGetSimulator get = (DevSanGetSimulator)dlsym(RTLD_DEFAULT, DEVSAN_GET_SIMULATOR);
    atomic_store(&found, get ? get() : NULL);
    atomic_store(&is_known, 1);
  }
  return atomic_load(&found);
}

static int currentDevice(void) {
  return simulator() ? simulator()->current_device() : own_device;
}

static void setCurrentDevice(int device) {
  if (simulator())
    simulator()->set_current_device(device);
  else
    own_device = device;
}

int devsanIsSimulated(void) {
  static atomic_int known; /* 1: no, 2: yes */
  int value = atomic_load(&known);
  if (value)
    return value == 2;
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  int (*ask)(void) = driver ? (int (*)(void))dlsym(driver, "devsan_standin_is_simulated") : NULL;
  value = ask && ask() ? 2 : 1;
  atomic_store(&known, value);
  return value == 2;
}

/* The context of the thread's device, made where it is not there yet. */
static int enterContext(void) {
  const int error = initialize();
  if (error != kSuccess)
    return error;
  const int device = currentDevice();
  if (current_context == device)
    return kSuccess;
  static _Atomic(void *) contexts[64];
  void *context = atomic_load(&contexts[device & 63]);
  if (!context) {
    const int result = DRIVER(cuDevicePrimaryCtxRetain, &context, device);
    if (result != kSuccess)
      return result;
    atomic_store(&contexts[device & 63], context);
  }
  const int result = DRIVER(cuCtxSetCurrent, context);
  if (result == kSuccess)
    current_context = device;
  return result;
}

#define ENTER()                                                                                    \
  do {                                                                                             \
    devsan_standin_count(__func__);                                                                \
    const int context_error = enterContext();                                                      \
    if (context_error != kSuccess)                                                                 \
      return done(context_error);                                                                  \
  } while (0)

static DevSanCudaAddress address(const void *memory) {
  return (uintptr_t)memory;
}

int cudaGetFuncBySymbol(void **function, const void *kernel) {
  ENTER();
  if (devsanIsSimulated()) {
    *function = (void *)(uintptr_t)devsanKernelHandle(kernel);
    return done(*function ? kSuccess : kInvalidDeviceFunction);
  }
  if (kernel && *(const int *)kernel == kDevSanStandinForeignKernel)
    return done(kInvalidDeviceFunction);
  *function = (void *)(uintptr_t)kernel;
  return kSuccess;
}

int cudaGetDeviceCount(int *count) {
  *count = deviceCount();
  return done(*count ? kSuccess : kNoDevice);
}

int cudaGetDevice(int *device) {
  *device = currentDevice();
  return kSuccess;
}

int cudaSetDevice(int device) {
  devsan_standin_count(__func__);
  if (device < 0 || device >= deviceCount())
    return done(kInvalidDevice);
  setCurrentDevice(device);
  return done(enterContext());
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  (void)device_flags, (void)flags;
  devsan_standin_count(__func__);
  if (device < 0 || device >= deviceCount())
    return done(kInvalidDevice);
  const int before = currentDevice();
  setCurrentDevice(device);
  const int result = enterContext();
  setCurrentDevice(before);
  return done(result == kSuccess ? enterContext() : result);
}

int cudaDriverGetVersion(int *version) {
  return done(DRIVER(cuDriverGetVersion, version));
}

int cudaRuntimeGetVersion(int *version) {
  *version = DEVSAN_STANDIN_VERSION * 1000;
  return kSuccess;
}

int cudaGetLastError(void) {
  const int error = last_error;
  last_error = kSuccess;
  return error;
}

int cudaPeekAtLastError(void) {
  return last_error;
}

/* What a program reads of the errors that can happen here. */
static const struct {
  int error;
  const char *name;
  const char *text;
} kErrors[] = {
    {kSuccess, "cudaSuccess", "no error"},
    {1, "cudaErrorInvalidValue", "invalid argument"},
    {2, "cudaErrorMemoryAllocation", "out of memory"},
    {3, "cudaErrorInitializationError", "initialization error"},
    {35, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {98, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {101, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {201, "cudaErrorDeviceUninitialized", "invalid device context"},
    {400, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {500, "cudaErrorSymbolNotFound", "named symbol not found"},
    {600, "cudaErrorNotReady", "device not ready"},
    {712, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {719, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {900, "cudaErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {kDevSanCudaNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

const char *cudaGetErrorName(int error) {
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i)
    if (kErrors[i].error == error)
      return kErrors[i].name;
  return "unrecognized error code";
}

const char *cudaGetErrorString(int error) {
  if (error == kDevSanCudaNotSupported && devsan_standin_refused())
    return devsan_standin_refused();
  for (size_t i = 0; i < sizeof kErrors / sizeof *kErrors; ++i)
    if (kErrors[i].error == error)
      return kErrors[i].text;
  return "unrecognized error code";
}

int cudaPointerGetAttributes(DevSanCudaPointerAttributes *out, const void *memory) {
  enum { kMemoryType = 2, kIsManaged = 8, kOrdinal = 9 };
  enum { kReserved = DEVSAN_STANDIN_VERSION >= 13 ? 8 * sizeof(long) : 0 };
  unsigned type = 0, is_managed = 0;
  int device = -1;
  const int error = initialize();
  if (error != kSuccess)
    return done(error);
  memset(out, 0, sizeof *out + kReserved);
  if (DRIVER(cuPointerGetAttribute, &type, kMemoryType, address(memory)) == kSuccess) {
    DRIVER(cuPointerGetAttribute, &is_managed, kIsManaged, address(memory));
    DRIVER(cuPointerGetAttribute, &device, kOrdinal, address(memory));
  }
  out->type = is_managed ? 3 : (int)type;
  out->device = device;
  out->device_pointer = type ? (void *)(uintptr_t)memory : NULL;
  out->host_pointer = type != 2 || is_managed ? (void *)(uintptr_t)memory : NULL;
  return kSuccess;
}

int cudaMemGetInfo(size_t *free_bytes, size_t *total) {
  ENTER();
  return done(DRIVER_AS(cuMemGetInfo_v2, cuMemGetInfo, free_bytes, total));
}

int cudaDeviceSynchronize(void) {
  ENTER();
  return done(DRIVER(cuCtxSynchronize));
}

int cudaThreadSynchronize(void) {
  ENTER();
  return done(DRIVER(cuCtxSynchronize));
}

int cudaDeviceReset(void) {
  ENTER();
  return done(DRIVER(cuCtxSynchronize));
}

int cudaMalloc(void **out, size_t size) {
  ENTER();
  if (size == 0) { /* which the driver refuses */
    *out = NULL;
    return kSuccess;
  }
  DevSanCudaAddress allocated = 0;
  const int result = DRIVER_AS(cuMemAlloc_v2, cuMemAlloc, &allocated, size);
  *out = (void *)(uintptr_t)allocated;
  return done(result);
}

int cudaMallocManaged(void **out, size_t size, unsigned flags) {
  ENTER();
  DevSanCudaAddress allocated = 0;
  const int result = DRIVER(cuMemAllocManaged, &allocated, size, flags);
  *out = (void *)(uintptr_t)allocated;
  return done(result);
}

int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  devsan_standin_count(__func__);
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(out, *pitch * (height ? height : 1));
}

int cudaMalloc3D(DevSanCudaPitched *out, DevSanCudaExtent extent) {
  devsan_standin_count(__func__);
  out->x_size = extent.width;
  out->y_size = extent.height;
  return cudaMallocPitch(&out->pointer, &out->pitch, extent.width,
                         extent.height * (extent.depth ? extent.depth : 1));
}

enum { kLargestElement = 16 };

int cudaMallocArray(void **out, const void *format, size_t width, size_t height, unsigned flags) {
  (void)format, (void)flags;
  devsan_standin_count(__func__);
  return cudaMalloc(out, kLargestElement * width * (height ? height : 1));
}

int cudaMalloc3DArray(void **out, const void *format, DevSanCudaExtent extent, unsigned flags) {
  (void)format, (void)flags;
  devsan_standin_count(__func__);
  return cudaMalloc(out, kLargestElement * extent.width * (extent.height ? extent.height : 1) *
                             (extent.depth ? extent.depth : 1));
}

int cudaMallocMipmappedArray(void **out, const void *format, DevSanCudaExtent extent,
                             unsigned levels, unsigned flags) {
  (void)levels;
  devsan_standin_count(__func__);
  return cudaMalloc3DArray(out, format, extent, flags);
}

int cudaMallocAsync(void **out, size_t size, void *stream) {
  ENTER();
  DevSanCudaAddress allocated = 0;
  const int result = DRIVER(cuMemAllocAsync, &allocated, size, stream);
  *out = (void *)(uintptr_t)allocated;
  return done(result);
}

int cudaMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream) {
  (void)pool;
  devsan_standin_count(__func__);
  return cudaMallocAsync(out, size, stream);
}

int cudaMallocHost(void **out, size_t size) {
  ENTER();
  return done(DRIVER_AS(cuMemAllocHost_v2, cuMemAllocHost, out, size));
}

int cudaHostAlloc(void **out, size_t size, unsigned flags) {
  ENTER();
  return done(DRIVER(cuMemHostAlloc, out, size, flags));
}

int cudaHostRegister(void *memory, size_t size, unsigned flags) {
  ENTER();
  return done(DRIVER_AS(cuMemHostRegister_v2, cuMemHostRegister, memory, size, flags));
}

int cudaHostUnregister(void *memory) {
  ENTER();
  return done(DRIVER(cuMemHostUnregister, memory));
}

int cudaFree(void *memory) {
  ENTER();
  return done(DRIVER_AS(cuMemFree_v2, cuMemFree, address(memory)));
}

int cudaFreeArray(void *array) {
  devsan_standin_count(__func__);
  return cudaFree(array);
}

int cudaFreeMipmappedArray(void *array) {
  devsan_standin_count(__func__);
  return cudaFree(array);
}

int cudaFreeHost(void *memory) {
  ENTER();
  return done(DRIVER(cuMemFreeHost, memory));
}

int cudaFreeAsync(void *memory, void *stream) {
  ENTER();
  return done(DRIVER(cuMemFreeAsync, address(memory), stream));
}

static int copy(void *to, const void *from, size_t bytes, int kind) {
  switch (kind) {
  case kHostToDevice:
    return DRIVER_AS(cuMemcpyHtoD_v2, cuMemcpyHtoD, address(to), from, bytes);
  case kDeviceToHost:
    return DRIVER_AS(cuMemcpyDtoH_v2, cuMemcpyDtoH, to, address(from), bytes);
  case kDeviceToDevice:
    return DRIVER_AS(cuMemcpyDtoD_v2, cuMemcpyDtoD, address(to), address(from), bytes);
  default:
    return DRIVER(cuMemcpy, address(to), address(from), bytes);
  }
}

static int copyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  switch (kind) {
  case kHostToDevice:
    return DRIVER_AS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, address(to), from, bytes, stream);
  case kDeviceToHost:
    return DRIVER_AS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, to, address(from), bytes, stream);
  case kDeviceToDevice:
    return DRIVER_AS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, address(to), address(from), bytes,
                     stream);
  default:
    return DRIVER(cuMemcpyAsync, address(to), address(from), bytes, stream);
  }
}

static DevSanDriverCopy2D rows(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                               size_t width, size_t height) {
  DevSanDriverCopy2D call;
  memset(&call, 0, sizeof call);
  call.from_type = call.to_type = kDevSanDriverUnified;
  call.from_device = address(from);
  call.from_pitch = from_pitch;
  call.to_device = address(to);
  call.to_pitch = to_pitch;
  call.width = width;
  call.height = height;
  return call;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  ENTER();
  return done(copy(to, from, bytes, kind));
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  ENTER();
  return done(copyAsync(to, from, bytes, kind, stream));
}

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  (void)to_device, (void)from_device;
  ENTER();
  return done(DRIVER(cuMemcpyPeer, address(to), NULL, address(from), NULL, bytes));
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        void *stream) {
  (void)to_device, (void)from_device;
  ENTER();
  return done(DRIVER(cuMemcpyPeerAsync, address(to), NULL, address(from), NULL, bytes, stream));
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind) {
  (void)kind;
  ENTER();
  const DevSanDriverCopy2D call = rows(to, to_pitch, from, from_pitch, width, height);
  return done(DRIVER_AS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, &call));
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream) {
  (void)kind;
  ENTER();
  const DevSanDriverCopy2D call = rows(to, to_pitch, from, from_pitch, width, height);
  return done(DRIVER_AS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, &call, stream));
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                       int kind) {
  (void)kind;
  ENTER();
  return done(DRIVER(cuMemcpy, address(symbol) + offset, address(from), bytes));
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  (void)kind;
  ENTER();
  return done(DRIVER(cuMemcpy, address(to), address(symbol) + offset, bytes));
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                            int kind, void *stream) {
  (void)kind;
  ENTER();
  return done(DRIVER(cuMemcpyAsync, address(symbol) + offset, address(from), bytes, stream));
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              void *stream) {
  (void)kind;
  ENTER();
  return done(DRIVER(cuMemcpyAsync, address(to), address(symbol) + offset, bytes, stream));
}

int cudaMemset(void *memory, int value, size_t bytes) {
  ENTER();
  return done(DRIVER_AS(cuMemsetD8_v2, cuMemsetD8, address(memory), (unsigned char)value, bytes));
}

int cudaMemsetAsync(void *memory, int value, size_t bytes, void *stream) {
  ENTER();
  return done(DRIVER(cuMemsetD8Async, address(memory), (unsigned char)value, bytes, stream));
}

int cudaMemset2D(void *memory, size_t pitch, int value, size_t width, size_t height) {
  ENTER();
  return done(DRIVER_AS(cuMemsetD2D8_v2, cuMemsetD2D8, address(memory), pitch, (unsigned char)value,
                        width, height));
}

int cudaMemset2DAsync(void *memory, size_t pitch, int value, size_t width, size_t height,
                      void *stream) {
  ENTER();
  return done(DRIVER(cuMemsetD2D8Async, address(memory), pitch, (unsigned char)value, width, height,
                     stream));
}

int cudaStreamCreate(void **out) {
  ENTER();
  return done(DRIVER(cuStreamCreate, out, 0));
}

int cudaStreamCreateWithFlags(void **out, unsigned flags) {
  ENTER();
  return done(DRIVER(cuStreamCreate, out, flags));
}

int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  ENTER();
  return done(DRIVER(cuStreamCreateWithPriority, out, flags, priority));
}

int cudaStreamDestroy(void *stream) {
  ENTER();
  return done(DRIVER_AS(cuStreamDestroy_v2, cuStreamDestroy, stream));
}

int cudaStreamSynchronize(void *stream) {
  ENTER();
  return done(DRIVER(cuStreamSynchronize, stream));
}

int cudaStreamQuery(void *stream) {
  ENTER();
  return DRIVER(cuStreamQuery, stream);
}

int cudaStreamWaitEvent(void *stream, void *event, unsigned flags) {
  ENTER();
  return done(DRIVER(cuStreamWaitEvent, stream, event, flags));
}

int cudaEventCreate(void **out) {
  ENTER();
  return done(DRIVER(cuEventCreate, out, 0));
}

int cudaEventCreateWithFlags(void **out, unsigned flags) {
  ENTER();
  return done(DRIVER(cuEventCreate, out, flags));
}

int cudaEventRecord(void *event, void *stream) {
  ENTER();
  return done(DRIVER(cuEventRecord, event, stream));
}

int cudaEventSynchronize(void *event) {
  ENTER();
  return done(DRIVER(cuEventSynchronize, event));
}

int cudaEventQuery(void *event) {
  ENTER();
  return DRIVER(cuEventQuery, event);
}

int cudaEventElapsedTime(float *milliseconds, void *event, void *later) {
  ENTER();
  return done(DRIVER(cuEventElapsedTime, milliseconds, event, later));
}

int cudaEventDestroy(void *event) {
  ENTER();
  return done(DRIVER_AS(cuEventDestroy_v2, cuEventDestroy, event));
}

int cudaIpcGetMemHandle(DevSanCudaIpcHandle *out, void *memory) {
  ENTER();
  const int result = DRIVER(cuIpcGetMemHandle, out, address(memory));
  return done(result == kDevSanCudaNotSupported
                  ? devsan_standin_refuse("device memory shared between processes with "
                                          "--sim-protect=off (cudaIpcGetMemHandle)")
                  : result);
}

int cudaIpcOpenMemHandle(void **out, DevSanCudaIpcHandle handle, unsigned flags) {
  ENTER();
  DevSanCudaAddress mapped = 0;
  const int result = DRIVER_AS(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, &mapped, handle, flags);
  *out = (void *)(uintptr_t)mapped;
  return done(result);
}

int cudaIpcCloseMemHandle(void *memory) {
  ENTER();
  return done(DRIVER(cuIpcCloseMemHandle, address(memory)));
}

int cudaIpcGetEventHandle(DevSanCudaIpcHandle *out, void *event) {
  ENTER();
  return done(DRIVER(cuIpcGetEventHandle, out, event));
}

int cudaIpcOpenEventHandle(void **out, DevSanCudaIpcHandle handle) {
  ENTER();
  return done(DRIVER(cuIpcOpenEventHandle, out, handle));
}

/* On simulated devices `kernel` is a handle. */
static int launch(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block, void **arguments,
                  size_t shared_memory, void *stream) {
  const DevSanKernelLaunch issued = {grid,   block,     shared_memory,
                                     stream, arguments, currentDevice()};
  const int refusal = devsanIsSimulated() ? devsanCheckLaunch(kernel, &issued) : kSuccess;
  if (refusal != kSuccess)
    return refusal;
  const int result = DRIVER(cuLaunchKernel, kernel, grid.x, grid.y, grid.z, block.x, block.y,
                            block.z, (unsigned)shared_memory, stream, arguments, NULL);
  return result == kSuccess && devsanIsSimulated() ? devsanLaunch(kernel, &issued) : result;
}

static int launchSymbol(const void *symbol, DevSanCudaDim grid, DevSanCudaDim block,
                        void **arguments, size_t shared_memory, void *stream) {
  const void *kernel = devsanIsSimulated() ? devsanKernelHandle(symbol) : symbol;
  return kernel ? launch(kernel, grid, block, arguments, shared_memory, stream)
                : kInvalidDeviceFunction;
}

int cudaLaunchKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block, void **arguments,
                     size_t shared_memory, void *stream) {
  ENTER();
  return done(launchSymbol(kernel, grid, block, arguments, shared_memory, stream));
}

int __cudaLaunchKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block,
                       void **arguments, size_t shared_memory, void *stream) {
  ENTER();
  return done(launch(kernel, grid, block, arguments, shared_memory, stream));
}

int cudaLaunchCooperativeKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block,
                                void **arguments, size_t shared_memory, void *stream) {
  ENTER();
  return done(launchSymbol(kernel, grid, block, arguments, shared_memory, stream));
}

int cudaLaunchKernelExC(const DevSanCudaLaunch *call, const void *kernel, void **arguments) {
  ENTER();
  return done(
      launchSymbol(kernel, call->grid, call->block, arguments, call->shared_memory, call->stream));
}

int cudaFuncSetAttribute(const void *kernel, int attribute, int value) {
  enum { kMaxDynamicSharedMemory = 8 };
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() && attribute == kMaxDynamicSharedMemory ? devsanKernelHandle(kernel)
                                                                  : NULL;
  return done(handle ? devsanAllowSharedMemory(handle, currentDevice(), (size_t)value) : kSuccess);
}

int cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version,
                                     unsigned long long flags, int *status) {
  static _Atomic(void *) cached;
  GetProcAddress look_up = (GetProcAddress)driverFunction(&cached, "cuGetProcAddress", 0);
  return done(look_up ? look_up(symbol, function, (int)version, flags, status) : kNoDriver);
}

int cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags,
                            int *status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, DEVSAN_STANDIN_VERSION * 1000, flags,
                                          status);
}
