/* Opens each library named in the arguments, local to itself as Python does with extensions, and
   prints how many entry points it called and what was missed. Status 1 where something was. With
   --while-loading=LIBRARY all of them make a call while that library is being opened. */
#define _GNU_SOURCE
#include "runtime/cuda/testing/recall.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kLibraries = 4 };
static int (*calls[kLibraries])(void);
static int count, failures;

int recallIsSecond(void) {
  return count > 1;
}

static void *callEach(void *reached) {
  for (int i = 0; i < count; ++i)
    *(int *)reached += calls[i]();
  return NULL;
}

void recallWhileLoading(void) {
  static int reached; /* outlives a thread that hangs */
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += 20;
  pthread_t thread;
  pthread_create(&thread, NULL, callEach, &reached);
  if (pthread_timedjoin_np(thread, NULL, &limit) != 0) {
    printf("  a call waits for the loader's lock\n");
    ++failures;
  } else if (reached != count) {
    printf("  %d of %d calls reached their own runtime\n", reached, count);
    ++failures;
  }
}

static void openLibrary(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  struct RecallResult (*recall)(void) =
      library ? (struct RecallResult (*)(void))dlsym(library, "devsan_recall") : NULL;
  if (!recall || count == kLibraries) {
    printf("%s\n", dlerror());
    ++failures;
    return;
  }
  calls[count++] = (int (*)(void))dlsym(library, "devsan_recall_again");
  const struct RecallResult result = recall();
  printf("%d entry points called, %d failures\n", result.calls, result.failures);
  failures += result.failures + (result.calls == 0);
}

int main(int argc, char **argv) {
  static const char kWhileLoading[] = "--while-loading=";
  for (int i = 1; i < argc; ++i) {
    if (strncmp(argv[i], kWhileLoading, sizeof kWhileLoading - 1) != 0) {
      openLibrary(argv[i]);
      continue;
    }
    int reached = 0;
    callEach(&reached); /* the first time, the loader is asked */
    if (!dlopen(argv[i] + sizeof kWhileLoading - 1, RTLD_NOW)) {
      printf("%s\n", dlerror());
      ++failures;
    }
  }
  return failures || !count ? 1 : 0;
}
