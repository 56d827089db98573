/* CUDA arrays, which are linear memory of the device here, and the objects through which kernels
   read and write them: the host's side of both. A kernel's host implementation asks an object for
   its resource. Mipmapped arrays have their first level alone. */
#include "runtime/cuda/standin/runtime.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int bits[4];
  int kind;
} Format;

struct Array {
  char *memory;
  Format format;
  DevSanCudaExtent extent;
  unsigned flags;
  struct Array *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Array *arrays;

static size_t elementOf(const Format *format) {
  size_t bits = 0;
  for (int i = 0; i < 4; ++i)
    bits += (size_t)format->bits[i];
  return bits / 8;
}

/* The sizes that GPUs have: alike but for one packed format. */
static int isFormat(const Format *format) {
  enum { kTenTenTenTwo = 31 };
  static const int kPacked[4] = {10, 10, 10, 2};
  if (format->kind == kTenTenTenTwo)
    return memcmp(format->bits, kPacked, sizeof kPacked) == 0;
  for (int i = 0; i < 4; ++i) {
    const int bits = format->bits[i];
    if (bits != 0 && bits != 8 && bits != 16 && bits != 32)
      return 0;
  }
  return 1;
}

static size_t atLeastOne(size_t count) {
  return count ? count : 1;
}

/* The lock is held. */
static struct Array **find(const void *array) {
  struct Array **link = &arrays;
  while (*link && *link != array)
    link = &(*link)->next;
  return link;
}

char *devsanArray(const void *array, DevSanArrayLayout *layout) {
  char *memory = NULL;
  pthread_mutex_lock(&lock);
  const struct Array *one = *find(array);
  if (one) {
    memory = one->memory;
    layout->element = elementOf(&one->format);
    layout->pitch = layout->element * one->extent.width;
    layout->width = one->extent.width;
    layout->height = atLeastOne(one->extent.height);
    layout->depth = atLeastOne(one->extent.depth);
  }
  pthread_mutex_unlock(&lock);
  return memory;
}

int cudaMalloc3DArray(void **out, const void *format, DevSanCudaExtent extent, unsigned flags) {
  devsan_standin_count(__func__);
  REQUIRE(out);
  REQUIRE(format);
  *out = NULL;
  REQUIRE(isFormat(format));
  size_t bytes = elementOf(format);
  if (__builtin_mul_overflow(bytes, extent.width, &bytes) ||
      __builtin_mul_overflow(bytes, atLeastOne(extent.height), &bytes) ||
      __builtin_mul_overflow(bytes, atLeastOne(extent.depth), &bytes))
    return devsanDone(kOutOfMemory);
  REQUIRE(bytes);
  struct Array *made = calloc(1, sizeof *made);
  if (!made)
    return devsanDone(kOutOfMemory);
  const int result = cudaMalloc((void **)&made->memory, bytes);
  if (result != kSuccess) {
    free(made);
    return result;
  }
  made->format = *(const Format *)format;
  made->extent = extent;
  made->flags = flags;
  pthread_mutex_lock(&lock);
  made->next = arrays;
  arrays = made;
  pthread_mutex_unlock(&lock);
  *out = made;
  return kSuccess;
}

int cudaMallocArray(void **out, const void *format, size_t width, size_t height, unsigned flags) {
  devsan_standin_count(__func__);
  return cudaMalloc3DArray(out, format, (DevSanCudaExtent){width, height, 0}, flags);
}

int cudaMallocMipmappedArray(void **out, const void *format, DevSanCudaExtent extent,
                             unsigned levels, unsigned flags) {
  (void)levels;
  devsan_standin_count(__func__);
  return cudaMalloc3DArray(out, format, extent, flags);
}

int cudaFreeArray(void *array) {
  devsan_standin_count(__func__);
  if (!array)
    return kSuccess;
  pthread_mutex_lock(&lock);
  struct Array **link = find(array), *one = *link;
  if (one)
    *link = one->next;
  pthread_mutex_unlock(&lock);
  REQUIRE(one);
  const int result = cudaFree(one->memory);
  free(one);
  return result;
}

int cudaFreeMipmappedArray(void *array) {
  devsan_standin_count(__func__);
  return cudaFreeArray(array);
}

int cudaArrayGetInfo(Format *format, DevSanCudaExtent *extent, unsigned *flags, void *array);
int cudaArrayGetInfo(Format *format, DevSanCudaExtent *extent, unsigned *flags, void *array) {
  pthread_mutex_lock(&lock);
  const struct Array *one = *find(array);
  if (one && format)
    *format = one->format;
  if (one && extent)
    *extent = one->extent;
  if (one && flags)
    *flags = one->flags;
  pthread_mutex_unlock(&lock);
  return devsanDone(one ? kSuccess : kInvalidHandle);
}

int cudaGetChannelDesc(Format *format, const void *array);
int cudaGetChannelDesc(Format *format, const void *array) {
  REQUIRE(format);
  return cudaArrayGetInfo(format, NULL, NULL, (void *)(uintptr_t)array);
}

Format cudaCreateChannelDesc(int x, int y, int z, int w, int kind);
Format cudaCreateChannelDesc(int x, int y, int z, int w, int kind) {
  return (Format){{x, y, z, w}, kind};
}

/* Where rows of an array begin; NULL where it does not have them all. An offset in a row and its
   width are in bytes. */
static char *place(const void *array, size_t x, size_t y, size_t width, size_t height,
                   size_t *pitch) {
  DevSanArrayLayout layout;
  char *memory = devsanArray(array, &layout);
  if (!memory || !devsanFits(x, width, layout.pitch) || !devsanFits(y, height, layout.height))
    return NULL;
  *pitch = layout.pitch;
  return memory + y * layout.pitch + x;
}

/* The same of bytes that go on in the next row. */
static char *placeOfBytes(const void *array, size_t x, size_t y, size_t bytes) {
  DevSanArrayLayout layout;
  char *memory = devsanArray(array, &layout);
  if (!memory || x > layout.pitch || y > layout.height ||
      !devsanFits(y * layout.pitch + x, bytes, layout.height * layout.pitch))
    return NULL;
  return memory + y * layout.pitch + x;
}

int cudaMemcpy2DToArray(void *to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
                        size_t height, int kind) {
  devsan_standin_count(__func__);
  size_t own;
  char *at = place(to, x, y, width, height, &own);
  REQUIRE(at);
  return cudaMemcpy2D(at, own, from, pitch, width, height, kind);
}

int cudaMemcpy2DToArrayAsync(void *to, size_t x, size_t y, const void *from, size_t pitch,
                             size_t width, size_t height, int kind, void *stream) {
  devsan_standin_count(__func__);
  size_t own;
  char *at = place(to, x, y, width, height, &own);
  REQUIRE(at);
  return cudaMemcpy2DAsync(at, own, from, pitch, width, height, kind, stream);
}

int cudaMemcpy2DFromArray(void *to, size_t pitch, const void *from, size_t x, size_t y,
                          size_t width, size_t height, int kind) {
  devsan_standin_count(__func__);
  size_t own;
  const char *at = place(from, x, y, width, height, &own);
  REQUIRE(at);
  return cudaMemcpy2D(to, pitch, at, own, width, height, kind);
}

int cudaMemcpy2DFromArrayAsync(void *to, size_t pitch, const void *from, size_t x, size_t y,
                               size_t width, size_t height, int kind, void *stream) {
  devsan_standin_count(__func__);
  size_t own;
  const char *at = place(from, x, y, width, height, &own);
  REQUIRE(at);
  return cudaMemcpy2DAsync(to, pitch, at, own, width, height, kind, stream);
}

int cudaMemcpy2DArrayToArray(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
                             size_t from_y, size_t width, size_t height, int kind) {
  devsan_standin_count(__func__);
  size_t own, others;
  char *at = place(to, to_x, to_y, width, height, &own);
  const char *source = place(from, from_x, from_y, width, height, &others);
  REQUIRE(at && source);
  return cudaMemcpy2D(at, own, source, others, width, height, kind);
}

int cudaMemcpyToArray(void *to, size_t x, size_t y, const void *from, size_t bytes, int kind) {
  devsan_standin_count(__func__);
  char *at = placeOfBytes(to, x, y, bytes);
  REQUIRE(at);
  return cudaMemcpy(at, from, bytes, kind);
}

int cudaMemcpyToArrayAsync(void *to, size_t x, size_t y, const void *from, size_t bytes, int kind,
                           void *stream) {
  devsan_standin_count(__func__);
  char *at = placeOfBytes(to, x, y, bytes);
  REQUIRE(at);
  return cudaMemcpyAsync(at, from, bytes, kind, stream);
}

int cudaMemcpyFromArray(void *to, const void *from, size_t x, size_t y, size_t bytes, int kind) {
  devsan_standin_count(__func__);
  const char *at = placeOfBytes(from, x, y, bytes);
  REQUIRE(at);
  return cudaMemcpy(to, at, bytes, kind);
}

int cudaMemcpyFromArrayAsync(void *to, const void *from, size_t x, size_t y, size_t bytes, int kind,
                             void *stream) {
  devsan_standin_count(__func__);
  const char *at = placeOfBytes(from, x, y, bytes);
  REQUIRE(at);
  return cudaMemcpyAsync(to, at, bytes, kind, stream);
}

int cudaMemcpyArrayToArray(void *to, size_t to_x, size_t to_y, const void *from, size_t from_x,
                           size_t from_y, size_t bytes, int kind) {
  devsan_standin_count(__func__);
  char *at = placeOfBytes(to, to_x, to_y, bytes);
  const char *source = placeOfBytes(from, from_x, from_y, bytes);
  REQUIRE(at && source);
  return cudaMemcpy(at, source, bytes, kind);
}

/* Textures and surfaces: as they were described, in the sizes of cudaResourceDesc, cudaTextureDesc
   and cudaResourceViewDesc. */
enum {
  kResourceSize = DEVSAN_STANDIN_VERSION >= 13 ? 144 : 64,
  kTextureSize = 72,
  kViewSize = DEVSAN_STANDIN_VERSION >= 13 ? 112 : 48
};

struct Object {
  int is_surface, has_view;
  char resource[kResourceSize], texture[kTextureSize], view[kViewSize];
  struct Object *next;
};
static struct Object *objects;

/* The lock is held. */
static struct Object **findObject(unsigned long long handle, int is_surface) {
  struct Object **link = &objects;
  while (*link && ((uintptr_t)*link != handle || (*link)->is_surface != is_surface))
    link = &(*link)->next;
  return link;
}

static int make(unsigned long long *out, const void *resource, const void *texture,
                const void *view) {
  enum { kResourceKinds = 4 };
  REQUIRE(out);
  REQUIRE(resource);
  int kind;
  void *memory;
  memcpy(&kind, resource, sizeof kind);
  memcpy(&memory, (const char *)resource + sizeof memory, sizeof memory);
  REQUIRE(memory && kind >= 0 && kind < kResourceKinds);
  struct Object *made = calloc(1, sizeof *made);
  if (!made)
    return devsanDone(kOutOfMemory);
  made->is_surface = !texture;
  made->has_view = view != NULL;
  memcpy(made->resource, resource, kResourceSize);
  if (texture)
    memcpy(made->texture, texture, kTextureSize);
  if (view)
    memcpy(made->view, view, kViewSize);
  pthread_mutex_lock(&lock);
  made->next = objects;
  objects = made;
  pthread_mutex_unlock(&lock);
  *out = (uintptr_t)made;
  return kSuccess;
}

static int destroy(unsigned long long handle, int is_surface) {
  pthread_mutex_lock(&lock);
  struct Object **link = findObject(handle, is_surface), *one = *link;
  if (one)
    *link = one->next;
  pthread_mutex_unlock(&lock);
  free(one);
  return devsanDone(one || !handle ? kSuccess : kInvalidValue);
}

enum Part { kResource, kTexture, kView };

static int get(void *out, unsigned long long handle, int is_surface, enum Part part) {
  REQUIRE(out);
  pthread_mutex_lock(&lock);
  const struct Object *one = *findObject(handle, is_surface);
  const int is_there = one && (part != kView || one->has_view);
  if (is_there && part == kResource)
    memcpy(out, one->resource, kResourceSize);
  else if (is_there && part == kTexture)
    memcpy(out, one->texture, kTextureSize);
  else if (is_there)
    memcpy(out, one->view, kViewSize);
  pthread_mutex_unlock(&lock);
  return devsanDone(is_there ? kSuccess : kInvalidValue);
}

int cudaCreateTextureObject(unsigned long long *out, const void *resource, const void *texture,
                            const void *view);
int cudaCreateTextureObject(unsigned long long *out, const void *resource, const void *texture,
                            const void *view) {
  REQUIRE(texture);
  return make(out, resource, texture, view);
}

int cudaCreateSurfaceObject(unsigned long long *out, const void *resource);
int cudaCreateSurfaceObject(unsigned long long *out, const void *resource) {
  return make(out, resource, NULL, NULL);
}

int cudaDestroyTextureObject(unsigned long long object);
int cudaDestroyTextureObject(unsigned long long object) {
  return destroy(object, 0);
}

int cudaDestroySurfaceObject(unsigned long long object);
int cudaDestroySurfaceObject(unsigned long long object) {
  return destroy(object, 1);
}

int cudaGetTextureObjectResourceDesc(void *out, unsigned long long object);
int cudaGetTextureObjectResourceDesc(void *out, unsigned long long object) {
  return get(out, object, 0, kResource);
}

int cudaGetTextureObjectTextureDesc(void *out, unsigned long long object);
int cudaGetTextureObjectTextureDesc(void *out, unsigned long long object) {
  return get(out, object, 0, kTexture);
}

int cudaGetTextureObjectResourceViewDesc(void *out, unsigned long long object);
int cudaGetTextureObjectResourceViewDesc(void *out, unsigned long long object) {
  return get(out, object, 0, kView);
}

int cudaGetSurfaceObjectResourceDesc(void *out, unsigned long long object);
int cudaGetSurfaceObjectResourceDesc(void *out, unsigned long long object) {
  return get(out, object, 1, kResource);
}
