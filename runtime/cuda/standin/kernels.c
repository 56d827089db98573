#define _GNU_SOURCE
#include "runtime/cuda/standin/kernels.h"

#include "runtime/cuda/standin/memory.h"
#include "runtime/cuda/standin/runtime.h"
#include "runtime/cuda/standin/stream_order.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What devsan/host_kernel.h declares for C++. */
struct Launch {
  const char *kernel;
  unsigned grid[3], block[3];
  size_t shared_memory;
  int device;
  void *stream;
  void *const *arguments;
  void *(*reach)(const void *address);
  int parameters;
};

struct HostKernel {
  char *pattern;
  int (*run)(const struct Launch *launch, void *data);
  void *data;
  struct HostKernel *next;
};

/* The handle comes first: the driver reads it. */
struct Described {
  struct DevSanStandinKernel handle;
  char *readable;
  int access[kDevSanStandinMaxParameters]; /* of parameters that are or begin with pointers */
  int parameters;                          /* -1 where the name does not tell */
  size_t shared_memory[kMaxDevices];       /* that a launch may ask for, on each device */
  int is_pytorchs;
  int is_said;
  int is_refusal_said;
};

struct Kernel {
  const void *function;
  const char *name;
  struct Described *described;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct Kernel
    *kernels; /* sorted when one is looked for: LibTorch brings tens of thousands */
static size_t kernel_count, kernel_capacity;
static int is_sorted;
static struct HostKernel *host_kernels; /* the newest first */

static int byFunction(const void *one, const void *other) {
  const uintptr_t a = (uintptr_t)((const struct Kernel *)one)->function;
  const uintptr_t b = (uintptr_t)((const struct Kernel *)other)->function;
  return (a > b) - (a < b);
}

void devsanAddKernel(const void *function, const char *name) {
  pthread_mutex_lock(&lock);
  if (kernel_count == kernel_capacity) {
    const size_t capacity = kernel_capacity ? 2 * kernel_capacity : 4096;
    struct Kernel *more = realloc(kernels, capacity * sizeof *more);
    if (more) {
      kernels = more;
      kernel_capacity = capacity;
    }
  }
  if (kernel_count < kernel_capacity)
    kernels[kernel_count++] = (struct Kernel){function, name, NULL};
  is_sorted = 0;
  pthread_mutex_unlock(&lock);
}

/* The folder that a file really lies in, to be released; NULL where there is none. */
static char *folderOf(const char *file) {
  char *path = realpath(file, NULL);
  char *slash = path ? strrchr(path, '/') : NULL;
  if (slash)
    *slash = 0;
  return path;
}

static int findLibTorch(struct dl_phdr_info *module, size_t size, void *folder) {
  static const char kName[] = "/libc10.so";
  const size_t length = strlen(module->dlpi_name);
  (void)size;
  if (length < strlen(kName) || strcmp(module->dlpi_name + length - strlen(kName), kName) != 0)
    return 0;
  *(char **)folder = folderOf(module->dlpi_name);
  return 1;
}

/* A kernel is PyTorch's where its host function is in a library of LibTorch's own folder: others'
   libraries have names that begin like its own. */
static int isPyTorchs(const void *function) {
  Dl_info info;
  char *torch = NULL;
  if (!dladdr(function, &info) || !info.dli_fname)
    return 0;
  dl_iterate_phdr(findLibTorch, &torch);
  char *folder = folderOf(info.dli_fname);
  const int is_torchs = torch && folder && strcmp(torch, folder) == 0;
  free(torch);
  free(folder);
  return is_torchs;
}

static char *demangled(const char *name) {
  typedef char *(*Demangle)(const char *, char *, size_t *, int *);
  /* Where there are C++ kernels, there is C++'s library; Python's modules bring it for themselves.
   */
  Demangle demangle = (Demangle)dlsym(RTLD_DEFAULT, "__cxa_demangle");
  void *library = demangle ? NULL : dlopen("libstdc++.so.6", RTLD_NOW | RTLD_NOLOAD);
  if (library)
    demangle = (Demangle)dlsym(library, "__cxa_demangle");
  int status = -1;
  char *readable = demangle ? demangle(name, NULL, NULL, &status) : NULL;
  return status == 0 && readable ? readable : strdup(name);
}

static int endsWith(const char *text, size_t length, const char *end) {
  const size_t size = strlen(end);
  return length > size && strncmp(text + length - size, end, size) == 0;
}

/* Up to the end of a view's first template argument, which begins at `begin`. */
static size_t elementLength(const char *type, size_t begin) {
  size_t at = begin;
  for (int depth = 0; type[at]; ++at) {
    if (depth == 0 && (type[at] == ',' || type[at] == '>'))
      break;
    depth += (strchr("(<[{", type[at]) != NULL) - (strchr(")>]}", type[at]) != NULL);
  }
  return at;
}

/* How much of a parameter is sure to be there, from its type's name: a pointer, or a view of a
   tensor, which begins with one, with how that is used; of other types that they have a byte. */
static size_t sureSize(const char *type, size_t length, int *access) {
  /* Accessors are in one or the other namespace, by the release of PyTorch. */
  static const char *const kViews[] = {"at::TensorAccessor<", "at::GenericPackedTensorAccessor<",
                                       "torch::headeronly::detail::TensorAccessor<",
                                       "torch::headeronly::detail::GenericPackedTensorAccessor<",
                                       "at::cuda::detail::TensorInfo<"};
  static const char kConst[] = " const";
  while (endsWith(type, length, kConst))
    length -= strlen(kConst);
  if (length && type[length - 1] == '*') {
    *access = endsWith(type, length - 1, kConst) ? kDevSanReads : kDevSanMayWrite;
    return sizeof(void *);
  }
  for (size_t i = 0; i < sizeof kViews / sizeof *kViews; ++i)
    if (strncmp(type, kViews[i], strlen(kViews[i])) == 0) {
      *access = endsWith(type, elementLength(type, strlen(kViews[i])), kConst) ? kDevSanReads
                                                                               : kDevSanMayWrite;
      return sizeof(void *);
    }
  return 1;
}

/* "void space::scale<float, 4>(float*, float, int)": the last parentheses hold the parameters. */
static const char *parametersOf(const char *readable) {
  const char *at = readable + strlen(readable);
  int depth = 0;
  if (at == readable || at[-1] != ')')
    return NULL;
  while (at > readable) {
    --at;
    depth += (*at == ')') - (*at == '(');
    if (depth == 0)
      return at + 1;
  }
  return NULL;
}

/* How many there are; -1 where the name does not tell. */
static int readParameters(const char *readable, size_t *sizes, int *access) {
  const char *type = parametersOf(readable), *at = type;
  int count = 0;
  for (int depth = 0; at && *at && count < kDevSanStandinMaxParameters - 1; ++at) {
    if (depth == 0 && (*at == ',' || *at == ')')) {
      if (at > type) {
        sizes[count] = sureSize(type, (size_t)(at - type), &access[count]);
        ++count;
      }
      if (*at == ')')
        return count;
      type = at + 2;
    }
    depth += (strchr("(<[{", *at) != NULL) - (strchr(")>]}", *at) != NULL);
  }
  return -1;
}

static struct Described *describe(const void *function, const char *name) {
  struct Described *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->handle.magic = kDevSanStandinKernel;
  made->handle.name = name;
  made->readable = demangled(name);
  made->is_pytorchs = isPyTorchs(function);
  made->parameters =
      made->readable ? readParameters(made->readable, made->handle.sizes, made->access) : -1;
  for (int device = 0; device < kMaxDevices; ++device)
    made->shared_memory[device] = kSharedPerBlock;
  return made;
}

/* The lock is held. */
static struct Kernel *findKernel(const void *function) {
  const struct Kernel wanted = {function, NULL, NULL};
  if (!is_sorted)
    qsort(kernels, kernel_count, sizeof *kernels, byFunction);
  is_sorted = 1;
  return kernel_count ? bsearch(&wanted, kernels, kernel_count, sizeof *kernels, byFunction) : NULL;
}

const struct DevSanStandinKernel *devsanKernelHandle(const void *function) {
  pthread_mutex_lock(&lock);
  struct Kernel *kernel = findKernel(function);
  struct Described *described = kernel ? kernel->described : NULL;
  const char *name = kernel ? kernel->name : NULL;
  pthread_mutex_unlock(&lock);
  if (!name || described)
    return described ? &described->handle : NULL;
  /* Without our lock: it asks the loader, whose own lock a thread has that loads kernels. */
  struct Described *made = describe(function, name);
  pthread_mutex_lock(&lock);
  kernel = findKernel(function);
  if (kernel && !kernel->described) {
    kernel->described = made;
    made = NULL;
  }
  described = kernel ? kernel->described : NULL;
  pthread_mutex_unlock(&lock);
  if (made)
    free(made->readable);
  free(made);
  return described ? &described->handle : NULL;
}

static const DevSanStandinMemory *deviceMemory(void) {
  static _Atomic(const DevSanStandinMemory *) known;
  const DevSanStandinMemory *memory = known;
  if (!memory) {
    const DevSanStandinMemory *(*get)(void) =
        (const DevSanStandinMemory *(*)(void))devsanDriverFunction("devsan_standin_memory");
    known = memory = get ? get() : NULL;
  }
  return memory;
}

static void *reach(const void *address) {
  const DevSanStandinMemory *memory = deviceMemory();
  const uintptr_t at = (uintptr_t)address;
  return (void *)(memory && at - memory->begin < memory->size ? at + memory->distance : at);
}

void devsan_sim_add_host_kernel(const char *pattern, int (*run)(const struct Launch *, void *),
                                void *data);
void devsan_sim_add_host_kernel(const char *pattern, int (*run)(const struct Launch *, void *),
                                void *data) {
  struct HostKernel *made = malloc(sizeof *made);
  char *own = strdup(pattern);
  if (!made || !own) {
    free(made);
    free(own);
    return;
  }
  pthread_mutex_lock(&lock);
  *made = (struct HostKernel){own, run, data, host_kernels};
  host_kernels = made;
  pthread_mutex_unlock(&lock);
}

static __thread int host_kernels_running;

/* For the simulator: the thread computes for a device. */
int devsan_standin_in_host_kernel(void);
int devsan_standin_in_host_kernel(void) {
  return host_kernels_running != 0;
}

/* For the simulator, on this thread: while an operator runs that has a CPU kernel too, a launch
   without effect is not told to the user, only counted. */
static __thread int cpu_kernel_expected;
static __thread unsigned launches_without_effect;

void devsan_standin_expect_cpu_kernel(int change);
void devsan_standin_expect_cpu_kernel(int change) {
  cpu_kernel_expected += change;
}

unsigned devsan_standin_launches_without_effect(void);
unsigned devsan_standin_launches_without_effect(void) {
  return launches_without_effect;
}

static const struct HostKernel *hostKernelFor(const struct Described *kernel) {
  pthread_mutex_lock(&lock);
  const struct HostKernel *one = host_kernels;
  pthread_mutex_unlock(&lock);
  /* None is ever taken away. */
  while (one && fnmatch(one->pattern, kernel->readable, FNM_NOESCAPE) != 0)
    one = one->next;
  return one;
}

static unsigned kernels_without_effect;

/* For the runtime, which writes it to the log. */
unsigned devsan_standin_kernels_without_effect(void);
unsigned devsan_standin_kernels_without_effect(void) {
  return __atomic_load_n(&kernels_without_effect, __ATOMIC_RELAXED);
}

static void warnKernelNotRun(struct Described *kernel) {
  if (__atomic_exchange_n(&kernel->is_said, 1, __ATOMIC_RELAXED))
    return;
  __atomic_fetch_add(&kernels_without_effect, 1, __ATOMIC_RELAXED);
  dprintf(STDERR_FILENO,
          "devsan: simulated devices: the GPU kernel %s does nothing here, what it writes stays as "
          "it is; give it a host implementation (devsan.host_kernel, devsan/host_kernel.h)\n",
          kernel->readable);
}

/* The kernel of torch.cuda._sleep, which writes nothing: the one thing that takes a device time. */
static int isSleep(const char *readable) {
  static const char kEnd[] = "::spin_kernel(long)";
  const size_t length = strlen(readable);
  return length >= strlen(kEnd) && strcmp(readable + length - strlen(kEnd), kEnd) == 0;
}

/* At 1 GHz. */
static void keepBusy(void *stream, int64_t cycles) {
  void (*keep)(void *, uint64_t) =
      (void (*)(void *, uint64_t))devsanDriverFunction("devsan_standin_keep_busy");
  if (keep && cycles > 0)
    keep(stream, (uint64_t)cycles);
}

void devsanReportUse(void *stream, const char *op, const DevSanMemoryUse *uses, size_t count) {
  static _Atomic(void *) function;
  typedef void (*Use)(void *, const char *, const DevSanMemoryUse *, size_t);
  void *use = function;
  if (!use)
    function = use = devsanDriverFunction("devsan_standin_use");
  if (use)
    ((Use)use)(stream, op, uses, count);
}

/* Tells which memory of its parameters' the kernel uses; after it has run, since a host
   implementation may issue work itself. */
static void reportMemoryUses(const struct Described *kernel, const DevSanKernelLaunch *launch) {
  DevSanMemoryUse uses[kDevSanStandinMaxParameters];
  size_t count = 0;
  for (size_t i = 0; i < kDevSanStandinMaxParameters && kernel->handle.sizes[i]; ++i)
    if (kernel->handle.sizes[i] == sizeof(void *)) {
      uses[count].access = kernel->access[i];
      memcpy(&uses[count++].address, launch->arguments[i], sizeof(void *));
    }
  devsanReportUse(launch->stream, kernel->readable, uses, count);
}

int devsanAllowSharedMemory(const struct DevSanStandinKernel *handle, int device, size_t bytes) {
  struct Described *kernel = (struct Described *)(uintptr_t)handle;
  if (bytes > kSharedPerBlockOptIn || device < 0 || device >= kMaxDevices)
    return kInvalidValue;
  __atomic_store_n(&kernel->shared_memory[device],
                   bytes > kSharedPerBlock ? bytes : kSharedPerBlock, __ATOMIC_RELAXED);
  return kSuccess;
}

size_t devsanAllowedSharedMemory(const struct DevSanStandinKernel *handle, int device) {
  const struct Described *kernel = (const struct Described *)(uintptr_t)handle;
  return device < 0 || device >= kMaxDevices
             ? kSharedPerBlock
             : __atomic_load_n(&kernel->shared_memory[device], __ATOMIC_RELAXED);
}

static int isWithin(const DevSanCudaDim *dim, const unsigned largest[3]) {
  return dim->x && dim->y && dim->z && dim->x <= largest[0] && dim->y <= largest[1] &&
         dim->z <= largest[2];
}

int devsanBlocksPerProcessor(size_t threads, size_t shared_memory) {
  enum { kReservedShared = 1 << 10 };
  const size_t whole_warps = (threads + kWarp - 1) / kWarp * kWarp;
  if (threads == 0 || threads > kThreadsPerBlock || shared_memory > kSharedPerBlockOptIn)
    return 0;
  const size_t limits[] = {kBlocksPerProcessor, kThreadsPerProcessor / whole_warps,
                           kRegisters / (kRegistersPerThread * whole_warps),
                           kSharedPerProcessor / (shared_memory + kReservedShared)};
  size_t least = limits[0];
  for (size_t i = 1; i < sizeof limits / sizeof *limits; ++i)
    least = limits[i] < least ? limits[i] : least;
  return (int)least;
}

/* What a GPU would answer; `why` says what is wrong. */
static int checkLimits(const struct Described *kernel, const DevSanKernelLaunch *launch, char *why,
                       size_t size) {
  const DevSanCudaDim *grid = &launch->grid, *block = &launch->block;
  const size_t most = devsanAllowedSharedMemory(&kernel->handle, launch->device);
  if (!isWithin(grid, kDevSanLargestGrid)) {
    snprintf(why, size, "a grid of %u x %u x %u blocks", grid->x, grid->y, grid->z);
    return kInvalidConfiguration;
  }
  if (!isWithin(block, kDevSanLargestBlock) ||
      (uint64_t)block->x * block->y * block->z > kThreadsPerBlock) {
    snprintf(why, size, "blocks of %u x %u x %u threads, %d are the most", block->x, block->y,
             block->z, kThreadsPerBlock);
    return kInvalidConfiguration;
  }
  if (launch->shared_memory > most) {
    snprintf(why, size,
             "%zu bytes of shared memory, %zu are the most here (see cudaFuncSetAttribute)",
             launch->shared_memory, most);
    return kInvalidValue;
  }
  const uint64_t blocks = (uint64_t)grid->x * grid->y * grid->z;
  const uint64_t room = (uint64_t)kProcessors *
                        (uint64_t)devsanBlocksPerProcessor((size_t)block->x * block->y * block->z,
                                                           launch->shared_memory);
  if (launch->is_cooperative && blocks > room) {
    snprintf(why, size,
             "%llu blocks in a cooperative launch, %llu of them run at once (see "
             "cudaOccupancyMaxActiveBlocksPerMultiprocessor)",
             (unsigned long long)blocks, (unsigned long long)room);
    return kCooperativeLaunchTooLarge;
  }
  return kSuccess;
}

int devsanCheckLaunch(const struct DevSanStandinKernel *handle, const DevSanKernelLaunch *launch) {
  struct Described *kernel = (struct Described *)(uintptr_t)handle;
  if (!kernel || !kernel->readable)
    return kInvalidDeviceFunction;
  char why[160];
  const int result = checkLimits(kernel, launch, why, sizeof why);
  if (result != kSuccess && !__atomic_exchange_n(&kernel->is_refusal_said, 1, __ATOMIC_RELAXED))
    dprintf(STDERR_FILENO,
            "devsan: simulated devices: a launch of the GPU kernel %s is refused, as by a GPU: "
            "%s\n",
            kernel->readable, why);
  return result;
}

int devsanLaunch(const struct DevSanStandinKernel *handle, const DevSanKernelLaunch *launch) {
  struct Described *kernel = (struct Described *)(uintptr_t)handle;
  if (!kernel || !kernel->readable)
    return kInvalidDeviceFunction;
  if (kernel->is_pytorchs && isSleep(kernel->readable)) {
    keepBusy(launch->stream, *(const int64_t *)launch->arguments[0]);
    return kSuccess;
  }
  if (kernel->is_pytorchs) {
    char text[400];
    snprintf(text, sizeof text, "the GPU kernel %s", kernel->readable);
    return devsan_standin_refuse(text);
  }
  const struct HostKernel *host = hostKernelFor(kernel);
  if (!host) {
    ++launches_without_effect;
    if (!cpu_kernel_expected)
      warnKernelNotRun(kernel);
    reportMemoryUses(kernel, launch);
    return kSuccess;
  }
  const struct Launch told = {.kernel = kernel->readable,
                              .grid = {launch->grid.x, launch->grid.y, launch->grid.z},
                              .block = {launch->block.x, launch->block.y, launch->block.z},
                              .shared_memory = launch->shared_memory,
                              .device = launch->device,
                              .stream = launch->stream,
                              .arguments = launch->arguments,
                              .reach = reach,
                              .parameters = kernel->parameters};
  ++host_kernels_running;
  const int result = host->run(&told, host->data);
  --host_kernels_running;
  reportMemoryUses(kernel, launch);
  return result;
}
