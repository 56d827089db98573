/* CUDA's libraries beside driver and runtime, in simulated runs: each begins with a function that
   makes a handle, and that one says here what is not simulated. PyTorch's operators do not come to
   it, because the CPU's kernels take their place; extensions and torch.cuda.current_blas_handle()
   do. Opened before the libraries themselves, so that these definitions come first. */
#include <stdio.h>
#include <unistd.h>

static int refuse(const char *library, const char *function, int status) {
  dprintf(STDERR_FILENO, "devsan: not simulated: %s (%s)\n", library, function);
  return status;
}

/* Each library's own number for "not supported", or what is nearest to it. */
#define DEVSAN_REFUSE(function, library, status)                                                   \
  int function(void);                                                                              \
  int function(void) {                                                                             \
    return refuse(library, #function, status);                                                     \
  }
DEVSAN_REFUSE(cublasCreate_v2, "cuBLAS", 15)
DEVSAN_REFUSE(cublasLtCreate, "cuBLASLt", 15)
DEVSAN_REFUSE(cudnnCreate, "cuDNN", 3000)
DEVSAN_REFUSE(cusolverDnCreate, "cuSOLVER", 9)
DEVSAN_REFUSE(cusparseCreate, "cuSPARSE", 10)
DEVSAN_REFUSE(cusparseLtInit, "cuSPARSELt", 10)
DEVSAN_REFUSE(cufftCreate, "cuFFT", 16)
DEVSAN_REFUSE(curandCreateGenerator, "cuRAND", 203)
DEVSAN_REFUSE(nvrtcCreateProgram, "NVRTC, the compiler of GPU kernels", 3)
DEVSAN_REFUSE(cuFileDriverOpen, "cuFile", 5001)
DEVSAN_REFUSE(ncclGetUniqueId, "NCCL", 5)
DEVSAN_REFUSE(ncclCommInitRank, "NCCL", 5)
DEVSAN_REFUSE(ncclCommInitRankConfig, "NCCL", 5)
DEVSAN_REFUSE(ncclCommInitAll, "NCCL", 5)

const char *ncclGetLastError(void *communicator);
const char *ncclGetLastError(void *communicator) {
  (void)communicator;
  return "not simulated: NCCL by its own functions on a CUDA build of PyTorch; torch.distributed's "
         "back end \"nccl\" is simulated, from Python";
}
