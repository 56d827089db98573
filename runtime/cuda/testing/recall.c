/* A library linked with the stand-in that calls every entry point of the table once, as compiled
   code calls CUDA, and asks for each by name. The observer must be told of each call exactly once,
   and the stand-in must be reached. */
#define _GNU_SOURCE
#include "runtime/cuda/testing/recall.h"
#include "declarations.h"
#include "runtime/cuda/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *expected;
static int expected_calls, reached_before, is_helping;
static struct RecallResult result;

static void enter(DevSanCudaCall *call) {
  (void)call;
}

static void leave(DevSanCudaCall *call) {
  if (is_helping)
    return;
  if (expected && strcmp(call->name, expected) == 0) {
    ++expected_calls;
    return;
  }
  printf("  %s told while %s was called\n", call->name, expected ? expected : "nothing");
  ++result.failures;
}

static const DevSanCudaObserver kObserver = {enter, leave};

static const char *baseOf(const char *name) {
  static char base[96];
  snprintf(base, sizeof base, "%s", name);
  char *suffix = strstr(base, "_pt");
  if (suffix)
    *suffix = 0;
  return base;
}

static int isDriver(const char *name) {
  return strncmp(name, "cuda", 4) != 0 && strncmp(name, "__cuda", 6) != 0;
}

static void *runtime_library, *driver_library;
static int (*calls_of_runtime)(const char *);

static int reached(const char *name) {
  void *library = isDriver(name) ? driver_library : runtime_library;
  int (*calls)(const char *) = (int (*)(const char *))dlsym(library, "devsan_standin_calls");
  return calls ? calls(baseOf(name)) : -1;
}

static void fail(const char *name, const char *what) {
  printf("  %s: %s\n", name, what);
  ++result.failures;
}

static void checkLast(void) {
  if (!expected)
    return;
  ++result.calls;
  if (expected_calls != 1)
    fail(expected, expected_calls ? "told more than once" : "not told");
  if (reached(expected) <= reached_before)
    fail(expected, "did not reach the stand-in");
}

/* As a library looks for it: in CUDA's own library, and in the driver's by cuGetProcAddress. */
static void checkLookup(const char *name) {
  void *forwarder = dlsym(RTLD_DEFAULT, name);
  if (dlsym(isDriver(name) ? driver_library : runtime_library, name) != forwarder &&
      !recallIsSecond())
    fail(name, "dlsym gives the function itself");
  if (!isDriver(name))
    return;
  int (*look_up)(const char *, void **, int, unsigned long long, int *) =
      (int (*)(const char *, void **, int, unsigned long long, int *))dlsym(driver_library,
                                                                            "cuGetProcAddress_v2");
  void *old_function = NULL, *new_function = NULL;
  const int stream = strstr(name, "_pt") ? 2 : 1;
  look_up(baseOf(name), &old_function, 12080, stream, NULL);
  look_up(baseOf(name), &new_function, 13000, stream, NULL);
  if (old_function != forwarder && new_function != forwarder)
    fail(name, "cuGetProcAddress gives the function itself");
}

static void step(const char *name) {
  checkLast();
  checkLookup(name);
  expected = name;
  expected_calls = 0;
  reached_before = reached(name);
}

static int symbol[64];

static void *takeDevice(void) {
  void *memory = NULL;
  ++is_helping;
  cudaMalloc(&memory, 64);
  --is_helping;
  return memory;
}

static void *takeHost(void) {
  void *memory = NULL;
  ++is_helping;
  cudaMallocHost(&memory, 64);
  --is_helping;
  return memory;
}

static void *takeArray(void) {
  const int bytes[5] = {8};
  void *array = NULL;
  ++is_helping;
  cudaMallocArray(&array, bytes, 64, 1, 0);
  --is_helping;
  return array;
}

static void *takeRegistered(void) {
  void *memory = malloc(64);
  ++is_helping;
  cudaHostRegister(memory, 64, 0);
  --is_helping;
  return memory;
}

static void callAll(void) {
  void *device_memory = takeDevice(), *array = takeArray(), *host_memory = calloc(1, 8192);
  void *stream, *event, *context, *out;
  ++is_helping;
  cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  cuDevicePrimaryCtxRetain(&context, 0);
  --is_helping;
  void *destinations[] = {device_memory}, *sources[] = {host_memory};
  size_t sizes[] = {64}, size;
  DevSanCudaAddress address;
  const int format[5] = {8};
  const DevSanCudaDim one = {1, 1, 1};
  const DevSanCudaExtent extent = {8, 1, 1};
  DevSanCudaPitched pitched = {device_memory, 8, 8, 8};
  DevSanCudaCopy3D copy3D = {
      .from = {host_memory, 8, 8, 8}, .to = pitched, .extent = extent, .kind = 4};
  DevSanCudaCopy3DPeer peerCopy3D = {.from = pitched, .to = pitched, .extent = extent};
  DevSanDriverCopy2D driver2D = {.from_type = kDevSanDriverHost,
                                 .from_host = host_memory,
                                 .to_type = kDevSanDriverDevice,
                                 .to_device = (DevSanCudaAddress)device_memory,
                                 .width = 8,
                                 .height = 1};
  DevSanDriverCopy3D driver3D = {.from_type = kDevSanDriverHost,
                                 .from_host = host_memory,
                                 .to_type = kDevSanDriverDevice,
                                 .to_device = (DevSanCudaAddress)device_memory,
                                 .width = 8,
                                 .height = 1,
                                 .depth = 1};
  const DevSanCudaBatchedCopy3D operation = {.extent = extent};
  const DevSanCudaLaunch launch = {.grid = one, .block = one, .stream = stream};
  const DevSanDriverLaunch driverLaunch = {{1, 1, 1}, {1, 1, 1}, 0, stream, NULL, 0};
  void *arguments[] = {&device_memory};
#include "recall.inc"
  checkLast();
  expected = NULL;
}

struct RecallResult devsan_recall(void) {
  DevSanObserveCuda observe = (DevSanObserveCuda)dlsym(RTLD_DEFAULT, "devsan_preload_observe_cuda");
  if (!observe) {
    fail("devsan_preload_observe_cuda", "not there: the shim is not loaded");
    return result;
  }
  runtime_library = dlopen(DEVSAN_RUNTIME_SONAME, RTLD_LAZY | RTLD_NOLOAD);
  driver_library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!runtime_library || !driver_library) {
    fail(DEVSAN_RUNTIME_SONAME, "or libcuda.so.1 is not loaded");
    return result;
  }
  observe(&kObserver);
  callAll();
  observe(NULL);
  calls_of_runtime = (int (*)(const char *))dlsym(runtime_library, "devsan_standin_calls");
  return result;
}

int devsan_recall_again(void) {
  const int before = calls_of_runtime("cudaSetDevice");
  cudaSetDevice(0);
  return calls_of_runtime("cudaSetDevice") - before;
}
