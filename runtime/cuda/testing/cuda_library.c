/* Named like one of CUDA's own libraries: sets itself up, then waits for its caller. */
#include "declarations.h"

__attribute__((visibility("default"))) void useCudaLibrary(void) {
  static const char table[64];
  void *pinned = 0, *memory = 0;
  cudaMallocHost(&pinned, 64);
  cudaMalloc(&memory, 64);
  cudaMemcpy(memory, table, sizeof table, 1);
  cudaFree(memory);
  cudaFreeHost(pinned);
  cudaDeviceSynchronize();
}
