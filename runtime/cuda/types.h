/* Layouts of CUDA's parameters as far as calls are read or forwarded, for C and C++: the ABI of
   CUDA 12 and 13. Used by the shim, the stand-in and their tests; the project needs no CUDA
   headers. Enumerations are int, handles void *, addresses of the driver's interface unsigned long
   long. */
#ifndef DEVSAN_RUNTIME_CUDA_TYPES_H
#define DEVSAN_RUNTIME_CUDA_TYPES_H

#include <stddef.h>

typedef unsigned long long DevSanCudaAddress;

typedef struct {
  unsigned x, y, z;
} DevSanCudaDim;

typedef struct {
  size_t x, y, z;
} DevSanCudaPosition;

/* For linear memory the width is in bytes. */
typedef struct {
  size_t width, height, depth;
} DevSanCudaExtent;

typedef struct {
  void *pointer;
  size_t pitch, x_size, y_size;
} DevSanCudaPitched;

typedef struct {
  void *from_array;
  DevSanCudaPosition from_position;
  DevSanCudaPitched from;
  void *to_array;
  DevSanCudaPosition to_position;
  DevSanCudaPitched to;
  DevSanCudaExtent extent;
  int kind;
} DevSanCudaCopy3D;

typedef struct {
  void *from_array;
  DevSanCudaPosition from_position;
  DevSanCudaPitched from;
  int from_device;
  void *to_array;
  DevSanCudaPosition to_position;
  DevSanCudaPitched to;
  int to_device;
  DevSanCudaExtent extent;
} DevSanCudaCopy3DPeer;

enum { kDevSanCudaPointerOperand = 1 };

typedef struct {
  int type;
  union {
    struct {
      void *pointer;
      size_t row, layer;
      int location[2];
    } linear;
    struct {
      void *array;
      DevSanCudaPosition position;
    } array;
  } memory;
} DevSanCudaOperand;

typedef struct {
  DevSanCudaOperand from, to;
  DevSanCudaExtent extent;
  int order;
  unsigned flags;
} DevSanCudaBatchedCopy3D;

typedef struct {
  DevSanCudaDim grid, block;
  size_t shared_memory;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} DevSanCudaLaunch;

/* In CUDA 13 eight words follow, which are 0. */
typedef struct {
  int type; /* 0 unregistered, 1 host, 2 device, 3 managed */
  int device;
  void *device_pointer;
  void *host_pointer;
} DevSanCudaPointerAttributes;

/* What a process gives another one for its memory or its event. */
typedef struct {
  char bytes[64];
} DevSanCudaIpcHandle;

/* The driver's interface. */
enum { kDevSanDriverHost = 1, kDevSanDriverDevice, kDevSanDriverArray, kDevSanDriverUnified };

typedef struct {
  size_t from_x, from_y;
  int from_type;
  const void *from_host;
  DevSanCudaAddress from_device;
  void *from_array;
  size_t from_pitch;
  size_t to_x, to_y;
  int to_type;
  void *to_host;
  DevSanCudaAddress to_device;
  void *to_array;
  size_t to_pitch;
  size_t width, height;
} DevSanDriverCopy2D;

/* Also between contexts: the reserved words are the contexts then. */
typedef struct {
  size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void *from_host;
  DevSanCudaAddress from_device;
  void *from_array;
  void *from_context;
  size_t from_pitch, from_height;
  size_t to_x, to_y, to_z, to_lod;
  int to_type;
  void *to_host;
  DevSanCudaAddress to_device;
  void *to_array;
  void *to_context;
  size_t to_pitch, to_height;
  size_t width, height, depth;
} DevSanDriverCopy3D;

typedef struct {
  unsigned grid[3], block[3];
  unsigned shared_memory;
  void *stream;
  void *attributes;
  unsigned attribute_count;
} DevSanDriverLaunch;

#endif
