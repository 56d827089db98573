/* What the processes of a run tell `devsan run` beside their logs: how many logs they made, and
 * which processes could not record. It has to work where a log cannot be made: under another user,
 * in a chroot or another mount namespace, with all descriptors closed, on a full disk. Hence System
 * V shared memory, which needs neither a path nor a descriptor nor room: `devsan run` makes it and
 * marks it for removal at once, so that the kernel frees it with its last user, however that ends;
 * its number stands in the environment. A process attaches it before anything can go wrong, and its
 * forks inherit it. Not reached are processes in another IPC namespace.
 *
 * The memory can be written by every process of the machine, so it holds numbers alone, and what
 * they say makes a report partial at worst. C, because the shim is; the functions may be called
 * from any thread, after fork too, and neither allocate nor lock. */
#pragma once

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

/* The variable: the memory's number and its token, "123:0123456789abcdef". */
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
  struct {
    uint32_t processes;
    uint32_t first; /* its number, and its errno or 0 */
    int32_t error;
  } losses[kDevsanLosses];
};

/* Null where there is none, or none that can be reached. */
static inline struct DevsanRunBoard *devsanRunBoard(void) {
  static struct DevsanRunBoard *attached;
  struct DevsanRunBoard *board = __atomic_load_n(&attached, __ATOMIC_ACQUIRE);
  const char *text = getenv(DEVSAN_RUN_BOARD);
  if (board || !text || !*text)
    return board;
  const int saved_errno = errno;
  char *end = NULL;
  const long id = strtol(text, &end, 10);
  struct shmid_ds status;
  if (*end == ':' && shmctl((int)id, IPC_STAT, &status) == 0 && status.shm_segsz >= sizeof *board) {
    const uint64_t token = strtoull(end + 1, NULL, 16);
    void *memory = shmat((int)id, NULL, 0);
    board = memory == (void *)-1 ? NULL : (struct DevsanRunBoard *)memory;
    if (board && board->token != token) {
      shmdt(memory);
      board = NULL;
    }
    if (board)
      __atomic_store_n(&attached, board, __ATOMIC_RELEASE);
  }
  errno = saved_errno;
  return board;
}

/* Whether somebody may still read what is recorded now. A process that outlives its run is no
 * fault, and nothing is said of it. `logs` is the folder of the logs, for where there is no board.
 */
static inline int devsanRunIsOver(const char *logs) {
  struct DevsanRunBoard *board = devsanRunBoard();
  if (board)
    return __atomic_load_n(&board->is_over, __ATOMIC_ACQUIRE) != 0;
  return access(logs, F_OK) != 0;
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
