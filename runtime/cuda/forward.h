/* The part of the shim that forwards CUDA's functions, as preload.c sees it. */
#ifndef DEVSAN_RUNTIME_CUDA_FORWARD_H
#define DEVSAN_RUNTIME_CUDA_FORWARD_H

/* After every dlopen of the program that succeeded: a second CUDA runtime may have come, and a
   library opened with RTLD_DEEPBIND calls CUDA past the shim. */
void devsanNoteOpened(void *handle, int mode);

/* libc's dlopen, which preload.c stands before. */
void *devsanRealDlopen(const char *file, int mode);

#endif
