// Moved since the code that includes it was written.
#pragma once
#include <ATen/cuda/CUDAGeneratorImpl.h>
