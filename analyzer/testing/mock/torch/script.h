#pragma once
#include <torch/serialize.h>
#include <torch/torch.h>
