/* Definitions of CUDA's functions that win over CUDA's own, because the shim is preloaded: an
   unversioned definition satisfies the versioned imports of CUDA 12 and 13 alike. Each calls the
   function that would have been called, and tells the observer, which the runtime sets once it is
   in the process; before that, and for calls inside of calls, a forwarder costs a look at two
   variables. Functions that are asked for by name (dlsym, cuGetProcAddress) are replaced likewise:
   libraries with a CUDA runtime of their own reach the driver that way only. Any thread. */
#define _GNU_SOURCE
#include "runtime/cuda/forward.h"
#include "runtime/cuda/calls.h"
#include "runtime/cuda/types.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVSAN_EXPORT __attribute__((visibility("default")))

struct EntryPoint {
  const char *name;
  void *forwarder;
  int is_driver;
};

static _Atomic(const DevSanCudaObserver *) cuda_observer;
static atomic_int several_runtimes;
static atomic_int is_used;
/* The shim is loaded at the start, so its thread-local storage is static. */
static __thread int depth __attribute__((tls_model("initial-exec")));

static inline const DevSanCudaObserver *activeObserver(void) {
  const DevSanCudaObserver *observer = atomic_load_explicit(&cuda_observer, memory_order_acquire);
  return __builtin_expect(observer != NULL, 0) && depth == 0 ? observer : NULL;
}

static inline void enterUnseen(const DevSanCudaObserver *observer, DevSanCudaCall *call) {
  (void)observer;
  (void)call;
  ++depth;
}

static __attribute__((noinline)) void enter(const DevSanCudaObserver *observer,
                                            DevSanCudaCall *call) {
  ++depth;
  observer->enter(call);
}

static __attribute__((noinline)) void leave(const DevSanCudaObserver *observer,
                                            DevSanCudaCall *call) {
  observer->leave(call);
  --depth;
}

/* What the table's expressions use. Arguments may be invalid: CUDA itself is to say so. */
static const void *pointer(DevSanCudaAddress address) {
  return (const void *)(uintptr_t)address;
}

static const void *linearOrArray(const void *linear, const void *array) {
  return array ? DEVSAN_CUDA_ON_DEVICE : linear;
}

static const void *driverMemory(int type, const void *host, DevSanCudaAddress device) {
  return type == kDevSanDriverHost    ? host
         : type == kDevSanDriverArray ? DEVSAN_CUDA_ON_DEVICE
                                      : pointer(device);
}

static uint64_t volume(const DevSanCudaExtent *extent) {
  return (uint64_t)extent->width * (extent->height ? extent->height : 1) *
         (extent->depth ? extent->depth : 1);
}

static const void *first(void **list, size_t count) {
  return list && count ? list[0] : NULL;
}

static uint64_t sum(const size_t *sizes, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; sizes && i < count; ++i)
    total += sizes[i];
  return total;
}

static const void *operand(const DevSanCudaBatchedCopy3D *operations, size_t count, int is_to) {
  if (!operations || !count)
    return NULL;
  const DevSanCudaOperand *one = is_to ? &operations->to : &operations->from;
  return one->type == kDevSanCudaPointerOperand ? one->memory.linear.pointer
                                                : DEVSAN_CUDA_ON_DEVICE;
}

static uint64_t volumes(const DevSanCudaBatchedCopy3D *operations, size_t count) {
  uint64_t total = 0;
  for (size_t i = 0; operations && i < count; ++i)
    total += volume(&operations[i].extent);
  return total;
}

#include "forwarders.inc"

typedef void *(*DlsymFunction)(void *, const char *);

/* The one of libc, or of another library that is preloaded after this one. */
static DlsymFunction realDlsym(void) {
  static _Atomic(DlsymFunction) cached;
  DlsymFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (__builtin_expect(!function, 0)) {
    /* Named by version, because asking by name alone would be asking ourselves. */
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    for (size_t i = 0; !function && i < sizeof versions / sizeof *versions; ++i)
      function = (DlsymFunction)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!function) {
      dprintf(STDERR_FILENO, "devsan: cannot find dlsym: %s\n", dlerror());
      _exit(2);
    }
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function;
}

static int indexOf(const char *name) {
  int low = 0, high = kEntryPointCount - 1;
  while (low <= high) {
    const int middle = (low + high) / 2;
    const int order = strcmp(name, entry_points[middle].name);
    if (order == 0)
      return middle;
    if (order < 0)
      high = middle - 1;
    else
      low = middle + 1;
  }
  return -1;
}

static int isOurs(const void *function) {
  static const void *base;
  Dl_info info;
  if (!base && dladdr(&several_runtimes, &info))
    base = info.dli_fbase;
  return dladdr(function, &info) && info.dli_fbase == base;
}

static const char *const kRuntimeSonames[] = {"libcudart.so.13", "libcudart.so.12",
                                              "libcudart.so.11.0"};
static const char *const kDriverSonames[] = {"libcuda.so.1"};

/* In a library that is in the process already, whoever has opened it and however. */
static void *inLoaded(const char *soname, const char *name) {
  void *library = devsanRealDlopen(soname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library)
    return NULL;
  void *function = realDlsym()(library, name);
  dlclose(library);
  return function && !isOurs(function) ? function : NULL;
}

static void *lookUp(const char *name, int is_driver) {
  void *function = realDlsym()(RTLD_NEXT, name);
  if (function && !isOurs(function))
    return function;
  const char *const *sonames = is_driver ? kDriverSonames : kRuntimeSonames;
  const size_t count = is_driver ? sizeof kDriverSonames / sizeof *kDriverSonames
                                 : sizeof kRuntimeSonames / sizeof *kRuntimeSonames;
  function = NULL;
  for (size_t i = 0; !function && i < count; ++i)
    function = inLoaded(sonames[i], name);
  dlerror();
  return function;
}

/* With two CUDA runtimes in the process, a library calls the one that it was linked with. */
static void *inLibraryOfCaller(const char *name, const void *caller) {
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
    return NULL;
  const char *strings = NULL;
  for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      strings = (const char *)entry->d_un.d_ptr;
  for (const ElfW(Dyn) *entry = map->l_ld; strings && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_NEEDED)
      continue;
    const char *soname = strings + entry->d_un.d_val;
    if (strncmp(soname, "libcudart.so", 12) == 0)
      return inLoaded(soname, name);
  }
  return NULL;
}

/* What inLibraryOfCaller found, by the calling instruction, because finding it takes the loader's
   lock. Any later call may take a slot of the table. The code of another library may come to lie
   at the same address only by dlopen, which empties the table. */
struct CallOfLibrary {
  _Atomic(uint64_t) key;
  _Atomic(void *) function;
};
enum { kNoKey, kBeingWritten, kCallSlots = 2048 };
static struct CallOfLibrary calls_of_libraries[kCallSlots];

static uint64_t keyOf(int index, const void *caller) {
  return (uint64_t)(uintptr_t)caller << 10 | (unsigned)index;
}

static struct CallOfLibrary *slotOf(uint64_t key) {
  return &calls_of_libraries[key * UINT64_C(0x9e3779b97f4a7c15) >> 53];
}

static void *knownCall(uint64_t key) {
  struct CallOfLibrary *slot = slotOf(key);
  if (atomic_load_explicit(&slot->key, memory_order_acquire) != key)
    return NULL;
  void *function = atomic_load_explicit(&slot->function, memory_order_acquire);
  return atomic_load_explicit(&slot->key, memory_order_relaxed) == key ? function : NULL;
}

static void rememberCall(uint64_t key, void *function) {
  struct CallOfLibrary *slot = slotOf(key);
  uint64_t before = atomic_load_explicit(&slot->key, memory_order_relaxed);
  if (before == kBeingWritten ||
      !atomic_compare_exchange_strong(&slot->key, &before, kBeingWritten))
    return;
  atomic_store_explicit(&slot->function, function, memory_order_release);
  atomic_store_explicit(&slot->key, key, memory_order_release);
}

static void forgetCalls(void) {
  for (size_t i = 0; i < kCallSlots; ++i) {
    /* One that is being written has a caller that waits for it, whose library stays. */
    uint64_t key = atomic_load_explicit(&calls_of_libraries[i].key, memory_order_relaxed);
    if (key != kNoKey && key != kBeingWritten)
      atomic_compare_exchange_strong(&calls_of_libraries[i].key, &key, kNoKey);
  }
}

static void countRuntimes(void) {
  int count = 0;
  for (size_t i = 0; i < sizeof kRuntimeSonames / sizeof *kRuntimeSonames; ++i) {
    void *library = devsanRealDlopen(kRuntimeSonames[i], RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
      continue;
    ++count;
    dlclose(library);
  }
  dlerror();
  atomic_store(&several_runtimes, count > 1);
}

static __attribute__((noinline)) void *findReal(int index, const void *caller) {
  const struct EntryPoint *entry = &entry_points[index];
  atomic_store_explicit(&is_used, 1, memory_order_relaxed);
  void *known = atomic_load_explicit(&real_functions[index], memory_order_acquire);
  if (!known && !entry->is_driver)
    countRuntimes();
  if (!entry->is_driver && atomic_load_explicit(&several_runtimes, memory_order_relaxed)) {
    const uint64_t key = keyOf(index, caller);
    void *of_caller = knownCall(key);
    if (!of_caller) {
      of_caller = inLibraryOfCaller(entry->name, caller);
      /* A caller that is linked with none has the function that everybody has. */
      if (!of_caller)
        of_caller = known;
      if (of_caller)
        rememberCall(key, of_caller);
    }
    if (of_caller)
      return of_caller;
  }
  if (known)
    return known;
  known = lookUp(entry->name, entry->is_driver);
  if (known)
    atomic_store_explicit(&real_functions[index], known, memory_order_release);
  return known;
}

/* The forwarder in the place of `function`, which somebody got for the entry point. */
static void *replace(int index, void *function) {
  void *known = NULL;
  if (atomic_compare_exchange_strong(&real_functions[index], &known, function) ||
      known == function) {
    atomic_store_explicit(&is_used, 1, memory_order_relaxed);
    return entry_points[index].forwarder;
  }
  /* Of a second CUDA runtime: a forwarder has one function to call. */
  return function;
}

/* cuGetProcAddress tells functions by name, CUDA version and default stream; the function that it
   gives is found among those that the driver exports. */
static void *replaceByAddress(const char *symbol, void *function) {
  static const char *const versions[] = {"_v4", "_v3", "_v2", ""};
  static const char *const streams[] = {"", "_ptsz", "_ptds"};
  char name[96];
  int only = -1, count = 0;
  for (size_t v = 0; v < 4; ++v)
    for (size_t s = 0; s < 3; ++s) {
      snprintf(name, sizeof name, "%s%s%s", symbol, versions[v], streams[s]);
      const int index = indexOf(name);
      if (index < 0)
        continue;
      void *exported = atomic_load_explicit(&real_functions[index], memory_order_acquire);
      if (!exported)
        exported = lookUp(name, 1);
      if (exported == function)
        return replace(index, function);
      if (!exported) {
        only = index;
        ++count;
      }
    }
  /* A driver that does not export it by that name. */
  return count == 1 ? replace(only, function) : function;
}

typedef int (*GetProcAddress)(const char *, void **, int, uint64_t);
typedef int (*GetProcAddressV2)(const char *, void **, int, uint64_t, int *);

static _Atomic(void *) real_get_address, real_get_address_v2;

static void *known(_Atomic(void *) *slot, const char *name) {
  void *function = atomic_load_explicit(slot, memory_order_acquire);
  if (!function && (function = lookUp(name, 1)))
    atomic_store_explicit(slot, function, memory_order_release);
  return function;
}

int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags,
                        int *status);

static void *replaceLookedUp(const char *symbol, void *function, int version) {
  if (strncmp(symbol, "cuGetProcAddress", 16) != 0)
    return replaceByAddress(symbol, function);
  const int is_v2 = version >= 12000 || strcmp(symbol, "cuGetProcAddress_v2") == 0;
  void *none = NULL;
  atomic_compare_exchange_strong(is_v2 ? &real_get_address_v2 : &real_get_address, &none, function);
  return is_v2 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
}

DEVSAN_EXPORT int cuGetProcAddress(const char *symbol, void **function, int version,
                                   uint64_t flags) {
  GetProcAddress real = (GetProcAddress)known(&real_get_address, "cuGetProcAddress");
  if (!real)
    return kDevSanCudaNotSupported;
  const int result = real(symbol, function, version, flags);
  if (result == 0 && symbol && function && *function)
    *function = replaceLookedUp(symbol, *function, version);
  return result;
}

DEVSAN_EXPORT int cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                      uint64_t flags, int *status) {
  GetProcAddressV2 real = (GetProcAddressV2)known(&real_get_address_v2, "cuGetProcAddress_v2");
  if (!real)
    return kDevSanCudaNotSupported;
  const int result = real(symbol, function, version, flags, status);
  if (result == 0 && symbol && function && *function)
    *function = replaceLookedUp(symbol, *function, version);
  return result;
}

static __attribute__((noinline)) void *cudaFunction(void *handle, const char *name, int *is_done) {
  const int is_lookup = strncmp(name, "cuGetProcAddress", 16) == 0;
  const int index = is_lookup ? -1 : indexOf(name);
  *is_done = 0;
  /* What comes after the caller is the caller's own business: a tool that wraps CUDA as well. */
  if ((index < 0 && !is_lookup) || handle == RTLD_NEXT)
    return NULL;
  void *function = realDlsym()(handle, name);
  *is_done = 1;
  if (!function)
    return NULL;
  if (isOurs(function)) {
    void *real = is_lookup ? lookUp(name, 1) : lookUp(name, entry_points[index].is_driver);
    /* No CUDA here: the program must find none. This fails, and leaves the error for dlerror. */
    return real ? function : realDlsym()(RTLD_NEXT, name);
  }
  if (!is_lookup)
    return replace(index, function);
  const int is_v2 = strncmp(name, "cuGetProcAddress_v2", 19) == 0;
  void *none = NULL;
  atomic_compare_exchange_strong(is_v2 ? &real_get_address_v2 : &real_get_address, &none, function);
  return is_v2 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
}

/* All but names of CUDA go on by a jump, so that libc sees the caller's return address, by which
   RTLD_NEXT and the namespace are told. */
DEVSAN_EXPORT void *dlsym(void *restrict handle, const char *restrict name) {
  const DlsymFunction real = realDlsym();
  if ((name[0] == 'c' && name[1] == 'u') || strncmp(name, "__cuda", 6) == 0) {
    int is_done;
    void *function = cudaFunction(handle, name, &is_done);
    if (is_done)
      return function;
  }
  __attribute__((musttail)) return real(handle, name);
}

_Static_assert(kEntryPointCount < 1 << 10 && kCallSlots == 1 << (64 - 53), "keyOf, slotOf");

DEVSAN_EXPORT void devsan_preload_observe_cuda(const DevSanCudaObserver *observer) {
  atomic_store_explicit(&cuda_observer, observer, memory_order_release);
}

DEVSAN_EXPORT void *devsan_preload_real_cuda(const char *name) {
  const int is_driver = strncmp(name, "cuda", 4) != 0 && strncmp(name, "__cuda", 6) != 0;
  return lookUp(name, is_driver);
}

static int needsCuda(const struct link_map *map) {
  const char *strings = NULL;
  for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_STRTAB)
      strings = (const char *)entry->d_un.d_ptr;
  for (const ElfW(Dyn) *entry = map->l_ld; strings && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_NEEDED &&
        (strncmp(strings + entry->d_un.d_val, "libcudart.so", 12) == 0 ||
         strncmp(strings + entry->d_un.d_val, "libcuda.so", 10) == 0))
      return 1;
  return 0;
}

void devsanNoteOpened(void *handle, int mode) {
  struct link_map *map = NULL;
  if (atomic_load_explicit(&is_used, memory_order_relaxed)) {
    forgetCalls();
    countRuntimes();
  }
  if ((mode & RTLD_DEEPBIND) && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && needsCuda(map))
    dprintf(STDERR_FILENO,
            "devsan: %s was opened with RTLD_DEEPBIND: its calls of CUDA are not seen\n",
            map->l_name);
}
