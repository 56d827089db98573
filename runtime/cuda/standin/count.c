#include "runtime/cuda/standin/standin.h"

#include "runtime/cuda/calls.h"

#include <pthread.h>
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

static __thread char refused[512];

int devsan_standin_refuse(const char *what) {
  snprintf(refused, sizeof refused, "not simulated: %s", what);
  return kDevSanCudaNotSupported;
}

const char *devsan_standin_refused(void) {
  return *refused ? refused : NULL;
}
