/* Prints how many devices it sees: linked with the fake LibTorch, or with a path, which it opens.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef DEVSAN_LINKED
int fakeTorchDeviceCount(void);
#endif

int main(int argc, char **argv) {
  int (*count)(void) = NULL;
#ifdef DEVSAN_LINKED
  (void)argc, (void)argv;
  count = fakeTorchDeviceCount;
#else
  void *torch = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (torch)
    *(void **)&count = dlsym(torch, "fakeTorchDeviceCount");
#endif
  if (!count)
    return 1;
  const char *preload = getenv("LD_PRELOAD");
  printf("%d devices, LD_PRELOAD=%s\n", count(), preload ? preload : "");
  return 0;
}
