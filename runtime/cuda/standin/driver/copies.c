#include "runtime/cuda/standin/driver/driver.h"
#include "runtime/protocol/staged_upload.h"

#include <stdio.h>
#include <string.h>

static uint64_t copyTime(uint64_t bytes) {
  return devsanDevices.is_simulated ? 0 : 2000 + bytes / 10;
}

static const char *placeOf(const void *address, int type, char text[16]) {
  if (type < kOnDevice)
    return type == kPinned ? "pinned" : "pageable";
  snprintf(text, 16, "cuda:%d", devsanDeviceOf(address));
  return text;
}

/* Lets the host wait as CUDA does: always for a copy that is not in a stream's order, else where
   one side is pageable and it is no small upload. */
static int copyLayers(void *to, size_t to_pitch, size_t to_height, const void *from,
                      size_t from_pitch, size_t from_height, size_t width, size_t height,
                      size_t depth, struct Stream *stream, int is_async) {
  size_t rows, bytes;
  if (!devsanCurrent)
    return kInvalidContext;
  if (__builtin_mul_overflow(height, depth, &rows) || __builtin_mul_overflow(width, rows, &bytes) ||
      ((!to || !from) && bytes))
    return kInvalidValue;
  devsanFinishCopies();
  for (size_t i = 0; i < rows; ++i)
    memmove((char *)devsanReach(to) + (i / height * to_height + i % height) * to_pitch,
            (char *)devsanReach(from) + (i / height * from_height + i % height) * from_pitch,
            width);
  const int to_type = devsanTypeOf(to), from_type = devsanTypeOf(from);
  const int between_devices = to_type >= kOnDevice && from_type >= kOnDevice;
  const int is_staged = to_type >= kOnDevice && bytes <= kDevSanStagedUpload;
  const int waits =
      is_async ? to_type == kPageable || (from_type == kPageable && !is_staged) : !between_devices;
  char from_text[16], to_text[16];
  devsan_standin_note("copy %s %s %zu%s", placeOf(from, from_type, from_text),
                      placeOf(to, to_type, to_text), bytes, waits ? " wait" : "");
  devsanIssue(stream, copyTime(bytes));
  const DevSanMemoryUse uses[] = {{from, kDevSanReads}, {to, kDevSanWrites}};
  devsanUse(stream, is_async ? "cudaMemcpyAsync" : "cudaMemcpy", uses, 2);
  if (!waits)
    return kSuccess;
  devsanWaitForStream(stream);
  return devsanRefuseWait(devsanIsCaptured(stream->capture));
}

static int copy(void *to, const void *from, size_t bytes, void *stream, int is_async) {
  return copyLayers(to, 0, 0, from, 0, 0, bytes, 1, 1, devsanStreamOf(stream), is_async);
}

int cuMemcpy(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpy");
  return copy(devsanHost(to), devsanHost(from), bytes, NULL, 0);
}

int cuMemcpyHtoD_v2(DevSanCudaAddress to, const void *from, size_t bytes) {
  devsan_standin_count("cuMemcpyHtoD_v2");
  return copy(devsanHost(to), from, bytes, NULL, 0);
}

int cuMemcpyDtoH_v2(void *to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpyDtoH_v2");
  return copy(to, devsanHost(from), bytes, NULL, 0);
}

int cuMemcpyDtoD_v2(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes) {
  devsan_standin_count("cuMemcpyDtoD_v2");
  return copy(devsanHost(to), devsanHost(from), bytes, NULL, 0);
}

int cuMemcpyPeer(DevSanCudaAddress to, void *to_context, DevSanCudaAddress from, void *from_context,
                 size_t bytes) {
  (void)to_context, (void)from_context;
  devsan_standin_count("cuMemcpyPeer");
  return copy(devsanHost(to), devsanHost(from), bytes, NULL, 0);
}

int cuMemcpyAsync(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyAsync");
  return copy(devsanHost(to), devsanHost(from), bytes, stream, 1);
}

int cuMemcpyHtoDAsync_v2(DevSanCudaAddress to, const void *from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyHtoDAsync_v2");
  return copy(devsanHost(to), from, bytes, stream, 1);
}

int cuMemcpyDtoHAsync_v2(void *to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyDtoHAsync_v2");
  return copy(to, devsanHost(from), bytes, stream, 1);
}

int cuMemcpyDtoDAsync_v2(DevSanCudaAddress to, DevSanCudaAddress from, size_t bytes, void *stream) {
  devsan_standin_count("cuMemcpyDtoDAsync_v2");
  return copy(devsanHost(to), devsanHost(from), bytes, stream, 1);
}

int cuMemcpyPeerAsync(DevSanCudaAddress to, void *to_context, DevSanCudaAddress from,
                      void *from_context, size_t bytes, void *stream) {
  (void)to_context, (void)from_context;
  devsan_standin_count("cuMemcpyPeerAsync");
  return copy(devsanHost(to), devsanHost(from), bytes, stream, 1);
}

static char *end(int type, const void *host, DevSanCudaAddress device) {
  return type == kDevSanDriverHost ? (char *)(uintptr_t)host : devsanHost(device);
}

static int copy2D(const DevSanDriverCopy2D *call, void *stream, int is_async) {
  char *to = end(call->to_type, call->to_host, call->to_device);
  const char *from = end(call->from_type, call->from_host, call->from_device);
  return copyLayers(to + call->to_y * call->to_pitch + call->to_x, call->to_pitch, 0,
                    from + call->from_y * call->from_pitch + call->from_x, call->from_pitch, 0,
                    call->width, call->height, 1, devsanStreamOf(stream), is_async);
}

static int copy3D(const DevSanDriverCopy3D *call, void *stream, int is_async) {
  char *to = end(call->to_type, call->to_host, call->to_device);
  const char *from = end(call->from_type, call->from_host, call->from_device);
  return copyLayers(to + (call->to_z * call->to_height + call->to_y) * call->to_pitch + call->to_x,
                    call->to_pitch, call->to_height,
                    from + (call->from_z * call->from_height + call->from_y) * call->from_pitch +
                        call->from_x,
                    call->from_pitch, call->from_height, call->width, call->height, call->depth,
                    devsanStreamOf(stream), is_async);
}

int cuMemcpy3D_v2(const DevSanDriverCopy3D *call) {
  devsan_standin_count("cuMemcpy3D_v2");
  return copy3D(call, NULL, 0);
}

int cuMemcpy3DAsync_v2(const DevSanDriverCopy3D *call, void *stream) {
  devsan_standin_count("cuMemcpy3DAsync_v2");
  return copy3D(call, stream, 1);
}

int cuMemcpy3DPeer(const DevSanDriverCopy3D *call) {
  devsan_standin_count("cuMemcpy3DPeer");
  return copy3D(call, NULL, 0);
}

int cuMemcpy3DPeerAsync(const DevSanDriverCopy3D *call, void *stream) {
  devsan_standin_count("cuMemcpy3DPeerAsync");
  return copy3D(call, stream, 1);
}

int cuMemcpy2D_v2(const DevSanDriverCopy2D *call) {
  devsan_standin_count("cuMemcpy2D_v2");
  return copy2D(call, NULL, 0);
}

int cuMemcpy2DUnaligned_v2(const DevSanDriverCopy2D *call) {
  devsan_standin_count("cuMemcpy2DUnaligned_v2");
  return copy2D(call, NULL, 0);
}

int cuMemcpy2DAsync_v2(const DevSanDriverCopy2D *call, void *stream) {
  devsan_standin_count("cuMemcpy2DAsync_v2");
  return copy2D(call, stream, 1);
}

static int set(DevSanCudaAddress to, const void *value, size_t size, size_t pitch, size_t width,
               size_t height, void *stream, int is_async) {
  if (!devsanCurrent)
    return kInvalidContext;
  if (width && height && (!to || (height > 1 && width > pitch / size)))
    return kInvalidValue;
  devsanFinishCopies();
  if (size == 1)
    for (size_t y = 0; y < height; ++y)
      memset((char *)devsanReach(devsanHost(to)) + y * pitch, *(const unsigned char *)value, width);
  for (size_t y = 0; size > 1 && y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      memcpy((char *)devsanReach(devsanHost(to)) + y * pitch + x * size, value, size);
  struct Stream *used = devsanStreamOf(stream);
  devsanIssue(used, copyTime(size * width * height));
  const DevSanMemoryUse use = {devsanHost(to), kDevSanWrites};
  devsanUse(used, is_async ? "cudaMemsetAsync" : "cudaMemset", &use, 1);
  if (!is_async && devsanTypeOf(devsanHost(to)) < kOnDevice)
    devsanWaitForStream(used);
  return kSuccess;
}

#define DEVSAN_DEFINE_SET(bits, type)                                                              \
  int cuMemsetD##bits##_v2(DevSanCudaAddress to, type value, size_t count) {                       \
    devsan_standin_count("cuMemsetD" #bits "_v2");                                                 \
    return set(to, &value, sizeof value, 0, count, 1, NULL, 0);                                    \
  }                                                                                                \
  int cuMemsetD##bits##Async(DevSanCudaAddress to, type value, size_t count, void *stream) {       \
    devsan_standin_count("cuMemsetD" #bits "Async");                                               \
    return set(to, &value, sizeof value, 0, count, 1, stream, 1);                                  \
  }                                                                                                \
  int cuMemsetD2D##bits##_v2(DevSanCudaAddress to, size_t pitch, type value, size_t width,         \
                             size_t height) {                                                      \
    devsan_standin_count("cuMemsetD2D" #bits "_v2");                                               \
    return set(to, &value, sizeof value, pitch, width, height, NULL, 0);                           \
  }                                                                                                \
  int cuMemsetD2D##bits##Async(DevSanCudaAddress to, size_t pitch, type value, size_t width,       \
                               size_t height, void *stream) {                                      \
    devsan_standin_count("cuMemsetD2D" #bits "Async");                                             \
    return set(to, &value, sizeof value, pitch, width, height, stream, 1);                         \
  }
DEVSAN_DEFINE_SET(8, unsigned char)
DEVSAN_DEFINE_SET(16, unsigned short)
DEVSAN_DEFINE_SET(32, unsigned)
