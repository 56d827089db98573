/* What the files of the runtime's stand-in share. Everything here is hidden outside of
   libcudart.so. */
#ifndef DEVSAN_RUNTIME_CUDA_STANDIN_RUNTIME_H
#define DEVSAN_RUNTIME_CUDA_STANDIN_RUNTIME_H

#include "declarations.h"
#include "runtime/cuda/calls.h"
#include "runtime/cuda/standin/standin.h"

enum {
  kSuccess = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInitializationError = 3,
  kInvalidConfiguration = 9,
  kInvalidPitch = 12,
  kInvalidDirection = 21,
  kNoDriver = 35,
  kInvalidDeviceFunction = 98,
  kNoDevice = 100,
  kInvalidDevice = 101,
  kUnsupportedLimit = 215,
  kPeerAccessUnsupported = 217,
  kInvalidHandle = 400,
  kPeerAccessAlreadyEnabled = 704,
  kPeerAccessNotEnabled = 705,
  kCooperativeLaunchTooLarge = 720
};

/* The result, which is the thread's last error where it is one. */
int devsanDone(int result);

/* What a GPU answers to a null pointer where a result is to be put. */
#define REQUIRE(pointer)                                                                           \
  do {                                                                                             \
    if (!(pointer))                                                                                \
      return devsanDone(kInvalidValue);                                                            \
  } while (0)

/* The number of a device that is there, and the current one. */
int devsanIsDeviceNumber(int device);
int devsanCurrentDevice(void);
/* The context of the thread's device, made where it is not there yet. */
int devsanEnterContext(void);
/* What the simulator lets arrive late. */
void devsanFinishCopies(void);
/* A function of the driver's, beyond those that it is asked for by version. */
void *devsanDriverFunction(const char *name);

/* -1 where there is no such pool. */
int devsanPoolDevice(const void *pool);

/* Of a CUDA array: its memory, which is linear and without padding, NULL where there is no such
   array, the bytes of an element and of a row, and the elements, rows and layers it has. */
typedef struct {
  size_t element, pitch, width, height, depth;
} DevSanArrayLayout;
char *devsanArray(const void *array, DevSanArrayLayout *layout);

/* Whether so much lies within what has that size. */
static inline int devsanFits(size_t begin, size_t length, size_t size) {
  return begin <= size && length <= size - begin;
}

#endif
