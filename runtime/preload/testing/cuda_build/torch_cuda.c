/* In the place of a CUDA build's libraries: linked with CUDA's runtime. */
int cudaGetDeviceCount(int *count);
int fakeTorchDeviceCount(void);
int fakeTorchDeviceCount(void) {
  int count = -1;
  cudaGetDeviceCount(&count);
  return count;
}
