#include "runtime/cuda/standin/standin.h"

#include "runtime/cuda/calls.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { kMaxFunctions = 512 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  const char *name;
  int calls;
} functions[kMaxFunctions];

static int slotOf(const char *name) {
  for (int i = 0; i < kMaxFunctions; ++i)
    if (!functions[i].name || strcmp(functions[i].name, name) == 0)
      return i;
  return -1;
}

void devsan_standin_count(const char *name) {
  pthread_mutex_lock(&lock);
  const int slot = slotOf(name);
  if (slot >= 0) {
    functions[slot].name = name;
    ++functions[slot].calls;
  }
  pthread_mutex_unlock(&lock);
}

int devsan_standin_calls(const char *name) {
  pthread_mutex_lock(&lock);
  const int slot = slotOf(name);
  const int calls = slot >= 0 ? functions[slot].calls : 0;
  pthread_mutex_unlock(&lock);
  return calls;
}

static atomic_int is_noting;
static char notes[1 << 16];
static size_t notes_size;

void devsan_standin_note(const char *format, ...) {
  if (!atomic_load_explicit(&is_noting, memory_order_relaxed))
    return;
  va_list values;
  va_start(values, format);
  pthread_mutex_lock(&lock);
  const size_t room = sizeof notes - notes_size;
  const int length = vsnprintf(notes + notes_size, room, format, values);
  if (length >= 0 && (size_t)length + 1 < room) {
    notes_size += (size_t)length;
    notes[notes_size++] = '\n';
  }
  pthread_mutex_unlock(&lock);
  va_end(values);
}

size_t devsan_standin_take_notes(char *out, size_t size) {
  pthread_mutex_lock(&lock);
  const size_t taken = notes_size < size ? notes_size : size;
  memcpy(out, notes, taken);
  notes_size = 0;
  atomic_store(&is_noting, 1);
  pthread_mutex_unlock(&lock);
  return taken;
}

static __thread char refused[512];

int devsan_standin_refuse(const char *what) {
  snprintf(refused, sizeof refused, "not simulated: %s", what);
  return kDevSanCudaNotSupported;
}

const char *devsan_standin_refused(void) {
  return *refused ? refused : NULL;
}
