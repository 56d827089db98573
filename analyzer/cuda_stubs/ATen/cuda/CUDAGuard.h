// Moved since the code that includes it was written.
#pragma once
#include <c10/cuda/CUDAGuard.h>
