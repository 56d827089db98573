// What nvcc includes before each file. Named by its place, so that no file of the checked folder is
// taken for it; the header itself is searched for, and is a system's.
#include <cuda_runtime.h>
