/* The program under the shim. Each argument is a step: `open=PATH`, `runpath=PATH` (opens PATH and
   asks it to open a bare name), `missing=NAME` (prints dlerror's text), `exec` (starts itself again
   without arguments), `fork`, `devices=LIBCUDA` (prints how many CUDA devices there are),
   `race=PATH` (another thread opens PATH; as soon as the file named in PROBE_STARTED exists, this
   one opens a library too), `buffered` (leaves a line in stdout's buffer). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *openInThread(void *path) {
  return dlopen(path, RTLD_NOW);
}

static void race(char *path) {
  pthread_t thread;
  pthread_create(&thread, NULL, openInThread, path);
  while (access(getenv("PROBE_STARTED"), F_OK) != 0)
    usleep(1000);
  dlopen("libm.so.6", RTLD_NOW);
  printf("opened\n");
  pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IONBF, 0);
  printf("main\n");
  for (int i = 1; i < argc; ++i) {
    char *value = strchr(argv[i], '=');
    value = value ? value + 1 : argv[i];
    if (strncmp(argv[i], "open=", 5) == 0) {
      if (!dlopen(value, RTLD_NOW))
        printf("%s\n", dlerror());
      printf("opened\n");
    } else if (strncmp(argv[i], "runpath=", 8) == 0) {
      void *library = dlopen(value, RTLD_NOW);
      const char *(*open_bare)(void) =
          library ? (const char *(*)(void))dlsym(library, "openBareName") : NULL;
      const char *error = open_bare ? open_bare() : dlerror();
      printf("%s\n", error ? error : "found on runpath");
    } else if (strncmp(argv[i], "missing=", 8) == 0) {
      printf("%s\n", dlopen(value, RTLD_NOW) ? "found" : dlerror());
    } else if (strncmp(argv[i], "race=", 5) == 0) {
      race(value);
    } else if (strcmp(argv[i], "buffered") == 0) {
      static char buffer[256];
      setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
      printf("buffered\n");
    } else if (strcmp(argv[i], "exec") == 0) {
      execl("/proc/self/exe", argv[0], (char *)NULL);
    } else if (strncmp(argv[i], "devices=", 8) == 0) {
      void *cuda = dlopen(value, RTLD_NOW);
      int (*initialize)(unsigned) = cuda ? (int (*)(unsigned))dlsym(cuda, "cuInit") : NULL;
      int (*count_devices)(int *) =
          initialize ? (int (*)(int *))dlsym(cuda, "cuDeviceGetCount") : NULL;
      int count = -1;
      if (count_devices && initialize(0) == 0)
        count_devices(&count);
      printf("%d devices\n", count);
    } else if (strcmp(argv[i], "fork") == 0) {
      if (fork() == 0)
        _exit(0);
      wait(NULL);
    }
  }
  return 0;
}
