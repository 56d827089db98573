/* In the place of CUDA's own runtime, with more devices than any simulation: who sees it, shows. */
int cudaGetDeviceCount(int *count);
int cudaGetDeviceCount(int *count) {
  *count = 77;
  return 0;
}
