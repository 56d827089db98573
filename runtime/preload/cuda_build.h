/* Simulated devices for a CUDA build of LibTorch: brings the stand-ins for CUDA's libraries
   (runtime/cuda/standin) into the process before LibTorch's own could be. Does nothing where
   DEVSAN_CUDA_STANDIN names no folder, which is a run without --sim. */
#ifndef DEVSAN_RUNTIME_PRELOAD_CUDA_BUILD_H
#define DEVSAN_RUNTIME_PRELOAD_CUDA_BUILD_H

/* Before `file` is opened: a CUDA build is known by the libtorch_cuda.so beside the file, in the
   folder `lib` beside it, or among what the file needs, however far down. Ends the process where
   the program is one that cannot have simulated devices. */
void devsanBeforeOpening(const char *file);

/* The same once a CPU build is there: an extension that was compiled for its simulated devices is
   known by the CUDA runtime that it needs. */
void devsanBeforeOpeningExtension(const char *file);

/* Before main: for a program that is linked with a CUDA build, which the loader has brought
   together with CUDA's own libraries, starts the program again with the stand-ins before them. */
void devsanBeforeMain(char **argv);

/* In preload.c: the process goes on as it would without DevSan. Said once in a run, and counted for
   its report. `why` may be null. */
void devsanLeaveUnobserved(const char *what, const char *name, const char *why);

#endif
