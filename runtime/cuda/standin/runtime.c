/* A stand-in for CUDA's runtime, libcudart.so.12 and .13 with their symbol versions, over the
   driver that it finds as CUDA's does: libcuda.so.1 by dlopen, its functions by cuGetProcAddress.
   Symbols of kernels' variables are their host shadows, arrays are linear memory. What is not
   written out, here or beside it, is refused (see generate.py). */
#define _GNU_SOURCE
#include "runtime/cuda/standin/runtime.h"

#include "runtime/cuda/standin/kernels.h"
#include "runtime/cuda/standin/simulator.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3 };

static __thread int own_device;
static __thread int current_context = -1;
static __thread int last_error;

static int done(int result) {
  if (result != kSuccess)
    last_error = result;
  return result;
}

int devsanDone(int result) {
  return done(result);
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

int devsanIsDeviceNumber(int device) {
  return device >= 0 && device < deviceCount();
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

int devsanCurrentDevice(void) {
  return simulator() ? simulator()->current_device() : own_device;
}

void devsanFinishCopies(void) {
  if (simulator())
    simulator()->finish_copies();
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
  if (!driver)
    return 0; /* Not known before it is there. */
  int (*ask)(void) = (int (*)(void))dlsym(driver, "devsan_standin_is_simulated");
  value = ask && ask() ? 2 : 1;
  atomic_store(&known, value);
  return value == 2;
}

int devsanEnterContext(void) {
  const int error = initialize();
  if (error != kSuccess)
    return error;
  const int device = devsanCurrentDevice();
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
    const int context_error = devsanEnterContext();                                                \
    if (context_error != kSuccess)                                                                 \
      return done(context_error);                                                                  \
  } while (0)

static DevSanCudaAddress address(const void *memory) {
  return (uintptr_t)memory;
}

int cudaGetFuncBySymbol(void **function, const void *kernel) {
  ENTER();
  REQUIRE(function);
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
  REQUIRE(count);
  *count = deviceCount();
  return done(*count ? kSuccess : kNoDevice);
}

int cudaGetDevice(int *device) {
  REQUIRE(device);
  *device = devsanCurrentDevice();
  return kSuccess;
}

int cudaSetDevice(int device) {
  devsan_standin_count(__func__);
  if (!devsanIsDeviceNumber(device))
    return done(kInvalidDevice);
  setCurrentDevice(device);
  return done(devsanEnterContext());
}

int cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
  (void)device_flags, (void)flags;
  devsan_standin_count(__func__);
  if (!devsanIsDeviceNumber(device))
    return done(kInvalidDevice);
  const int before = devsanCurrentDevice();
  setCurrentDevice(device);
  const int result = devsanEnterContext();
  setCurrentDevice(before);
  return done(result == kSuccess ? devsanEnterContext() : result);
}

int cudaDriverGetVersion(int *version) {
  REQUIRE(version);
  return done(DRIVER(cuDriverGetVersion, version));
}

int cudaRuntimeGetVersion(int *version) {
  REQUIRE(version);
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

static const struct {
  int error;
  const char *name;
} kErrors[] = {
#include "runtime_errors.inc"
};

/* What PyTorch's messages and those of programs show of the errors that happen here. */
static const struct {
  int error;
  const char *text;
} kTexts[] = {
    {kSuccess, "no error"},
    {1, "invalid argument"},
    {2, "out of memory"},
    {3, "initialization error"},
    {9, "invalid configuration argument"},
    {12, "invalid pitch argument"},
    {21, "invalid copy direction for memcpy"},
    {35, "CUDA driver version is insufficient for CUDA runtime version"},
    {98, "invalid device function"},
    {100, "no CUDA-capable device is detected"},
    {101, "invalid device ordinal"},
    {201, "invalid device context"},
    {217, "peer access is not supported between these two devices"},
    {400, "invalid resource handle"},
    {500, "named symbol not found"},
    {600, "device not ready"},
    {712, "part or all of the requested memory range is already mapped"},
    {719, "unspecified launch failure"},
    {720, "too many blocks in cooperative launch"},
    {900, "operation not permitted when stream is capturing"},
    {kDevSanCudaNotSupported, "operation not supported"},
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
  for (size_t i = 0; i < sizeof kTexts / sizeof *kTexts; ++i)
    if (kTexts[i].error == error)
      return kTexts[i].text;
  return cudaGetErrorName(error);
}

int devsanRefuse(const char *what, int *is_said) {
  if (devsanIsSimulated() && !__atomic_exchange_n(is_said, 1, __ATOMIC_RELAXED))
    dprintf(STDERR_FILENO, "devsan: not simulated: %s\n", what);
  return done(devsan_standin_refuse(what));
}

int cudaPointerGetAttributes(DevSanCudaPointerAttributes *out, const void *memory) {
  enum { kMemoryType = 2, kIsManaged = 8, kOrdinal = 9 };
  enum { kReserved = DEVSAN_STANDIN_VERSION >= 13 ? 8 * sizeof(long) : 0 };
  unsigned type = 0, is_managed = 0;
  int device = -1;
  REQUIRE(out);
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
  REQUIRE(free_bytes && total);
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
  REQUIRE(out);
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
  REQUIRE(out);
  DevSanCudaAddress allocated = 0;
  const int result = DRIVER(cuMemAllocManaged, &allocated, size, flags);
  *out = (void *)(uintptr_t)allocated;
  return done(result);
}

int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height) {
  devsan_standin_count(__func__);
  enum { kAlignment = 512 };
  size_t padded, bytes;
  REQUIRE(pitch);
  if (__builtin_add_overflow(width, kAlignment - 1, &padded) ||
      __builtin_mul_overflow(padded / kAlignment * kAlignment, height ? height : 1, &bytes))
    return done(kOutOfMemory);
  *pitch = padded / kAlignment * kAlignment;
  return cudaMalloc(out, bytes);
}

int cudaMalloc3D(DevSanCudaPitched *out, DevSanCudaExtent extent) {
  devsan_standin_count(__func__);
  size_t rows;
  REQUIRE(out);
  if (__builtin_mul_overflow(extent.height, extent.depth ? extent.depth : 1, &rows))
    return done(kOutOfMemory);
  out->x_size = extent.width;
  out->y_size = extent.height;
  return cudaMallocPitch(&out->pointer, &out->pitch, extent.width, rows);
}

int cudaMallocAsync(void **out, size_t size, void *stream) {
  ENTER();
  REQUIRE(out);
  DevSanCudaAddress allocated = 0;
  const int result = DRIVER(cuMemAllocAsync, &allocated, size, stream);
  *out = (void *)(uintptr_t)allocated;
  return done(result);
}

int cudaMallocFromPoolAsync(void **out, size_t size, void *pool, void *stream) {
  devsan_standin_count(__func__);
  const int device = devsanPoolDevice(pool), before = devsanCurrentDevice();
  REQUIRE(device >= 0);
  setCurrentDevice(device);
  const int result = cudaMallocAsync(out, size, stream);
  setCurrentDevice(before);
  return result;
}

int cudaMallocHost(void **out, size_t size) {
  ENTER();
  REQUIRE(out);
  return done(DRIVER_AS(cuMemAllocHost_v2, cuMemAllocHost, out, size));
}

int cudaHostAlloc(void **out, size_t size, unsigned flags) {
  ENTER();
  REQUIRE(out);
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

int cudaFreeHost(void *memory) {
  ENTER();
  return done(DRIVER(cuMemFreeHost, memory));
}

int cudaFreeAsync(void *memory, void *stream) {
  ENTER();
  return done(DRIVER(cuMemFreeAsync, address(memory), stream));
}

/* That it fits to the memory is not asked. */
static int isDirection(int kind) {
  enum { kDefault = 4 };
  return kind >= 0 && kind <= kDefault;
}

#define REQUIRE_DIRECTION(kind)                                                                    \
  do {                                                                                             \
    if (!isDirection(kind))                                                                        \
      return devsanDone(kInvalidDirection);                                                        \
  } while (0)

static int copy(void *to, const void *from, size_t bytes, int kind) {
  REQUIRE_DIRECTION(kind);
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
  REQUIRE_DIRECTION(kind);
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

static int rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                size_t height, int kind, DevSanDriverCopy2D *call) {
  REQUIRE_DIRECTION(kind);
  if (height && (width > to_pitch || width > from_pitch))
    return kInvalidPitch;
  memset(call, 0, sizeof *call);
  call->from_type = call->to_type = kDevSanDriverUnified;
  call->from_device = address(from);
  call->from_pitch = from_pitch;
  call->to_device = address(to);
  call->to_pitch = to_pitch;
  call->width = width;
  call->height = height;
  return kSuccess;
}

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind) {
  ENTER();
  return done(copy(to, from, bytes, kind));
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream) {
  ENTER();
  return done(copyAsync(to, from, bytes, kind, stream));
}

#define REQUIRE_DEVICES(one, other)                                                                \
  do {                                                                                             \
    if (!devsanIsDeviceNumber(one) || !devsanIsDeviceNumber(other))                                \
      return devsanDone(kInvalidDevice);                                                           \
  } while (0)

int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes) {
  ENTER();
  REQUIRE_DEVICES(to_device, from_device);
  return done(DRIVER(cuMemcpyPeer, address(to), NULL, address(from), NULL, bytes));
}

int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
                        void *stream) {
  ENTER();
  REQUIRE_DEVICES(to_device, from_device);
  return done(DRIVER(cuMemcpyPeerAsync, address(to), NULL, address(from), NULL, bytes, stream));
}

int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                 size_t height, int kind) {
  ENTER();
  DevSanDriverCopy2D call;
  const int refusal = rows(to, to_pitch, from, from_pitch, width, height, kind, &call);
  return done(refusal ? refusal : DRIVER_AS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, &call));
}

int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                      size_t height, int kind, void *stream) {
  ENTER();
  DevSanDriverCopy2D call;
  const int refusal = rows(to, to_pitch, from, from_pitch, width, height, kind, &call);
  return done(refusal ? refusal : DRIVER_AS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, &call, stream));
}

/* One end of a copy in three dimensions. Positions are bytes in linear memory, elements in an
   array; so is the width, where an array takes part. */
typedef struct {
  DevSanCudaAddress at;
  DevSanCudaPosition position;
  DevSanArrayLayout layout;
  int is_array;
} End;

static int endOf(const DevSanCudaPitched *linear, const void *array,
                 const DevSanCudaPosition *position, End *out) {
  DevSanArrayLayout layout = {1, linear->pitch, linear->pitch, linear->y_size, SIZE_MAX};
  const char *memory = array ? devsanArray(array, &layout) : linear->pointer;
  if (!memory || (array && linear->pointer))
    return kInvalidValue;
  size_t offset = 0, x = 0;
  if (__builtin_mul_overflow(position->z, layout.height, &offset) ||
      __builtin_add_overflow(position->y, offset, &offset) ||
      __builtin_mul_overflow(offset, layout.pitch, &offset) ||
      __builtin_mul_overflow(position->x, layout.element, &x) ||
      __builtin_add_overflow(offset, x, &offset))
    return kInvalidValue;
  *out = (End){address(memory) + offset, *position, layout, array != NULL};
  return kSuccess;
}

/* The pitch and the rows of a layer of linear memory count where there is more than one of what
   they divide. */
static int checkBounds(const End *end, const DevSanCudaExtent *extent, size_t bytes) {
  const DevSanCudaPosition *at = &end->position;
  if (end->is_array)
    return devsanFits(at->x, extent->width, end->layout.width) &&
                   devsanFits(at->y, extent->height, end->layout.height) &&
                   devsanFits(at->z, extent->depth, end->layout.depth)
               ? kSuccess
               : kInvalidValue;
  if ((extent->height > 1 || extent->depth > 1) && !devsanFits(at->x, bytes, end->layout.pitch))
    return kInvalidPitch;
  return extent->depth > 1 && !devsanFits(at->y, extent->height, end->layout.height) ? kInvalidValue
                                                                                     : kSuccess;
}

static int box(const DevSanCudaExtent *extent, const End *from, const End *to,
               DevSanDriverCopy3D *call) {
  const size_t element = from->is_array ? from->layout.element : to->layout.element;
  memset(call, 0, sizeof *call);
  call->from_type = call->to_type = kDevSanDriverUnified;
  call->from_device = from->at;
  call->from_pitch = from->layout.pitch;
  call->from_height = from->layout.height;
  call->to_device = to->at;
  call->to_pitch = to->layout.pitch;
  call->to_height = to->layout.height;
  if (__builtin_mul_overflow(extent->width, element, &call->width))
    return kInvalidValue;
  call->height = extent->height;
  call->depth = extent->depth;
  if (from->is_array && to->is_array && from->layout.element != to->layout.element)
    return kInvalidValue;
  const int refusal = checkBounds(from, extent, call->width);
  return refusal == kSuccess ? checkBounds(to, extent, call->width) : refusal;
}

/* cudaMemcpy3DParms and that of peers are alike but for the devices. */
#define BOX(copy, call)                                                                            \
  End from, to;                                                                                    \
  int refusal = endOf(&(copy)->from, (copy)->from_array, &(copy)->from_position, &from);           \
  if (refusal == kSuccess)                                                                         \
    refusal = endOf(&(copy)->to, (copy)->to_array, &(copy)->to_position, &to);                     \
  if (refusal == kSuccess)                                                                         \
    refusal = box(&(copy)->extent, &from, &to, call);                                              \
  if (refusal != kSuccess)                                                                         \
  return done(refusal)

int cudaMemcpy3D(const DevSanCudaCopy3D *copy) {
  ENTER();
  REQUIRE(copy);
  REQUIRE_DIRECTION(copy->kind);
  DevSanDriverCopy3D call;
  BOX(copy, &call);
  return done(DRIVER_AS(cuMemcpy3D_v2, cuMemcpy3D, &call));
}

int cudaMemcpy3DAsync(const DevSanCudaCopy3D *copy, void *stream) {
  ENTER();
  REQUIRE(copy);
  REQUIRE_DIRECTION(copy->kind);
  DevSanDriverCopy3D call;
  BOX(copy, &call);
  return done(DRIVER_AS(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, &call, stream));
}

int cudaMemcpy3DPeer(const DevSanCudaCopy3DPeer *copy) {
  ENTER();
  REQUIRE(copy);
  REQUIRE_DEVICES(copy->to_device, copy->from_device);
  DevSanDriverCopy3D call;
  BOX(copy, &call);
  return done(DRIVER(cuMemcpy3DPeer, &call));
}

int cudaMemcpy3DPeerAsync(const DevSanCudaCopy3DPeer *copy, void *stream) {
  ENTER();
  REQUIRE(copy);
  REQUIRE_DEVICES(copy->to_device, copy->from_device);
  DevSanDriverCopy3D call;
  BOX(copy, &call);
  return done(DRIVER(cuMemcpy3DPeerAsync, &call, stream));
}

/* CUDA 12 has one more parameter before the stream: where the number of the copy that failed goes.
 */
int cudaMemcpyBatchAsync(void **to, void **from, size_t *bytes, size_t count, void *attributes,
                         size_t *indices, size_t attribute_count, void *stream_13,
                         void *stream_12) {
  (void)attributes, (void)indices, (void)attribute_count;
  devsan_standin_count(__func__);
  enum { kDefault = 4 };
  REQUIRE(count && to && from && bytes);
  int result = kSuccess;
  for (size_t i = 0; i < count && result == kSuccess; ++i) {
    result = cudaMemcpyAsync(to[i], from[i], bytes[i], kDefault,
                             DEVSAN_STANDIN_VERSION >= 13 ? stream_13 : stream_12);
    if (result != kSuccess && DEVSAN_STANDIN_VERSION < 13 && stream_13)
      *(size_t *)stream_13 = i;
  }
  return result;
}

int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
                       int kind) {
  ENTER();
  REQUIRE_DIRECTION(kind);
  return done(DRIVER(cuMemcpy, address(symbol) + offset, address(from), bytes));
}

int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset, int kind) {
  ENTER();
  REQUIRE_DIRECTION(kind);
  return done(DRIVER(cuMemcpy, address(to), address(symbol) + offset, bytes));
}

int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes, size_t offset,
                            int kind, void *stream) {
  ENTER();
  REQUIRE_DIRECTION(kind);
  return done(DRIVER(cuMemcpyAsync, address(symbol) + offset, address(from), bytes, stream));
}

int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes, size_t offset, int kind,
                              void *stream) {
  ENTER();
  REQUIRE_DIRECTION(kind);
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

static int setLayers(const DevSanCudaPitched *memory, int value, const DevSanCudaExtent *extent,
                     void *stream, int is_async) {
  int result = memory->pointer || !extent->width ? kSuccess : kInvalidValue;
  for (size_t z = 0; z < extent->depth && result == kSuccess; ++z) {
    char *layer = (char *)memory->pointer + z * memory->pitch * memory->y_size;
    result = is_async ? cudaMemset2DAsync(layer, memory->pitch, value, extent->width,
                                          extent->height, stream)
                      : cudaMemset2D(layer, memory->pitch, value, extent->width, extent->height);
  }
  return done(result);
}

int cudaMemset3D(DevSanCudaPitched memory, int value, DevSanCudaExtent extent) {
  devsan_standin_count(__func__);
  return setLayers(&memory, value, &extent, NULL, 0);
}

int cudaMemset3DAsync(DevSanCudaPitched memory, int value, DevSanCudaExtent extent, void *stream) {
  devsan_standin_count(__func__);
  return setLayers(&memory, value, &extent, stream, 1);
}

int cudaStreamCreate(void **out) {
  ENTER();
  REQUIRE(out);
  return done(DRIVER(cuStreamCreate, out, 0));
}

int cudaStreamCreateWithFlags(void **out, unsigned flags) {
  ENTER();
  REQUIRE(out);
  return done(DRIVER(cuStreamCreate, out, flags));
}

int cudaStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  ENTER();
  REQUIRE(out);
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
  REQUIRE(out);
  return done(DRIVER(cuEventCreate, out, 0));
}

int cudaEventCreateWithFlags(void **out, unsigned flags) {
  ENTER();
  REQUIRE(out);
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
  REQUIRE(milliseconds);
  return done(DRIVER(cuEventElapsedTime, milliseconds, event, later));
}

int cudaEventDestroy(void *event) {
  ENTER();
  return done(DRIVER_AS(cuEventDestroy_v2, cuEventDestroy, event));
}

int cudaIpcGetMemHandle(DevSanCudaIpcHandle *out, void *memory) {
  ENTER();
  REQUIRE(out);
  const int result = DRIVER(cuIpcGetMemHandle, out, address(memory));
  return done(result == kDevSanCudaNotSupported
                  ? devsan_standin_refuse("device memory shared between processes with "
                                          "--sim-protect=off (cudaIpcGetMemHandle)")
                  : result);
}

int cudaIpcOpenMemHandle(void **out, DevSanCudaIpcHandle handle, unsigned flags) {
  ENTER();
  REQUIRE(out);
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
  REQUIRE(out);
  return done(DRIVER(cuIpcGetEventHandle, out, event));
}

int cudaIpcOpenEventHandle(void **out, DevSanCudaIpcHandle handle) {
  ENTER();
  REQUIRE(out);
  return done(DRIVER(cuIpcOpenEventHandle, out, handle));
}

/* On simulated devices `kernel` is a handle. */
static int launch(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block, void **arguments,
                  size_t shared_memory, void *stream, int is_cooperative) {
  const DevSanKernelLaunch issued = {
      grid, block, shared_memory, stream, arguments, devsanCurrentDevice(), is_cooperative};
  const int refusal = devsanIsSimulated() ? devsanCheckLaunch(kernel, &issued) : kSuccess;
  if (refusal != kSuccess)
    return refusal;
  const int result = DRIVER(cuLaunchKernel, kernel, grid.x, grid.y, grid.z, block.x, block.y,
                            block.z, (unsigned)shared_memory, stream, arguments, NULL);
  return result == kSuccess && devsanIsSimulated() ? devsanLaunch(kernel, &issued) : result;
}

static int launchSymbol(const void *symbol, DevSanCudaDim grid, DevSanCudaDim block,
                        void **arguments, size_t shared_memory, void *stream, int is_cooperative) {
  const void *kernel = devsanIsSimulated() ? devsanKernelHandle(symbol) : symbol;
  return kernel ? launch(kernel, grid, block, arguments, shared_memory, stream, is_cooperative)
                : kInvalidDeviceFunction;
}

int cudaLaunchKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block, void **arguments,
                     size_t shared_memory, void *stream) {
  ENTER();
  return done(launchSymbol(kernel, grid, block, arguments, shared_memory, stream, 0));
}

int __cudaLaunchKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block,
                       void **arguments, size_t shared_memory, void *stream) {
  ENTER();
  return done(launch(kernel, grid, block, arguments, shared_memory, stream, 0));
}

int cudaLaunchCooperativeKernel(const void *kernel, DevSanCudaDim grid, DevSanCudaDim block,
                                void **arguments, size_t shared_memory, void *stream) {
  ENTER();
  return done(launchSymbol(kernel, grid, block, arguments, shared_memory, stream, 1));
}

/* As cudaLaunchAttribute. */
typedef struct {
  int id, unused;
  unsigned value[16];
} LaunchAttribute;

enum { kCooperative = 2, kClusterSize = 4 };

int cudaLaunchKernelExC(const DevSanCudaLaunch *call, const void *kernel, void **arguments) {
  static int is_said;
  int is_cooperative = 0;
  ENTER();
  REQUIRE(call);
  REQUIRE(call->attributes || !call->attribute_count);
  const LaunchAttribute *attributes = call->attributes;
  for (unsigned i = 0; i < call->attribute_count; ++i) {
    const unsigned *value = attributes[i].value;
    if (attributes[i].id == kClusterSize && (value[0] > 1 || value[1] > 1 || value[2] > 1))
      return devsanRefuse("clusters of blocks (cudaLaunchKernelExC)", &is_said);
    is_cooperative |= attributes[i].id == kCooperative && value[0];
  }
  return done(launchSymbol(kernel, call->grid, call->block, arguments, call->shared_memory,
                           call->stream, is_cooperative));
}

int cudaFuncSetAttribute(const void *kernel, int attribute, int value) {
  enum { kMaxDynamicSharedMemory = 8 };
  const struct DevSanStandinKernel *handle =
      devsanIsSimulated() && attribute == kMaxDynamicSharedMemory ? devsanKernelHandle(kernel)
                                                                  : NULL;
  return done(handle ? devsanAllowSharedMemory(handle, devsanCurrentDevice(), (size_t)value)
                     : kSuccess);
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
