#pragma once
#include <cstdint>

namespace c10 {

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
constexpr ScalarType kByte = ScalarType::Byte;
constexpr ScalarType kInt = ScalarType::Int;
constexpr ScalarType kInt32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long;
constexpr ScalarType kInt64 = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half;
constexpr ScalarType kFloat = ScalarType::Float;
constexpr ScalarType kFloat32 = ScalarType::Float;
constexpr ScalarType kDouble = ScalarType::Double;
constexpr ScalarType kFloat64 = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool;
constexpr ScalarType kBFloat16 = ScalarType::BFloat16;

class Scalar {
public:
  Scalar();
  Scalar(int v);
  Scalar(int64_t v);
  Scalar(float v);
  Scalar(double v);
  Scalar(bool v);
  double toDouble() const;
  float toFloat() const;
  int toInt() const;
  int64_t toLong() const;
  bool toBool() const;
  template <typename T> T to() const;
};

} // namespace c10

namespace at {
using c10::kBFloat16;
using c10::kBool;
using c10::kByte;
using c10::kDouble;
using c10::kFloat;
using c10::kFloat32;
using c10::kFloat64;
using c10::kHalf;
using c10::kInt;
using c10::kInt32;
using c10::kInt64;
using c10::kLong;
using c10::Scalar;
using c10::ScalarType;
} // namespace at
