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

/* A library as it lies on the disk, with the part that the loader reads. */
struct Image {
  const char *content;
  uint64_t size, count, strings;
  const ElfW(Dyn) * dynamic;
};

static int mapImage(const char *file, struct Image *image) {
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
  *image = (struct Image){.content = content, .size = size, .strings = size};
  const ElfW(Ehdr) *header = content;
  const ElfW(Phdr) *segments = (const void *)(image->content + header->e_phoff);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phoff >= size ||
      header->e_phnum * sizeof *segments > size - header->e_phoff)
    return 1;
  for (int i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_DYNAMIC && segments[i].p_offset < size &&
        segments[i].p_filesz <= size - segments[i].p_offset) {
      image->dynamic = (const void *)(image->content + segments[i].p_offset);
      image->count = segments[i].p_filesz / sizeof *image->dynamic;
    }
  uint64_t strings = 0; /* an address, which the loader's segments say the place of */
  for (uint64_t k = 0; k < image->count; ++k)
    if (image->dynamic[k].d_tag == DT_STRTAB)
      strings = image->dynamic[k].d_un.d_ptr;
  for (int i = 0; image->count && i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && strings - segments[i].p_vaddr < segments[i].p_filesz)
      image->strings = strings - segments[i].p_vaddr + segments[i].p_offset;
  return 1;
}

static void unmapImage(const struct Image *image) {
  munmap((void *)image->content, (size_t)image->size);
}

/* The next string of an entry with this tag from `*k` on, or NULL. */
static const char *nextString(const struct Image *image, ElfW(Sxword) tag, uint64_t *k) {
  for (; *k < image->count; ++*k) {
    const uint64_t offset = image->dynamic[*k].d_un.d_val;
    if (image->dynamic[*k].d_tag != tag || image->strings >= image->size ||
        offset >= image->size - image->strings)
      continue;
    const char *string = image->content + image->strings + offset;
    if (!memchr(string, 0, (size_t)(image->size - image->strings - offset)))
      continue;
    ++*k;
    return string;
  }
  return NULL;
}

/* The library `name` in one of the folders of a list, in which $ORIGIN is the folder of `file`. */
static int findIn(const char *list, const char *file, const char *name, char *path) {
  const char *slash = strrchr(file, '/');
  const int origin = slash ? (int)(slash - file) : 0;
  while (list && *list) {
    const size_t length = strcspn(list, ":;");
    size_t used = 0;
    for (size_t i = 0; i < length && used < PATH_MAX - 1;) {
      static const char *const kOrigins[] = {"${ORIGIN}", "$ORIGIN"};
      size_t skipped = 0;
      for (int k = 0; k < 2 && !skipped; ++k)
        if (strncmp(list + i, kOrigins[k], strlen(kOrigins[k])) == 0)
          skipped = strlen(kOrigins[k]);
      if (skipped)
        used += (size_t)snprintf(path + used, PATH_MAX - used, "%.*s", origin, file);
      else
        path[used++] = list[i];
      i += skipped ? skipped : 1;
    }
    if (used && used < PATH_MAX - 1 &&
        snprintf(path + used, PATH_MAX - used, "/%s", name) < (int)(PATH_MAX - used) &&
        access(path, F_OK) == 0)
      return 1;
    list += length + (list[length] != 0);
  }
  return 0;
}

/* What a library that is about to be opened brings with it. */
struct Dependencies {
  char torch[PATH_MAX]; /* the folder of a CUDA build; empty: none */
  int cpu;              /* whether LibTorch is among it */
  int runtime;          /* whether it is what the compiler in share/devsan/cuda links with */
  int count;
  uint64_t seen[256]; /* the inodes of the libraries */
};

/* What the compiler in share/devsan/cuda links with. */
static const char kRuntime[] = "libcudart.so.12";

/* Who needs whom: DT_RPATH counts for those further down, too. */
struct Dependent {
  const char *file, *rpath;
  const struct Dependent *by;
};

/* The loader opens a library together with all that it needs, so that nothing could come between.
   Its way to them is gone here: DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH. The system's own folders are
   left out, where LibTorch has no place. */
static void follow(const char *file, const struct Dependent *by, struct Dependencies *brought) {
  struct stat status;
  if (stat(file, &status) != 0 || brought->count == (int)(sizeof brought->seen / sizeof(uint64_t)))
    return;
  const uint64_t inode = (uint64_t)status.st_ino ^ (uint64_t)status.st_dev << 48;
  for (int i = 0; i < brought->count; ++i)
    if (brought->seen[i] == inode)
      return;
  brought->seen[brought->count++] = inode;
  struct Image image;
  if (!mapImage(file, &image))
    return;
  char *path = malloc(PATH_MAX); /* the stack may be small */
  uint64_t k = 0;
  const char *runpath = nextString(&image, DT_RUNPATH, &k);
  k = 0;
  const struct Dependent needing = {file, runpath ? NULL : nextString(&image, DT_RPATH, &k), by};
  k = 0;
  for (const char *name; path && !*brought->torch && (name = nextString(&image, DT_NEEDED, &k));) {
    brought->cpu |= strcmp(name, "libtorch_cpu.so") == 0;
    brought->runtime |= strcmp(name, kRuntime) == 0;
    int is_found = 0;
    for (const struct Dependent *above = runpath ? NULL : &needing; above && !is_found;
         above = above->by)
      is_found = findIn(above->rpath, above->file, name, path);
    if (!is_found && !findIn(getenv("LD_LIBRARY_PATH"), file, name, path) &&
        !findIn(runpath, file, name, path))
      continue;
    if (strcmp(name, "libtorch_cuda.so") == 0)
      memcpy(brought->torch, path, (size_t)(strrchr(path, '/') - path));
    else
      follow(path, &needing, brought);
  }
  free(path);
  unmapImage(&image);
}

/* `file` as it was given to dlopen. */
static void followOpened(const char *file, struct Dependencies *brought) {
  char path[PATH_MAX];
  memset(brought, 0, sizeof *brought);
  if (strchr(file, '/'))
    follow(file, NULL, brought);
  else if (findIn(getenv("LD_LIBRARY_PATH"), "", file, path))
    follow(path, NULL, brought);
}

static void bringDriver(void) {
  char path[PATH_MAX];
  checkDriver();
  snprintf(path, sizeof path, "%s/libcuda.so.1", folder());
  load(path);
}

static void bringRuntime(void) {
  char path[PATH_MAX];
  bringDriver();
  snprintf(path, sizeof path, "%s/12/%s", folder(), kRuntime);
  load(path);
}

void devsanBeforeOpeningExtension(const char *file) {
  if (atomic_load_explicit(&is_done, memory_order_relaxed) || !folder())
    return;
  const int saved = errno;
  struct Dependencies brought;
  followOpened(file, &brought);
  if (brought.runtime && !atomic_exchange(&is_done, 1))
    bringRuntime();
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
    errno = saved;
    return;
  }
  struct Dependencies brought;
  followOpened(file, &brought);
  const int is_extension = brought.cpu && brought.runtime && !*brought.torch;
  if ((*brought.torch || is_extension) && !atomic_exchange(&is_done, 1)) {
    if (is_extension)
      bringRuntime();
    else
      bring(brought.torch);
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
  if (!dl_iterate_phdr(findTorch, torch)) {
    /* The program itself was built for simulated devices. */
    if (devsanRealDlopen(kRuntime, RTLD_NOW | RTLD_NOLOAD) && !atomic_exchange(&is_done, 1))
      bringDriver();
    return;
  }
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
