#pragma once
#include "THC.h"

struct THCThrustAllocator {
  using value_type = char;
  explicit THCThrustAllocator(THCState *state);
  char *allocate(std::ptrdiff_t size);
  void deallocate(char *pointer, size_t size);
};
