/* Which devices there are, and what they are. */
#define _GNU_SOURCE
#include "runtime/cuda/standin/driver/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t devsanDriverLock = PTHREAD_MUTEX_INITIALIZER;
struct DevSanDevices devsanDevices = {.memory = (size_t)16 << 30};
static int machine_devices;
/* A child of a process that has used the devices can use none: cudaErrorInitializationError. */
static int is_child;

static void uuidOf(int device, unsigned char *uuid) {
  memset(uuid, 0, 16);
  memcpy(uuid, "DevSan", 6);
  uuid[15] = (unsigned char)devsanDevices.physical[device];
}

/* CUDA_VISIBLE_DEVICES, as CUDA's driver reads it: the list ends before the first entry that names
   no device, and one that is named twice hides them all. What follows a number is ignored. */
static void readVisibleDevices(void) {
  const char *text = getenv("CUDA_VISIBLE_DEVICES");
  devsanDevices.count = 0;
  for (int i = 0; !text && i < machine_devices; ++i)
    devsanDevices.physical[devsanDevices.count++] = i;
  while (text && *text) {
    char *end;
    long device = -1;
    unsigned by_uuid;
    text += strspn(text, " \t");
    if (sscanf(text, "GPU-44657653-616e-0000-0000-00000000%4x", &by_uuid) == 1)
      device = (long)by_uuid;
    else if ((device = strtol(text, &end, 10)), end == text)
      device = -1;
    if (device < 0 || device >= machine_devices)
      return;
    for (int i = 0; i < devsanDevices.count; ++i)
      if (devsanDevices.physical[i] == device) {
        devsanDevices.count = 0;
        return;
      }
    devsanDevices.physical[devsanDevices.count++] = (int)device;
    text = strchrnul(text, ',');
    text += *text == ',';
  }
}

static void enterChild(void) {
  pthread_mutex_init(&devsanDriverLock, NULL);
  devsanLoseArena();
  is_child = 1;
}

static pthread_once_t memory_once = PTHREAD_ONCE_INIT, devices_once = PTHREAD_ONCE_INIT;

static void makeMemory(void) {
  const char *simulated = getenv("DEVSAN_SIM_DEVICES"), *text = getenv("DEVSAN_STANDIN_DEVICES");
  const char *protect = getenv("DEVSAN_SIM_PROTECT"), *size = getenv("DEVSAN_SIM_MEMORY");
  devsanDevices.is_simulated = simulated && *simulated;
  if (devsanDevices.is_simulated)
    text = simulated;
  machine_devices = text && *text ? atoi(text) : 2;
  if (machine_devices > kMaxDevices)
    machine_devices = kMaxDevices;
  if (devsanDevices.is_simulated) {
    devsanDevices.memory = size && *size
                               ? strtoull(size, NULL, 10)
                               : (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    pthread_atfork(NULL, NULL, enterChild);
  }
  devsanMakeArena(machine_devices, devsanDevices.memory,
                  devsanDevices.is_simulated && protect && strcmp(protect, "on") == 0);
}

/* At the first use of a device, as CUDA's driver does: programs choose theirs after they have
   loaded LibTorch. */
static void countDevices(void) {
  int (*is_unobserved)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "devsan_preload_is_unobserved");
  if (devsanDevices.is_simulated && is_unobserved && is_unobserved())
    return;
  if (devsanDevices.is_simulated)
    return readVisibleDevices();
  for (devsanDevices.count = 0; devsanDevices.count < machine_devices; ++devsanDevices.count)
    devsanDevices.physical[devsanDevices.count] = devsanDevices.count;
}

const DevSanStandinMemory *devsan_standin_memory(void) {
  pthread_once(&memory_once, makeMemory);
  return devsanArena();
}

int cuInit(unsigned flags) {
  if (flags)
    return kInvalidValue;
  /* Nothing is lost in a child of a process that has not used the devices. */
  if (is_child && devsanDevices.is_initialized)
    return kNotInitialized;
  pthread_once(&memory_once, makeMemory);
  pthread_once(&devices_once, countDevices);
  if (is_child && !devsanRemakeArena())
    return kOutOfMemory;
  devsanDevices.is_initialized = 1;
  return kSuccess;
}

int devsan_standin_is_simulated(void) {
  pthread_once(&memory_once, makeMemory);
  return devsanDevices.is_simulated;
}

int cuGetErrorString(int error, const char **text) {
  *text = error == kSuccess ? "no error"
          : error == kDevSanCudaNotSupported && devsan_standin_refused()
              ? devsan_standin_refused()
              : "an error of the simulated CUDA driver";
  return kSuccess;
}

int cuGetErrorName(int error, const char **text) {
  *text = error == kSuccess ? "CUDA_SUCCESS" : "CUDA_ERROR_NOT_SUPPORTED";
  return kSuccess;
}

/* NVRTC asks for a table of its own, and takes a driver without this function for one with it. */
int cuGetExportTable(const void **table, const void *id) {
  (void)id;
  *table = NULL;
  return kNotFound;
}

int cuDeviceGetUuid(void *out, int device) {
  if (device < 0 || device >= devsanDevices.count)
    return kInvalidDevice;
  uuidOf(device, out);
  return kSuccess;
}

int cuDeviceGetUuid_v2(void *out, int device) {
  return cuDeviceGetUuid(out, device);
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  if (device < 0 || device >= devsanDevices.count)
    return kInvalidDevice;
  *bytes = devsanDevices.memory;
  return kSuccess;
}

int cuDriverGetVersion(int *version) {
  *version = 13000;
  return kSuccess;
}

int cuDeviceGetCount(int *count) {
  if (!devsanDevices.is_initialized)
    return kNotInitialized;
  *count = devsanDevices.count;
  return kSuccess;
}

int cuDeviceGet(int *out, int device) {
  if (!devsanDevices.is_initialized)
    return kNotInitialized;
  if (device < 0 || device >= devsanDevices.count)
    return kInvalidDevice;
  *out = device;
  return kSuccess;
}

int devsanIsDevice(int device) {
  return device >= 0 && device < devsanDevices.count;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  /* By the numbers of CUdevice_attribute, which are those of cudaDeviceAttr. */
  static const struct {
    int attribute, value;
  } kValues[] = {
      {1, kThreadsPerBlock},
      {8, kSharedPerBlock},
      {9, kConstant},
      {10, kWarp},
      {11, kMostPitch},
      {12, kRegisters},
      {14, kTextureAlignment},
      {15, 1}, /* copies overlap with kernels */
      {16, kProcessors},
      {19, 1}, /* host memory is mapped */
      {31, 1}, /* kernels run at once */
      {38, kL2},
      {39, kThreadsPerProcessor},
      {40, kCopyEngines},
      {41, 1}, /* one space of addresses */
      {51, kTexturePitch},
      {75, kMajor},
      {76, kMinor},
      {78, 1}, /* streams have priorities */
      {81, kSharedPerProcessor},
      {82, kRegisters},
      {83, 1}, /* managed memory */
      {95, 1}, /* cooperative launches */
      {97, kSharedPerBlockOptIn},
      {99, 1}, /* host memory is registered */
      {106, kBlocksPerProcessor},
      {115, 1}, /* memory pools */
  };
  *value = 0;
  if (attribute >= 2 && attribute <= 4)
    *value = (int)kDevSanLargestBlock[attribute - 2];
  else if (attribute >= 5 && attribute <= 7)
    *value = (int)kDevSanLargestGrid[attribute - 5];
  else if (attribute == 33) /* on the bus */
    *value = device + 1;
  for (size_t i = 0; i < sizeof kValues / sizeof *kValues; ++i)
    if (kValues[i].attribute == attribute)
      *value = kValues[i].value;
  return kSuccess;
}
