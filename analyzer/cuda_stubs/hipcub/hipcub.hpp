#pragma once
#include <cub/cub.cuh>
#include <hip/hip_runtime.h>

namespace hipcub = cub;
