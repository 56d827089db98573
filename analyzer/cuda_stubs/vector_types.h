#pragma once

#define DEVSAN_VECTORS(T, name)                                                                    \
  struct name##1 {                                                                                 \
    T x;                                                                                           \
  };                                                                                               \
  struct name##2 {                                                                                 \
    T x, y;                                                                                        \
  };                                                                                               \
  struct name##3 {                                                                                 \
    T x, y, z;                                                                                     \
  };                                                                                               \
  struct name##4 {                                                                                 \
    T x, y, z, w;                                                                                  \
  };
DEVSAN_VECTORS(char, char)
DEVSAN_VECTORS(unsigned char, uchar)
DEVSAN_VECTORS(short, short)
DEVSAN_VECTORS(unsigned short, ushort)
DEVSAN_VECTORS(int, int)
DEVSAN_VECTORS(unsigned int, uint)
DEVSAN_VECTORS(long, long)
DEVSAN_VECTORS(unsigned long, ulong)
DEVSAN_VECTORS(long long, longlong)
DEVSAN_VECTORS(unsigned long long, ulonglong)
DEVSAN_VECTORS(float, float)
DEVSAN_VECTORS(double, double)
#undef DEVSAN_VECTORS

struct dim3 {
  unsigned int x, y, z;
#ifdef __cplusplus
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
#ifndef __cplusplus
typedef struct dim3 dim3;
#endif
