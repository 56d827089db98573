/* Names that are looked up under the shim mean what they mean without it. The argument is a library
   that needs CUDA. */
#define _GNU_SOURCE
#include "runtime/cuda/testing/recall.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what) {
  if (holds)
    return;
  printf("%s\n", what);
  ++failures;
}

/* Stands before libc's, as the shim's dlsym does before libc's dlsym. */
int atoi(const char *text) {
  (void)text;
  return -1;
}

/* What that library wants of its program. */
int recallIsSecond(void) {
  return 0;
}

int main(int argc, char **argv) {
  int (*next)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "atoi");
  expect(next && next != atoi && next("12") == 12, "RTLD_NEXT is no longer the caller's next");
  dlerror();
  expect(!dlsym(RTLD_DEFAULT, "cudaMemcpy"), "there is a cudaMemcpy without CUDA");
  const char *error = dlerror();
  expect(error && strstr(error, "cudaMemcpy"), "a name that is not found leaves no error");
  expect(!dlsym(RTLD_DEFAULT, "cuGetProcAddress_v2"), "there is a driver without CUDA");
  dlerror();
  expect(argc == 2 && dlopen(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND),
         "the library cannot be opened");
  void *runtime = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  expect(runtime && dlsym(runtime, "cudaMemcpy"), "no cudaMemcpy in CUDA");
  expect(runtime && !dlsym(runtime, "cudaUnheardOf"), "CUDA has what it has not");
  void *version = runtime ? dlsym(runtime, "cudaRuntimeGetVersion") : NULL;
  Dl_info info;
  expect(version && dladdr(version, &info) && strstr(info.dli_fname, "libcudart.so.13"),
         "a function that is not forwarded is not CUDA's own");
  return failures ? 1 : 0;
}
