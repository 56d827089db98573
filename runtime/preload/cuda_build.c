#define _GNU_SOURCE
#include "runtime/preload/cuda_build.h"
#include "runtime/cuda/forward.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What LD_PRELOAD was before the program was started again. */
static const char kRestarted[] = "DEVSAN_PRELOAD_BEFORE";

static atomic_int is_done;

static const char *folder(void) {
  const char *devices = getenv("DEVSAN_SIM_DEVICES"), *folder = getenv("DEVSAN_CUDA_STANDIN");
  return devices && *devices && folder && *folder ? folder : NULL;
}

static _Noreturn void refuse(const char *text, const char *detail) {
  dprintf(STDERR_FILENO, "devsan: --sim: %s%s\n", text, detail);
  fflush(NULL);
  _exit(2);
}

/* A GPU that is there must not vanish behind simulated ones unless that is wanted. */
static void checkDriver(void) {
  const char *driver = getenv("DEVSAN_SIM_REAL_DRIVER");
  if (!driver || !*driver)
    return;
  dprintf(
      STDERR_FILENO,
      "devsan: --sim: this machine has NVIDIA's driver (%s), and this program's PyTorch is built "
      "with CUDA: simulated devices would hide the GPUs from it. Run without --sim to use the "
      "GPUs, or with --sim-force to simulate all the same\n",
      driver);
  fflush(NULL);
  _exit(2);
}

static int contains(const char *path, const char *text) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return 0;
  int is_there = 0;
  if (fstat(file, &status) == 0 && status.st_size > 0) {
    const size_t size = (size_t)status.st_size;
    void *content = mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (content != MAP_FAILED) {
      is_there = memmem(content, size, text, strlen(text) + 1) != NULL;
      munmap(content, size);
    }
  }
  close(file);
  return is_there;
}

/* By what LibTorch's smallest CUDA library is linked with. */
static int cudaVersion(const char *torch) {
  static const int kVersions[] = {13, 12};
  char path[PATH_MAX], soname[32];
  snprintf(path, sizeof path, "%s/libc10_cuda.so", torch);
  for (size_t i = 0; i < sizeof kVersions / sizeof *kVersions; ++i) {
    snprintf(soname, sizeof soname, "libcudart.so.%d", kVersions[i]);
    if (contains(path, soname))
      return kVersions[i];
  }
  refuse("not simulated: PyTorch with another CUDA than 12 and 13: ", torch);
}

enum { kLibraries = 3 };

/* For the loader or for LD_PRELOAD. */
static void writePaths(const char *torch, char path[kLibraries][PATH_MAX]) {
  const int version = cudaVersion(torch);
  snprintf(path[0], PATH_MAX, "%s/libcuda.so.1", folder());
  snprintf(path[1], PATH_MAX, "%s/%d/libcudart.so.%d", folder(), version, version);
  snprintf(path[2], PATH_MAX, "%s/libdevsan_cuda_libraries.so", folder());
}

/* Global: their definitions come before those of CUDA's libraries with the same names. */
static void load(const char *path) {
  if (!devsanRealDlopen(path, RTLD_NOW | RTLD_GLOBAL))
    devsanLeaveUnobserved("cannot load", path, dlerror());
}

static void bring(const char *torch) {
  char path[kLibraries][PATH_MAX];
  checkDriver();
  writePaths(torch, path);
  for (int i = 0; i < kLibraries; ++i)
    load(path[i]);
}

/* Whether the library names `soname` among those that it needs. */
static int needs(const char *file, const char *soname) {
  const int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0)
    return 0;
  void *content = MAP_FAILED;
  if (fstat(descriptor, &status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr)))
    content = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  close(descriptor);
  if (content == MAP_FAILED)
    return 0;
  const uint64_t size = (uint64_t)status.st_size;
  const ElfW(Ehdr) *header = content;
  const ElfW(Phdr) *segments = (const void *)((const char *)content + header->e_phoff);
  const ElfW(Dyn) *dynamic = NULL;
  uint64_t count = 0;
  int does = 0;
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_phoff < size &&
      header->e_phnum * sizeof *segments <= size - header->e_phoff)
    for (int i = 0; i < header->e_phnum; ++i)
      if (segments[i].p_type == PT_DYNAMIC && segments[i].p_offset < size &&
          segments[i].p_filesz <= size - segments[i].p_offset) {
        dynamic = (const void *)((const char *)content + segments[i].p_offset);
        count = segments[i].p_filesz / sizeof *dynamic;
      }
  uint64_t strings = 0; /* an address, which the loader's segments say the place of */
  for (uint64_t k = 0; k < count; ++k)
    if (dynamic[k].d_tag == DT_STRTAB)
      strings = dynamic[k].d_un.d_ptr;
  uint64_t place = size;
  for (int i = 0; count && i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && strings - segments[i].p_vaddr < segments[i].p_filesz)
      place = strings - segments[i].p_vaddr + segments[i].p_offset;
  const size_t length = strlen(soname) + 1;
  for (uint64_t k = 0; k < count && !does; ++k)
    does = dynamic[k].d_tag == DT_NEEDED && place < size && dynamic[k].d_un.d_val < size - place &&
           length <= size - place - dynamic[k].d_un.d_val &&
           memcmp((const char *)content + place + dynamic[k].d_un.d_val, soname, length) == 0;
  munmap(content, (size_t)status.st_size);
  return does;
}

void devsanBeforeOpeningExtension(const char *file) {
  /* What the compiler in share/devsan/cuda links with. */
  static const char kRuntime[] = "libcudart.so.12";
  char path[PATH_MAX];
  if (atomic_load_explicit(&is_done, memory_order_relaxed) || !folder() || !strchr(file, '/'))
    return;
  const int saved = errno;
  if (needs(file, kRuntime) && !atomic_exchange(&is_done, 1)) {
    checkDriver();
    snprintf(path, sizeof path, "%s/libcuda.so.1", folder());
    load(path);
    snprintf(path, sizeof path, "%s/12/%s", folder(), kRuntime);
    load(path);
  }
  errno = saved;
}

void devsanBeforeOpening(const char *file) {
  if (atomic_load_explicit(&is_done, memory_order_relaxed) || !folder())
    return;
  const char *slash = strrchr(file, '/');
  const int saved = errno;
  char torch[PATH_MAX], library[PATH_MAX + 32];
  static const char *const kPlaces[] = {"", "/lib"};
  for (size_t i = 0; slash && i < sizeof kPlaces / sizeof *kPlaces; ++i) {
    if (snprintf(torch, sizeof torch, "%.*s%s", (int)(slash - file), file, kPlaces[i]) >=
        (int)sizeof torch)
      break;
    snprintf(library, sizeof library, "%s/libtorch_cuda.so", torch);
    if (access(library, F_OK) != 0)
      continue;
    if (!atomic_exchange(&is_done, 1))
      bring(torch);
    break;
  }
  errno = saved;
}

static int findTorch(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (!slash || strcmp(slash + 1, "libtorch_cuda.so") != 0)
    return 0;
  snprintf(data, PATH_MAX, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
  return 1;
}

void devsanBeforeMain(char **argv) {
  if (!folder())
    return;
  const char *before = getenv(kRestarted);
  if (before) {
    /* Its children are started without the stand-ins. */
    setenv("LD_PRELOAD", before, 1);
    unsetenv(kRestarted);
    atomic_store(&is_done, 1);
    return;
  }
  char torch[PATH_MAX], path[kLibraries][PATH_MAX], program[PATH_MAX];
  if (!dl_iterate_phdr(findTorch, torch))
    return;
  checkDriver();
  writePaths(torch, path);
  const char *preload = getenv("LD_PRELOAD");
  char *list = NULL;
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  char *kept = strdup(preload ? preload : "");
  if (kept && length >= 0 && asprintf(&list, "%s:%s:%s:%s", kept, path[0], path[1], path[2]) >= 0) {
    program[length] = 0;
    setenv(kRestarted, kept, 1);
    setenv("LD_PRELOAD", list, 1);
    execv(program, argv);
    unsetenv(kRestarted);
    setenv("LD_PRELOAD", kept, 1);
  }
  devsanLeaveUnobserved("cannot start again", argv[0], strerror(errno));
}
