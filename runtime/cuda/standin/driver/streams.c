/* When work is over: streams, events, and the capture of CUDA graphs. */
#include "runtime/cuda/standin/driver/driver.h"
#include "runtime/cuda/standin/stream_order.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct Event {
  struct Context *context;
  uint64_t done;
  uint64_t capture;
  int is_recorded;
  void *seen; /* of what follows the streams */
};

static const DevSanStreamOrder *_Atomic followed_by;

void devsan_standin_follow_streams(const DevSanStreamOrder *order) {
  followed_by = order;
}

/* Tells what follows the streams, if anything does. */
#define TELL(function, ...)                                                                        \
  do {                                                                                             \
    const DevSanStreamOrder *order = followed_by;                                                  \
    if (order)                                                                                     \
      order->function(__VA_ARGS__);                                                                \
  } while (0)

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void devsanFinishCopies(void) {
  const DevSanSimulator *simulator = devsanSimulator();
  if (simulator)
    simulator->finish_copies();
}

static void waitUntil(uint64_t done) {
  devsanFinishCopies();
  struct timespec time = {(time_t)(done / 1000000000u), (long)(done % 1000000000u)};
  if (done > now())
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {
    }
}

/* Of the simulator's streams, by their handles. Some hundreds at most; none is ever taken away. */
static struct Known {
  const void *handle;
  struct Stream *stream;
  struct Known *next;
} *_Atomic known;

static struct Stream *make(const void *handle, int device, const DevSanSimulator *simulator) {
  void *context = NULL;
  struct Known *made = calloc(1, sizeof *made);
  struct Stream *stream = calloc(1, sizeof *stream);
  /* The simulator may be the first to ask for the device. */
  if (!made || !stream || cuInit(0) != kSuccess ||
      cuDevicePrimaryCtxRetain(&context, device) != kSuccess) {
    free(made);
    free(stream);
    return NULL;
  }
  stream->context = context;
  stream->handle = (void *)(uintptr_t)handle;
  stream->priority = simulator->priority_of_stream(handle);
  *made = (struct Known){handle, stream, known};
  while (!atomic_compare_exchange_weak(&known, &made->next, made)) {
  }
  return stream;
}

/* Any other handle is the driver's own stream. */
static int isOfSimulator(const void *handle, struct Stream **stream) {
  const DevSanSimulator *simulator = devsanSimulator();
  if (!simulator)
    return 0;
  for (const struct Known *one = known; one; one = one->next)
    if (one->handle == handle) {
      *stream = one->stream;
      return 1;
    }
  const int device = simulator->device_of_stream(handle);
  if (device < 0)
    return 0;
  *stream = make(handle, device, simulator);
  return 1;
}

struct Stream *devsanStreamOf(void *handle) {
  struct Stream *stream;
  if ((uintptr_t)handle > 2)
    return isOfSimulator(handle, &stream) ? stream : handle;
  return devsanCurrent ? &devsanCurrent->legacy : NULL;
}

void devsanIssue(struct Stream *stream, uint64_t duration) {
  if (!stream)
    return;
  pthread_mutex_lock(&devsanDriverLock);
  uint64_t begin = now();
  if (stream->done > begin)
    begin = stream->done;
  stream->done = begin + duration;
  pthread_mutex_unlock(&devsanDriverLock);
}

void devsanUse(struct Stream *stream, const char *op, const DevSanMemoryUse *uses, size_t count) {
  if (!stream)
    return;
  const int device = stream->context->device;
  if (stream->is_blocking)
    TELL(order, device, stream->handle, NULL);
  TELL(use, device, stream->handle, op, uses, count);
  if (stream->is_blocking)
    TELL(order, device, NULL, stream->handle);
}

void devsan_standin_use(void *handle, const char *op, const DevSanMemoryUse *uses, size_t count) {
  devsanUse(devsanStreamOf(handle), op, uses, count);
}

void devsanWaitForStream(struct Stream *stream) {
  waitUntil(stream->done);
  TELL(finish_stream, stream->context->device, stream->handle);
}

void devsan_standin_keep_busy(void *handle, uint64_t nanoseconds) {
  devsanIssue(devsanStreamOf(handle), nanoseconds);
}

/* The capture of a CUDA graph, one at a time: on the stream where it began and on those that wait
   for its events. What is captured is the simulator's affair (cuda_build/graphs.cpp); work on these
   streams is done as ever, and the host cannot wait for it. */
static uint64_t capture, last_capture; /* `capture` is 0 where there is none */
static const struct Context *captured_context;
static int is_capture_invalid;

void devsan_standin_begin_capture(void *handle) {
  struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return;
  pthread_mutex_lock(&devsanDriverLock);
  capture = stream->capture = ++last_capture;
  captured_context = stream->context;
  is_capture_invalid = 0;
  pthread_mutex_unlock(&devsanDriverLock);
}

int devsan_standin_end_capture(void) {
  pthread_mutex_lock(&devsanDriverLock);
  capture = 0;
  captured_context = NULL;
  pthread_mutex_unlock(&devsanDriverLock);
  return !is_capture_invalid;
}

int devsanIsCaptured(uint64_t number) {
  return number != 0 && number == __atomic_load_n(&capture, __ATOMIC_RELAXED);
}

int devsanIsContextCaptured(const struct Context *context) {
  return context == captured_context;
}

int devsan_standin_is_capturing(void *handle, uint64_t *number) {
  const struct Stream *stream = devsanStreamOf(handle);
  const int is_captured = stream && devsanIsCaptured(stream->capture);
  *number = is_captured ? stream->capture : 0;
  return is_captured ? 1 + is_capture_invalid : 0;
}

int devsanRefuseWait(int is_captured) {
  if (is_captured)
    is_capture_invalid = 1;
  return is_captured ? kCaptureUnsupported : kSuccess;
}

static uint64_t doneOf(struct Context *context) {
  pthread_mutex_lock(&devsanDriverLock);
  uint64_t done = context->legacy.done;
  for (int i = 0; i < context->stream_count; ++i)
    if (context->streams[i]->done > done)
      done = context->streams[i]->done;
  pthread_mutex_unlock(&devsanDriverLock);
  return done;
}

void devsanWaitForContext(struct Context *context) {
  waitUntil(doneOf(context));
  TELL(finish_device, context->device);
}

int cuStreamCreate(void **out, unsigned flags) {
  return cuStreamCreateWithPriority(out, flags, 0);
}

int cuStreamCreateWithPriority(void **out, unsigned flags, int priority) {
  enum { kNonBlocking = 1 };
  if (!devsanCurrent)
    return kInvalidContext;
  struct Stream *stream = calloc(1, sizeof *stream);
  stream->context = devsanCurrent;
  stream->priority = priority;
  stream->handle = stream;
  stream->is_blocking = !(flags & kNonBlocking);
  pthread_mutex_lock(&devsanDriverLock);
  const int has_room = devsanCurrent->stream_count < 256;
  if (has_room)
    devsanCurrent->streams[devsanCurrent->stream_count++] = stream;
  pthread_mutex_unlock(&devsanDriverLock);
  if (!has_room) {
    free(stream);
    return kOutOfMemory;
  }
  *out = stream;
  TELL(add_stream);
  return kSuccess;
}

int cuStreamDestroy_v2(void *handle) {
  struct Stream *stream = handle;
  if (!stream)
    return kInvalidHandle;
  pthread_mutex_lock(&devsanDriverLock);
  struct Context *context = stream->context;
  for (int i = 0; i < context->stream_count; ++i)
    if (context->streams[i] == stream)
      context->streams[i] = context->streams[--context->stream_count];
  pthread_mutex_unlock(&devsanDriverLock);
  free(stream);
  return kSuccess;
}

int cuStreamGetPriority(void *handle, int *priority) {
  const struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  *priority = stream->priority;
  return kSuccess;
}

int cuStreamGetDevice(void *handle, int *device) {
  const struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  *device = stream->context->device;
  return kSuccess;
}

int cuStreamGetFlags(void *handle, unsigned *flags) {
  enum { kNonBlocking = 1 };
  const struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  *flags = !stream->handle || stream->is_blocking ? 0 : kNonBlocking;
  return kSuccess;
}

int cuStreamSynchronize(void *handle) {
  devsan_standin_count("cuStreamSynchronize");
  devsan_standin_note("wait stream");
  struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  devsanWaitForStream(stream);
  return devsanRefuseWait(devsanIsCaptured(stream->capture));
}

int cuStreamQuery(void *handle) {
  devsan_standin_count("cuStreamQuery");
  struct Stream *stream = devsanStreamOf(handle);
  if (!stream)
    return kInvalidContext;
  if (stream->done > now())
    return kNotReady;
  TELL(finish_stream, stream->context->device, stream->handle);
  return kSuccess;
}

int cuStreamWaitEvent(void *handle, void *event, unsigned flags) {
  (void)flags;
  struct Stream *stream = devsanStreamOf(handle);
  if (!stream || !event)
    return kInvalidHandle;
  pthread_mutex_lock(&devsanDriverLock);
  if (((struct Event *)event)->done > stream->done)
    stream->done = ((struct Event *)event)->done;
  if (devsanIsCaptured(((struct Event *)event)->capture))
    stream->capture = capture;
  pthread_mutex_unlock(&devsanDriverLock);
  TELL(wait, stream->context->device, stream->handle, ((struct Event *)event)->seen);
  return kSuccess;
}

int cuEventCreate(void **out, unsigned flags) {
  (void)flags;
  if (!devsanCurrent)
    return kInvalidContext;
  struct Event *event = calloc(1, sizeof *event);
  event->context = devsanCurrent;
  *out = event;
  return kSuccess;
}

int cuEventRecord(void *handle, void *stream_handle) {
  struct Event *event = handle;
  struct Stream *stream = devsanStreamOf(stream_handle);
  if (!event || !stream)
    return kInvalidHandle;
  // Programs divide by the time between two events.
  event->done = stream->done > now() ? stream->done : now();
  event->capture = stream->capture;
  event->is_recorded = 1;
  TELL(record, &event->seen, stream->context->device, stream->handle);
  return kSuccess;
}

int cuEventSynchronize(void *handle) {
  devsan_standin_count("cuEventSynchronize");
  devsan_standin_note("wait event");
  const struct Event *event = handle;
  if (!event)
    return kInvalidHandle;
  waitUntil(event->done);
  TELL(finish, event->seen);
  return devsanRefuseWait(devsanIsCaptured(event->capture));
}

int cuEventQuery(void *handle) {
  devsan_standin_count("cuEventQuery");
  const struct Event *event = handle;
  if (!event)
    return kInvalidHandle;
  if (event->done > now())
    return kNotReady;
  TELL(finish, event->seen);
  return kSuccess;
}

int cuEventElapsedTime(float *milliseconds, void *first, void *second) {
  const struct Event *from = first, *to = second;
  if (!from || !to || !from->is_recorded || !to->is_recorded || from->context != to->context)
    return kInvalidHandle;
  *milliseconds = (float)((double)to->done - (double)from->done) / 1e6f;
  return kSuccess;
}

int cuEventDestroy_v2(void *handle) {
  struct Event *event = handle;
  if (!event)
    return kInvalidHandle;
  if (event->seen)
    TELL(forget, event->seen);
  free(event);
  return kSuccess;
}
