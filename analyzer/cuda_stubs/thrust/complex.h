#pragma once
#include "../cuda_runtime.h"

#include <complex>

namespace thrust {

template <typename T> struct complex {
  using value_type = T;
  __host__ __device__ constexpr complex(T real = T(), T imag = T()) : real_(real), imag_(imag) {}
  template <typename U> __host__ __device__ constexpr complex(const complex<U> &other) : real_(other.real()), imag_(other.imag()) {}
  template <typename U> __host__ __device__ constexpr complex(const std::complex<U> &other) : real_(other.real()), imag_(other.imag()) {}
  __host__ __device__ constexpr T real() const { return real_; }
  __host__ __device__ constexpr T imag() const { return imag_; }
  __host__ operator std::complex<T>() const;

private:
  T real_, imag_;
};

template <typename T> __host__ __device__ T abs(const complex<T> &z);
template <typename T> __host__ __device__ T arg(const complex<T> &z);
template <typename T> __host__ __device__ complex<T> polar(const T &length, const T &angle = T());
#define DEVSAN_COMPLEX(name) template <typename T> __host__ __device__ complex<T> name(const complex<T> &z);
DEVSAN_COMPLEX(exp)
DEVSAN_COMPLEX(log)
DEVSAN_COMPLEX(log10)
DEVSAN_COMPLEX(sqrt)
DEVSAN_COMPLEX(sin)
DEVSAN_COMPLEX(cos)
DEVSAN_COMPLEX(tan)
DEVSAN_COMPLEX(asin)
DEVSAN_COMPLEX(acos)
DEVSAN_COMPLEX(atan)
DEVSAN_COMPLEX(sinh)
DEVSAN_COMPLEX(cosh)
DEVSAN_COMPLEX(tanh)
DEVSAN_COMPLEX(asinh)
DEVSAN_COMPLEX(acosh)
DEVSAN_COMPLEX(atanh)
#undef DEVSAN_COMPLEX
template <typename T> __host__ __device__ complex<T> pow(const complex<T> &x, const complex<T> &y);
template <typename T> __host__ __device__ complex<T> pow(const complex<T> &x, const T &y);
template <typename T> __host__ __device__ complex<T> pow(const T &x, const complex<T> &y);

} // namespace thrust
