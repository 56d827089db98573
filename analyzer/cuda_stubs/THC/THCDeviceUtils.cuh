#pragma once
#include "THC.h"
