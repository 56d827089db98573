// For fuzzers: what must hold of every input. Unlike assert, also in release builds.
#pragma once

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);          \
      std::abort();                                                                                \
    }                                                                                              \
  } while (false)
