// Stands before the C++ and CUDA examples of rule pages when they are tested. LibTorch's headers come first: so `devsan check`
// parses them once for all files.
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/script.h>
