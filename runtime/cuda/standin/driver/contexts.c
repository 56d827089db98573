#include "runtime/cuda/standin/driver/driver.h"

#include <stdlib.h>

__thread struct Context *devsanCurrent;
static struct Context *primary[kMaxDevices];
static int primary_uses[kMaxDevices];
static __thread struct Context *stack[16];
static __thread int stack_size;

int cuDevicePrimaryCtxRetain(void **out, int device) {
  devsan_standin_count("cuDevicePrimaryCtxRetain");
  if (!devsanDevices.is_initialized)
    return kNotInitialized;
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  pthread_mutex_lock(&devsanDriverLock);
  if (!primary[device]) {
    primary[device] = calloc(1, sizeof **primary);
    primary[device]->device = device;
    primary[device]->legacy.context = primary[device];
  }
  ++primary_uses[device];
  *out = primary[device];
  pthread_mutex_unlock(&devsanDriverLock);
  return kSuccess;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  pthread_mutex_lock(&devsanDriverLock);
  if (primary_uses[device])
    --primary_uses[device];
  pthread_mutex_unlock(&devsanDriverLock);
  return kSuccess;
}

int cuDevicePrimaryCtxReset_v2(int device) {
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  if (primary[device])
    devsanWaitForContext(primary[device]);
  pthread_mutex_lock(&devsanDriverLock);
  primary_uses[device] = 0;
  pthread_mutex_unlock(&devsanDriverLock);
  return kSuccess;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  *flags = 0;
  *active = primary_uses[device] > 0;
  return kSuccess;
}

static int createContext(void **out, int device) {
  if (!devsanIsDevice(device))
    return kInvalidDevice;
  struct Context *context = calloc(1, sizeof *context);
  context->device = device;
  context->legacy.context = context;
  devsanCurrent = *out = context;
  return kSuccess;
}

int cuCtxCreate_v2(void **out, unsigned flags, int device) {
  (void)flags;
  devsan_standin_count("cuCtxCreate_v2");
  return createContext(out, device);
}

int cuCtxCreate_v3(void **out, void *affinity, int count, unsigned flags, int device) {
  (void)affinity, (void)count, (void)flags;
  devsan_standin_count("cuCtxCreate_v3");
  return createContext(out, device);
}

int cuCtxCreate_v4(void **out, void *parameters, unsigned flags, int device) {
  (void)parameters, (void)flags;
  devsan_standin_count("cuCtxCreate_v4");
  return createContext(out, device);
}

int cuCtxDestroy_v2(void *context) {
  if (devsanCurrent == context)
    devsanCurrent = NULL;
  return kSuccess;
}

int cuCtxSetCurrent(void *context) {
  devsanCurrent = context;
  return kSuccess;
}

int cuCtxGetCurrent(void **out) {
  *out = devsanCurrent;
  return kSuccess;
}

int cuCtxPushCurrent_v2(void *context) {
  if (stack_size == sizeof stack / sizeof *stack)
    return kInvalidValue;
  stack[stack_size++] = devsanCurrent;
  devsanCurrent = context;
  return kSuccess;
}

int cuCtxPopCurrent_v2(void **out) {
  if (out)
    *out = devsanCurrent;
  if (stack_size == 0)
    return kInvalidContext;
  devsanCurrent = stack[--stack_size];
  return kSuccess;
}

int cuCtxGetDevice(int *out) {
  if (!devsanCurrent)
    return kInvalidContext;
  *out = devsanCurrent->device;
  return kSuccess;
}

int cuCtxSynchronize(void) {
  devsan_standin_count("cuCtxSynchronize");
  devsan_standin_note("wait device");
  if (!devsanCurrent)
    return kInvalidContext;
  devsanWaitForContext(devsanCurrent);
  return devsanRefuseWait(devsanIsContextCaptured(devsanCurrent));
}

int cuCtxSynchronize_v2(void *context) {
  devsan_standin_count("cuCtxSynchronize_v2");
  devsan_standin_note("wait device");
  devsanWaitForContext(context);
  return kSuccess;
}
