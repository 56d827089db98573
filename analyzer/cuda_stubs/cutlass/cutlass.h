#pragma once
#include "kernel_hardware_info.hpp"
