/* What newer glibcs have and we, or what is linked into us, use: linked into each product, seen by
 * nothing else. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

/* glibc 2.32: whether the process has one thread. "No" is always right. */
char __libc_single_threaded = 0;

/* glibc 2.33: these were inline functions over the following ones. */
#pragma GCC visibility push(default)
extern int __xstat(int version, const char *path, struct stat *to);
extern int __lxstat(int version, const char *path, struct stat *to);
extern int __fxstat(int version, int file, struct stat *to);
extern int __fxstatat(int version, int folder, const char *path, struct stat *to, int flags);
#pragma GCC visibility pop
enum { kStatVersion = 1 }; /* of x86-64 */
int stat(const char *path, struct stat *to) {
  return __xstat(kStatVersion, path, to);
}
int lstat(const char *path, struct stat *to) {
  return __lxstat(kStatVersion, path, to);
}
int fstat(int file, struct stat *to) {
  return __fxstat(kStatVersion, file, to);
}
int fstatat(int folder, const char *path, struct stat *to, int flags) {
  return __fxstatat(kStatVersion, folder, path, to, flags);
}
int stat64(const char *path, struct stat64 *to) {
  return __xstat(kStatVersion, path, (struct stat *)to);
}
int lstat64(const char *path, struct stat64 *to) {
  return __lxstat(kStatVersion, path, (struct stat *)to);
}
int fstat64(int file, struct stat64 *to) {
  return __fxstat(kStatVersion, file, (struct stat *)to);
}

/* glibc 2.30 and 2.34. */
pid_t gettid(void) {
  return (pid_t)syscall(SYS_gettid);
}
int close_range(unsigned first, unsigned last, int flags) {
  return (int)syscall(SYS_close_range, first, last, flags);
}

/* glibc 2.33. */
struct mallinfo2 mallinfo2(void) {
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo small = mallinfo();
  return (struct mallinfo2){.arena = (unsigned)small.arena,
                            .hblkhd = (unsigned)small.hblkhd,
                            .uordblks = (unsigned)small.uordblks,
                            .fordblks = (unsigned)small.fordblks};
}

/* glibc 2.36. */
uint32_t arc4random(void) {
  uint32_t number;
  while (getrandom(&number, sizeof number, 0) != sizeof number)
    if (errno != EINTR)
      abort();
  return number;
}

/* glibc 2.30. Its own where it has one; else by the clock of the time of day, so that whoever sets
 * that clock in between changes how long. */
typedef int ClockWait(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
#pragma GCC visibility push(default)
extern void *dlsym(void *library, const char *name) __attribute__((weak)); /* of libdl, if old */
#pragma GCC visibility pop
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *end) {
  static _Atomic(ClockWait *) known;
  ClockWait *own = known;
  if (!own && dlsym)
    known = own = (ClockWait *)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  if (own)
    return own(condition, mutex, clock, end);
  struct timespec now, today;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &today);
  long nanoseconds = today.tv_nsec + end->tv_nsec - now.tv_nsec;
  time_t seconds = today.tv_sec + end->tv_sec - now.tv_sec;
  for (; nanoseconds < 0; nanoseconds += 1000000000)
    --seconds;
  for (; nanoseconds >= 1000000000; nanoseconds -= 1000000000)
    ++seconds;
  const struct timespec converted = {.tv_sec = seconds, .tv_nsec = nanoseconds};
  return pthread_cond_timedwait(condition, mutex, &converted);
}

/* glibc 2.35: where the unwinder of GCC 12 and later finds the frames of an address. */
struct Search {
  uintptr_t address;
  struct dl_find_object *found;
};
static int look(struct dl_phdr_info *object, size_t size, void *data) {
  (void)size;
  const struct Search *search = data;
  const ElfW(Phdr) *frames = NULL, *holder = NULL;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *header = &object->dlpi_phdr[i];
    if (header->p_type == PT_GNU_EH_FRAME)
      frames = header;
    if (header->p_type == PT_LOAD &&
        search->address - (object->dlpi_addr + header->p_vaddr) < header->p_memsz)
      holder = header;
  }
  if (!holder || !frames)
    return 0;
  memset(search->found, 0, sizeof *search->found);
  search->found->dlfo_map_start = (void *)(object->dlpi_addr + holder->p_vaddr);
  search->found->dlfo_map_end = (void *)(object->dlpi_addr + holder->p_vaddr + holder->p_memsz);
  search->found->dlfo_eh_frame = (void *)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}
int _dl_find_object(void *address, struct dl_find_object *found) {
  struct Search search = {(uintptr_t)address, found};
  return dl_iterate_phdr(look, &search) ? 0 : -1;
}

/* libstdc++ of GCC 11: `new` of an array with a negative length, in code without exceptions. A
 * static libstdc++ has its own. */
__attribute__((noreturn, weak)) void _ZSt28__throw_bad_array_new_lengthv(void) {
  abort();
}

#pragma GCC visibility pop
