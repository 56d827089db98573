#pragma once
#include <c10/cuda/CUDAException.h>
