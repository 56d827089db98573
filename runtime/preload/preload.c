// The library that `devsan run` puts into LD_PRELOAD. Every child process pays for it, so it links
// nothing but libc and has no constructor: it interposes the two ways by which LibTorch can arrive,
// dlopen and being linked to the program, and once libtorch_cpu.so is in the process it loads the
// libraries named in DEVSAN_LIBS, in order and once. After that every call goes straight through.
#define _GNU_SOURCE
#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVSAN_EXPORT __attribute__((visibility("default")))

typedef void *(*DlopenFunction)(const char *, int);
typedef int (*MainFunction)(int, char **, char **);

// Before main, constructors are running: LibTorch's own may not have run yet, so nothing may be
// loaded on top of it.
static atomic_bool main_started;
static atomic_flag loaded = ATOMIC_FLAG_INIT;
static atomic_bool done;
// A dlopen inside a constructor of a library that is being loaded must not trigger the load either.
static __thread int dlopen_depth;
static MainFunction program_main;

static _Noreturn void fail(const char *what, const char *name, const char *why) {
  dprintf(STDERR_FILENO, "devsan: %s %s: %s\n", what, name, why ? why : "unknown error");
  _exit(2);
}

static DlopenFunction realDlopen(void) {
  static _Atomic(DlopenFunction) cached;
  DlopenFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (DlopenFunction)dlsym(RTLD_NEXT, "dlopen");
    if (!function)
      fail("cannot find", "dlopen", dlerror());
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function;
}

static void loadRuntimeIfTorchIsHere(void) {
  if (atomic_load_explicit(&done, memory_order_relaxed) ||
      !atomic_load_explicit(&main_started, memory_order_acquire))
    return;
  const char *list = getenv("DEVSAN_LIBS");
  if (!list || !*list) {
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return;
  }
  void *torch = realDlopen()("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!torch) {
    dlerror();
    return;
  }
  dlclose(torch);
  if (atomic_flag_test_and_set(&loaded))
    return;
  char path[PATH_MAX];
  while (*list) {
    const char *end = strchrnul(list, ':');
    size_t length = (size_t)(end - list);
    if (length >= sizeof path)
      fail("cannot load", "a library of DEVSAN_LIBS", "its path is too long");
    if (length) {
      memcpy(path, list, length);
      path[length] = 0;
      // Global, because the program and Python find the runtime's functions by dlsym.
      if (!realDlopen()(path, RTLD_NOW | RTLD_GLOBAL))
        fail("cannot load", path, dlerror());
    }
    list = *end ? end + 1 : end;
  }
  atomic_store_explicit(&done, 1, memory_order_relaxed);
}

static int hasRunpath(const struct link_map *map) {
  for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; ++entry)
    if (entry->d_tag == DT_RUNPATH || entry->d_tag == DT_RPATH)
      return 1;
  return 0;
}

// The loader takes the search path from whoever calls dlopen, which is now this library. For a bare
// name whose real caller has a path of its own, walk that path as the loader would have done. Null
// where the plain call is as good.
static void *openOnCallersPath(const char *file, int mode, const void *caller) {
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) || !map || !hasRunpath(map))
    return NULL;
  // A library that is already loaded wins by its soname, before any directory is looked at.
  void *handle = realDlopen()(file, mode | RTLD_NOLOAD);
  if (handle)
    return handle;
  dlerror();
  Dl_serinfo size;
  if (dlinfo(map, RTLD_DI_SERINFOSIZE, &size) != 0 || size.dls_size > 256 * 1024) {
    dlerror();
    return NULL;
  }
  Dl_serinfo *paths = alloca(size.dls_size);
  *paths = size;
  if (dlinfo(map, RTLD_DI_SERINFO, paths) != 0) {
    dlerror();
    return NULL;
  }
  char path[PATH_MAX];
  for (unsigned i = 0; i < paths->dls_cnt; ++i) {
    int length = snprintf(path, sizeof path, "%s/%s", paths->dls_serpath[i].dls_name, file);
    if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0)
      continue;
    handle = realDlopen()(path, mode);
    if (handle)
      return handle;
  }
  return NULL;
}

// `$ORIGIN/name` means the directory of the caller.
static void *openFromOrigin(const char *file, int mode, const void *caller) {
  const char *rest = NULL;
  if (strncmp(file, "$ORIGIN/", 8) == 0)
    rest = file + 8;
  else if (strncmp(file, "${ORIGIN}/", 10) == 0)
    rest = file + 10;
  Dl_info info;
  if (!rest || !dladdr(caller, &info) || !info.dli_fname)
    return NULL;
  const char *slash = strrchr(info.dli_fname, '/');
  char path[PATH_MAX];
  int length = slash ? snprintf(path, sizeof path, "%.*s/%s", (int)(slash - info.dli_fname),
                                info.dli_fname, rest)
                     : -1;
  if (length < 0 || (size_t)length >= sizeof path || access(path, R_OK) != 0)
    return NULL;
  return realDlopen()(path, mode);
}

DEVSAN_EXPORT void *dlopen(const char *file, int mode) {
  const void *caller = __builtin_return_address(0);
  DlopenFunction real = realDlopen();
  void *handle = NULL;
  ++dlopen_depth;
  if (file && *file == '$')
    handle = openFromOrigin(file, mode, caller);
  else if (file && *file && !strchr(file, '/'))
    handle = openOnCallersPath(file, mode, caller);
  if (!handle)
    handle = real(file, mode);
  // Only the outermost call knows that all constructors have run.
  if (--dlopen_depth == 0 && handle && !atomic_load_explicit(&done, memory_order_relaxed))
    loadRuntimeIfTorchIsHere();
  return handle;
}

static int mainAfterLoading(int argc, char **argv, char **environment) {
  atomic_store_explicit(&main_started, 1, memory_order_release);
  loadRuntimeIfTorchIsHere();
  return program_main(argc, argv, environment);
}

DEVSAN_EXPORT int __libc_start_main(MainFunction main, int argc, char **argv, MainFunction init,
                                    void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  typedef int (*StartFunction)(MainFunction, int, char **, MainFunction, void (*)(void),
                               void (*)(void), void *);
  StartFunction real = (StartFunction)dlsym(RTLD_NEXT, "__libc_start_main");
  if (!real)
    fail("cannot find", "__libc_start_main", dlerror());
  program_main = main;
  return real(mainAfterLoading, argc, argv, init, fini, rtld_fini, stack_end);
}

// Signal handlers: the simulator keeps SIGSEGV for itself (device memory that the host touches),
// and remembers what the program wants of it. Until it says so, and for other signals, all calls go
// straight through.
typedef int (*SigactionAnswer)(int, const struct sigaction *, struct sigaction *);
typedef int (*SigactionFunction)(int, const struct sigaction *, struct sigaction *);
typedef void (*SignalHandler)(int);

static _Atomic(SigactionAnswer) sigaction_answer;

// `answer` returns whether it has dealt with the call.
DEVSAN_EXPORT void devsan_preload_answer_sigaction(SigactionAnswer answer) {
  atomic_store_explicit(&sigaction_answer, answer, memory_order_release);
}

DEVSAN_EXPORT int sigaction(int signal, const struct sigaction *restrict action,
                            struct sigaction *restrict old) {
  SigactionAnswer answer = atomic_load_explicit(&sigaction_answer, memory_order_acquire);
  if (answer && answer(signal, action, old))
    return 0;
  static _Atomic(SigactionFunction) cached;
  SigactionFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (SigactionFunction)dlsym(RTLD_NEXT, "sigaction");
    if (!function)
      fail("cannot find", "sigaction", dlerror());
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function(signal, action, old);
}

// In glibc this is sigaction with BSD's meaning, which does not come by our sigaction.
DEVSAN_EXPORT SignalHandler signal(int number, SignalHandler handler) {
  SigactionAnswer answer = atomic_load_explicit(&sigaction_answer, memory_order_acquire);
  if (answer) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
    if (answer(number, &action, &old))
      return old.sa_handler;
  }
  typedef SignalHandler (*SignalFunction)(int, SignalHandler);
  static _Atomic(SignalFunction) cached;
  SignalFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (SignalFunction)dlsym(RTLD_NEXT, "signal");
    if (!function)
      fail("cannot find", "signal", dlerror());
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function(number, handler);
}
