/* What the processes of a run tell `devsan run` beside their logs: how many logs they made, and
 * which processes could not record. It has to work where a log cannot be made: under another user,
 * in a chroot or another mount namespace, with all descriptors closed, on a full disk. Hence System
 * V shared memory, which needs neither a path nor a descriptor nor room: `devsan run` makes it and
 * marks it for removal at once, so that the kernel frees it with its last user, however that ends;
 * its number stands in the environment. A process attaches it before anything can go wrong, and its
 * forks inherit it. Not reached are processes in another IPC namespace. Where the system has no
 * such memory, it is a file in memory that `devsan run` holds open, and its path below /proc stands
 * in the environment: not reached are processes that become another user, or enter a chroot or a
 * PID namespace, before they map it.
 *
 * It can be written by the processes of its user, and where that is root, whose processes may
 * become other users, by everybody. So it holds numbers alone, which end up in sentences of the
 * report and nowhere else. Whoever forges them can add losses or hide them. That the run is over
 * long before it is cannot be said unnoticed, unless each trace of it is wiped, too. C, because the
 * shim is; the functions may be called from any thread, after fork too, and neither allocate nor
 * lock. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#ifndef F_GET_SEALS /* without _GNU_SOURCE */
#define F_GET_SEALS 1034
#define F_SEAL_SHRINK 2
#endif

/* The variable: the memory's number, or the file's absolute path, and its token,
 * "123:0123456789abcdef". */
#define DEVSAN_RUN_BOARD "DEVSAN_RUN_BOARD"

enum DevsanLoss {
  kDevsanNotLoaded, /* the runtime could not be loaded, or not be started */
  kDevsanNoLog,     /* the process could not make its log */
  kDevsanLogCut,    /* its log was truncated while it ran */
  kDevsanBadFork,   /* forked while the parent's threads held what the runtime needs */
  kDevsanLosses,
};

struct DevsanRunBoard {
  uint64_t token;   /* tells the memory of this run from another with its number */
  uint32_t is_over; /* the logs are being read: what comes now belongs to no report */
  uint32_t logs;    /* that were made */
  uint32_t refused; /* and those that were not, because it was over */
  struct {
    uint32_t processes;
    uint32_t first; /* its number, and its errno or 0 */
    int32_t error;
  } losses[kDevsanLosses];
};

static inline void *devsanMapBoard(const char *path) {
  const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  const int seals = file < 0 ? -1 : fcntl(file, F_GET_SEALS);
  void *memory = MAP_FAILED;
  /* What another process put at that place could shrink, and end this one. */
  if (seals >= 0 && (seals & F_SEAL_SHRINK) &&
      lseek(file, 0, SEEK_END) >= (off_t)sizeof(struct DevsanRunBoard))
    memory = mmap(NULL, sizeof(struct DevsanRunBoard), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static inline void *devsanAttachBoard(const char *number) {
  const int id = (int)strtol(number, NULL, 10);
  struct shmid_ds status;
  if (shmctl(id, IPC_STAT, &status) != 0 || status.shm_segsz < sizeof(struct DevsanRunBoard))
    return NULL;
  void *memory = shmat(id, NULL, 0);
  return memory == (void *)-1 ? NULL : memory;
}

/* Null where there is none, or none that can be reached. */
static inline struct DevsanRunBoard *devsanRunBoard(void) {
  static struct DevsanRunBoard *attached;
  struct DevsanRunBoard *board = __atomic_load_n(&attached, __ATOMIC_ACQUIRE);
  if (board)
    return board;
  const char *text = getenv(DEVSAN_RUN_BOARD);
  const char *colon = text ? strrchr(text, ':') : NULL;
  char place[64];
  if (!colon || (size_t)(colon - text) >= sizeof place)
    return NULL;
  memcpy(place, text, (size_t)(colon - text));
  place[colon - text] = 0;
  const int saved_errno = errno;
  const int is_file = *place == '/';
  board = (struct DevsanRunBoard *)(is_file ? devsanMapBoard(place) : devsanAttachBoard(place));
  if (board && board->token != strtoull(colon + 1, NULL, 16)) {
    if (is_file)
      munmap(board, sizeof *board);
    else
      shmdt(board);
    board = NULL;
  }
  if (board)
    __atomic_store_n(&attached, board, __ATOMIC_RELEASE);
  errno = saved_errno;
  return board;
}

/* Whether somebody may still read what is recorded now. A process that outlives its run is no
 * fault, and nothing is said of it. `logs` is the folder of the logs, for where there is no board.
 */
static inline int devsanRunIsOver(const char *logs) {
  struct DevsanRunBoard *board = devsanRunBoard();
  if (!board)
    return access(logs, F_OK) != 0;
  if (!__atomic_load_n(&board->is_over, __ATOMIC_ACQUIRE))
    return 0;
  __atomic_fetch_add(&board->refused, 1, __ATOMIC_RELAXED);
  return 1;
}

static inline void devsanCountLog(void) {
  struct DevsanRunBoard *board = devsanRunBoard();
  if (board)
    __atomic_fetch_add(&board->logs, 1, __ATOMIC_RELAXED);
}

/* Counts this process. Returns whether the caller is to say why: the first one of a run does. */
static inline int devsanCountLoss(enum DevsanLoss loss, int error) {
  struct DevsanRunBoard *board = devsanRunBoard();
  if (!board)
    return 1;
  if (__atomic_fetch_add(&board->losses[loss].processes, 1, __ATOMIC_ACQ_REL) != 0)
    return 0;
  board->losses[loss].first = (uint32_t)getpid();
  board->losses[loss].error = error;
  return 1;
}
