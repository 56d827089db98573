/* Opens each library named in the arguments, local to itself as Python does with extensions, and
   prints how many entry points it called and what was missed. Status 1 where something was. */
#include "runtime/cuda/testing/recall.h"

#include <dlfcn.h>
#include <stdio.h>

static int count;

int recallIsSecond(void) {
  return count > 1;
}

int main(int argc, char **argv) {
  int failures = argc < 2;
  for (int i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
    struct RecallResult (*recall)(void) =
        library ? (struct RecallResult (*)(void))dlsym(library, "devsan_recall") : NULL;
    if (!recall) {
      printf("%s\n", dlerror());
      return 1;
    }
    ++count;
    const struct RecallResult result = recall();
    printf("%d entry points called, %d failures\n", result.calls, result.failures);
    failures += result.failures + (result.calls == 0);
  }
  return failures ? 1 : 0;
}
