/* A library with a RUNPATH of its own that opens a library lying there by its bare name, as
   plug-ins do. Its constructor runs while it is itself being loaded, after a library named
   libtorch_cpu.so. */
#include <dlfcn.h>
#include <stdio.h>

int announced(void);

__attribute__((constructor)) static void openInConstructor(void) {
  announced();
  dlopen("libm.so.6", RTLD_LAZY);
}

const char *openBareName(void) {
  void *handle = dlopen("libdevsan_on_runpath.so", RTLD_NOW);
  return handle ? NULL : dlerror();
}
