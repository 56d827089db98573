#pragma once
#include <ATen/cuda/Exceptions.h>
#include <hip/torch_names.h>
