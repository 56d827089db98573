// The library that `devsan run` puts into LD_PRELOAD. Every child process pays for it, so it links
// nothing but libc and has no constructor: it interposes the two ways by which LibTorch can arrive,
// dlopen and being linked to the program, and once libtorch_cpu.so is in the process it loads the
// libraries named in DEVSAN_LIBS, in order and once. Where they were built for another LibTorch
// (DEVSAN_TORCH_ID), DEVSAN_BUILDER is asked for such that fit. After that every call goes straight
// through, but for one look at whether a second LibTorch has come. Calls of CUDA are forwarded by
// the other half of the library, runtime/cuda/forward.c.
#define _GNU_SOURCE
#include "runtime/cuda/forward.h"
#include "runtime/preload/cuda_build.h"
#include "runtime/protocol/run_board.h"

#include <alloca.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEVSAN_EXPORT __attribute__((visibility("default")))

typedef void *(*DlopenFunction)(const char *, int);
typedef int (*MainFunction)(int, char **, char **);

enum { kNotLoaded, kLoading, kLoaded };

// Before main, constructors are running: LibTorch's own may not have run yet, so nothing may be
// loaded on top of it.
static atomic_bool main_started;
static atomic_int state = kNotLoaded;
static atomic_bool is_building;
static _Atomic(pid_t) loader_process;
static __thread int is_loader;
// A dlopen inside a constructor of a library that is being loaded must not trigger the load either.
static __thread int dlopen_depth;
static MainFunction program_main;
static atomic_bool is_unobserved;
extern char **environ;

// Without libc's own function there is no way on.
static _Noreturn void fail(const char *name) {
  dprintf(STDERR_FILENO, "devsan: cannot find libc's %s: %s\n", name, dlerror());
  _exit(2);
}

void devsanLeaveUnobserved(const char *what, const char *name, const char *why) {
  atomic_store(&is_unobserved, 1);
  if (devsanCountLoss(kDevsanNotLoaded, 0))
    dprintf(STDERR_FILENO, "devsan: process %ld runs on unobserved: %s %s%s%s\n", (long)getpid(),
            what, name, why ? ": " : "", why ? why : "");
}

// Asked by the stand-in for CUDA's driver: where no simulator could be loaded, there are no
// devices.
DEVSAN_EXPORT int devsan_preload_is_unobserved(void) {
  return atomic_load(&is_unobserved);
}

static DlopenFunction realDlopen(void) {
  static _Atomic(DlopenFunction) cached;
  DlopenFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (DlopenFunction)dlsym(RTLD_NEXT, "dlopen");
    if (!function)
      fail("dlopen");
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function;
}

void *devsanRealDlopen(const char *file, int mode) {
  return realDlopen()(file, mode);
}

// The LibTorchs of this process: the first one's file and identity, the second one's file.
struct Torch {
  char path[PATH_MAX];
  char id[2 * 64 + 1];
  char second[PATH_MAX];
};

static void writeBuildId(char *id, size_t size, const struct dl_phdr_info *info) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE)
      continue;
    const char *at = (const char *)(info->dlpi_addr + segment->p_vaddr);
    const char *end = at + segment->p_memsz;
    const size_t padding = segment->p_align == 8 ? 7 : 3;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
      const char *name = at + sizeof *note;
      const unsigned char *text =
          (const unsigned char *)name + ((note->n_namesz + padding) & ~padding);
      at = (const char *)text + ((note->n_descsz + padding) & ~padding);
      if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 || memcmp(name, "GNU", 4) != 0)
        continue;
      for (size_t k = 0; k < note->n_descsz && 2 * k + 2 < size; ++k)
        snprintf(id + 2 * k, 3, "%02x", text[k]);
      return;
    }
  }
}

static int noteTorch(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct Torch *torch = data;
  const char *slash = strrchr(info->dlpi_name, '/');
  if (!slash || strcmp(slash + 1, "libtorch_cpu.so") != 0)
    return 0;
  char *path = *torch->path ? torch->second : torch->path;
  snprintf(path, PATH_MAX, "%s", info->dlpi_name);
  if (path == torch->path)
    writeBuildId(torch->id, sizeof torch->id, info);
  return 0;
}

static void findTorch(struct Torch *torch) {
  *torch->path = *torch->id = *torch->second = 0;
  dl_iterate_phdr(noteTorch, torch);
  // Built without an id: the file's size and age stand for it. The same rule as in the builder.
  struct stat file;
  if (*torch->path && !*torch->id && stat(torch->path, &file) == 0)
    snprintf(torch->id, sizeof torch->id, "file-%llx-%llx", (unsigned long long)file.st_size,
             (unsigned long long)file.st_mtime);
}

static void warnOfSecondTorch(const struct Torch *torch) {
  static atomic_flag said = ATOMIC_FLAG_INIT;
  if (*torch->second && !atomic_flag_test_and_set(&said))
    dprintf(STDERR_FILENO,
            "devsan: two LibTorchs in one process: %s is observed, %s is not; operators that they "
            "both register may fail\n",
            torch->path, torch->second);
}

// What DEVSAN_BUILDER prints: the list that takes the place of `list`. It is an ordinary program,
// must not be observed itself, and explains on stderr what it does and why it fails. Returns
// whether there is a list.
static int askBuilder(const char *builder, const struct Torch *torch, const char *list, char *out,
                      size_t size) {
  size_t count = 0;
  while (environ[count])
    ++count;
  char **environment = malloc((count + 1) * sizeof *environment);
  if (!environment) {
    devsanLeaveUnobserved("cannot start", builder, "out of memory");
    return 0;
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i)
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
      environment[kept++] = environ[i];
  environment[kept] = NULL;
  char torch_option[PATH_MAX + 16], id_option[160];
  snprintf(torch_option, sizeof torch_option, "--torch=%s", torch->path);
  snprintf(id_option, sizeof id_option, "--id=%s", torch->id);
  char *argv[] = {(char *)builder, "prepare", torch_option, id_option, "--", (char *)list, NULL};
  int ends[2];
  posix_spawn_file_actions_t actions;
  pid_t child;
  int error = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
  if (!error) {
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    error = posix_spawn(&child, builder, &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error)
      close(ends[0]);
  }
  free(environment);
  if (error) {
    devsanLeaveUnobserved("cannot start", builder, strerror(error));
    return 0;
  }
  size_t length = 0;
  for (;;) {
    ssize_t got = read(ends[0], out + length, size - 1 - length);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    length += (size_t)got;
  }
  close(ends[0]);
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) {
  }
  while (length && out[length - 1] == '\n')
    --length;
  out[length] = 0;
  // A program that ignores SIGCHLD takes the status away; the output alone decides then.
  const int has_status = ended == child;
  char why[64];
  if (has_status && WIFSIGNALED(status))
    snprintf(why, sizeof why, "was ended by signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (has_status && WEXITSTATUS(status) != 0)
    snprintf(why, sizeof why, "ended with status %d", WEXITSTATUS(status));
  else if (length)
    return 1;
  else
    snprintf(why, sizeof why, "named no libraries");
  char command[PATH_MAX + 16];
  snprintf(command, sizeof command, "%s prepare", builder);
  devsanLeaveUnobserved(command, why, NULL);
  return 0;
}

// Those before one that cannot be loaded, and says so.
static void loadAll(const char *list, void **handles, int capacity, int *count) {
  char path[PATH_MAX];
  while (*list) {
    const char *end = strchrnul(list, ':');
    size_t length = (size_t)(end - list);
    if (length >= sizeof path) {
      devsanLeaveUnobserved("cannot load", "a library of DEVSAN_LIBS", "its path is too long");
      return;
    }
    if (length) {
      memcpy(path, list, length);
      path[length] = 0;
      // Global, because the program and Python find the runtime's functions by dlsym.
      void *handle = realDlopen()(path, RTLD_NOW | RTLD_GLOBAL);
      if (!handle) {
        devsanLeaveUnobserved("cannot load", path, dlerror());
        return;
      }
      if (*count < capacity)
        handles[(*count)++] = handle;
    }
    list = *end ? end + 1 : end;
  }
}

// Another thread loads: its operators must find the runtime in place when its dlopen returns, and
// so must ours. Bounded, because a thread may come here from inside the loader, which the other one
// needs: libc opens libraries of its own without asking us. A build takes minutes, all else
// moments.
static void waitForLoading(void) {
  const struct timespec pause = {0, 200 * 1000};
  int naps = 20 * 5000, naps_while_building = 600 * 5000;
  while ((atomic_load(&is_building) ? naps_while_building-- : naps--) > 0) {
    if (is_loader || atomic_load_explicit(&state, memory_order_acquire) != kLoading ||
        atomic_load_explicit(&loader_process, memory_order_relaxed) != getpid())
      return;
    nanosleep(&pause, NULL);
  }
}

static void load(const char *list) {
  struct Torch torch;
  char built[4 * PATH_MAX];
  devsanRunBoard();
  findTorch(&torch);
  warnOfSecondTorch(&torch);
  const char *id = getenv("DEVSAN_TORCH_ID"), *builder = getenv("DEVSAN_BUILDER");
  if (id && *id && builder && *torch.path && strcmp(id, torch.id) != 0) {
    atomic_store(&is_building, 1);
    const int has_list = askBuilder(builder, &torch, list, built, sizeof built);
    atomic_store(&is_building, 0);
    list = has_list ? built : "";
  }
  enum { kMaxLibraries = 8 };
  void *handles[kMaxLibraries];
  int count = 0;
  loadAll(list, handles, kMaxLibraries, &count);
  // From here on other threads go on, which may hold Python's lock.
  atomic_store_explicit(&state, kLoaded, memory_order_release);
  for (int i = 0; i < count; ++i) {
    void (*after_loading)(void) = (void (*)(void))dlsym(handles[i], "devsan_after_loading");
    if (after_loading)
      after_loading();
  }
  dlerror();
}

static void loadRuntimeIfTorchIsHere(void) {
  int seen = atomic_load_explicit(&state, memory_order_acquire);
  if (seen == kLoaded || is_loader || !atomic_load_explicit(&main_started, memory_order_acquire))
    return;
  if (seen == kLoading) {
    waitForLoading();
    return;
  }
  const char *list = getenv("DEVSAN_LIBS");
  if (!list || !*list)
    return;
  void *torch = realDlopen()("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  if (!torch) {
    dlerror();
    return;
  }
  dlclose(torch);
  atomic_store_explicit(&loader_process, getpid(), memory_order_relaxed);
  int expected = kNotLoaded;
  if (!atomic_compare_exchange_strong(&state, &expected, kLoading)) {
    waitForLoading();
    return;
  }
  is_loader = 1;
  load(list);
  is_loader = 0;
}

static int readCounts(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  *(unsigned long long *)data = info->dlpi_adds;
  return 1;
}

static void lookForSecondTorch(void) {
  static _Atomic unsigned long long seen;
  unsigned long long loads = 0;
  dl_iterate_phdr(readCounts, &loads);
  if (atomic_exchange(&seen, loads) == loads)
    return;
  struct Torch torch;
  findTorch(&torch);
  warnOfSecondTorch(&torch);
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

// The runtime looks into every module for calls that it has to see.
static void notifyModulesChanged(void) {
  static const char *const kNames[] = {"devsan_modules_changed", "devsan_sim_modules_changed"};
  typedef void (*Function)(void);
  static _Atomic(Function) cached[2];
  for (int i = 0; i < 2; ++i) {
    Function function = atomic_load_explicit(&cached[i], memory_order_acquire);
    if (!function) {
      function = (Function)dlsym(RTLD_DEFAULT, kNames[i]);
      atomic_store_explicit(&cached[i], function, memory_order_release);
    }
    if (function)
      function();
  }
}

DEVSAN_EXPORT void *dlopen(const char *file, int mode) {
  const void *caller = __builtin_return_address(0);
  DlopenFunction real = realDlopen();
  void *handle = NULL;
  const int before = atomic_load_explicit(&state, memory_order_relaxed);
  if (file && before == kNotLoaded)
    devsanBeforeOpening(file);
  else if (file && before == kLoaded)
    devsanBeforeOpeningExtension(file);
  ++dlopen_depth;
  if (file && *file == '$')
    handle = openFromOrigin(file, mode, caller);
  else if (file && *file && !strchr(file, '/'))
    handle = openOnCallersPath(file, mode, caller);
  if (!handle)
    handle = real(file, mode);
  // Only the outermost call knows that all constructors have run.
  if (--dlopen_depth == 0 && handle && !is_loader) {
    devsanNoteOpened(handle, mode);
    if (atomic_load_explicit(&state, memory_order_relaxed) == kLoaded) {
      lookForSecondTorch();
      notifyModulesChanged();
    } else {
      loadRuntimeIfTorchIsHere();
    }
  }
  return handle;
}

static int mainAfterLoading(int argc, char **argv, char **environment) {
  devsanBeforeMain(argv);
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
    fail("__libc_start_main");
  program_main = main;
  return real(mainAfterLoading, argc, argv, init, fini, rtld_fini, stack_end);
}

// Signal handlers: the simulator keeps SIGSEGV for itself (device memory that the host touches),
// the runtime SIGBUS (a log that was cut short), and each remembers what the program wants of it
// (runtime/protocol/kept_signal.h). Until they say so, and for other signals, all calls go straight
// through.
typedef int (*SigactionAnswer)(int, const struct sigaction *, struct sigaction *);
typedef int (*SigactionFunction)(int, const struct sigaction *, struct sigaction *);
typedef void (*SignalHandler)(int);

enum { kAnswers = 2 };
static _Atomic(SigactionAnswer) sigaction_answers[kAnswers];

// `answer` returns whether it has dealt with the call.
DEVSAN_EXPORT void devsan_preload_answer_sigaction(SigactionAnswer answer) {
  for (int i = 0; i < kAnswers; ++i) {
    SigactionAnswer none = NULL;
    if (atomic_compare_exchange_strong(&sigaction_answers[i], &none, answer))
      return;
  }
}

static int answersSigaction(int signal, const struct sigaction *action, struct sigaction *old) {
  for (int i = 0; i < kAnswers; ++i) {
    SigactionAnswer answer = atomic_load_explicit(&sigaction_answers[i], memory_order_acquire);
    if (answer && answer(signal, action, old))
      return 1;
  }
  return 0;
}

DEVSAN_EXPORT int sigaction(int signal, const struct sigaction *restrict action,
                            struct sigaction *restrict old) {
  if (answersSigaction(signal, action, old))
    return 0;
  static _Atomic(SigactionFunction) cached;
  SigactionFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (SigactionFunction)dlsym(RTLD_NEXT, "sigaction");
    if (!function)
      fail("sigaction");
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function(signal, action, old);
}

// In glibc this is sigaction with BSD's meaning, which does not come by our sigaction.
DEVSAN_EXPORT SignalHandler signal(int number, SignalHandler handler) {
  const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
  struct sigaction old;
  if (answersSigaction(number, &action, &old))
    return old.sa_handler;
  typedef SignalHandler (*SignalFunction)(int, SignalHandler);
  static _Atomic(SignalFunction) cached;
  SignalFunction function = atomic_load_explicit(&cached, memory_order_acquire);
  if (!function) {
    function = (SignalFunction)dlsym(RTLD_NEXT, "signal");
    if (!function)
      fail("signal");
    atomic_store_explicit(&cached, function, memory_order_release);
  }
  return function(number, handler);
}
