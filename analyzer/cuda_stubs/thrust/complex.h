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
  __host__ __device__ constexpr void real(T value) { real_ = value; }
  __host__ __device__ constexpr void imag(T value) { imag_ = value; }
  __host__ __device__ constexpr operator std::complex<T>() const { return {real_, imag_}; }

private:
  T real_, imag_;
};

// The host's, as nvcc's are: `std::` computes what thrust's own do.
#define DEVSAN_COMPLEX(name)                                                                                                                         \
  template <typename T> __host__ __device__ complex<T> name(const complex<T> &z) { return std::name(std::complex<T>(z)); }
DEVSAN_COMPLEX(conj)
DEVSAN_COMPLEX(proj)
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
template <typename T> __host__ __device__ T abs(const complex<T> &z) { return std::abs(std::complex<T>(z)); }
template <typename T> __host__ __device__ T arg(const complex<T> &z) { return std::arg(std::complex<T>(z)); }
template <typename T> __host__ __device__ T norm(const complex<T> &z) { return std::norm(std::complex<T>(z)); }
template <typename T> __host__ __device__ complex<T> polar(const T &length, const T &angle = T()) { return std::polar(length, angle); }
template <typename T> __host__ __device__ complex<T> pow(const complex<T> &x, const complex<T> &y) { return std::pow(std::complex<T>(x), std::complex<T>(y)); }
template <typename T> __host__ __device__ complex<T> pow(const complex<T> &x, const T &y) { return std::pow(std::complex<T>(x), y); }
template <typename T> __host__ __device__ complex<T> pow(const T &x, const complex<T> &y) { return std::pow(x, std::complex<T>(y)); }

#define DEVSAN_COMPLEX(op, result)                                                                                                                   \
  template <typename T> __host__ __device__ result operator op(const complex<T> &x, const complex<T> &y) { return std::complex<T>(x) op std::complex<T>(y); } \
  template <typename T> __host__ __device__ result operator op(const complex<T> &x, const T &y) { return std::complex<T>(x) op y; }                 \
  template <typename T> __host__ __device__ result operator op(const T &x, const complex<T> &y) { return x op std::complex<T>(y); }
DEVSAN_COMPLEX(+, complex<T>)
DEVSAN_COMPLEX(-, complex<T>)
DEVSAN_COMPLEX(*, complex<T>)
DEVSAN_COMPLEX(/, complex<T>)
DEVSAN_COMPLEX(==, bool)
DEVSAN_COMPLEX(!=, bool)
#undef DEVSAN_COMPLEX
template <typename T> __host__ __device__ complex<T> operator-(const complex<T> &z) { return -std::complex<T>(z); }

} // namespace thrust
