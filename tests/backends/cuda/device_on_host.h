// The device intrinsics that backends/cuda/*.cuh use, on the host: with them the functions that kernels are
// made of are compared with the reference where there is no GPU. Include it before any .cuh file.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

inline float __uint_as_float(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}
inline std::uint32_t __float_as_uint(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline double __longlong_as_double(long long bits) {
  return std::bit_cast<double>(bits);
}
inline long long __double_as_longlong(double value) {
  return std::bit_cast<long long>(value);
}
inline float __double2float_rn(double value) {
  return static_cast<float>(value);
}
inline float __fadd_rn(float a, float b) {
  return a + b;
}
inline float __fsub_rn(float a, float b) {
  return a - b;
}
inline float __fmul_rn(float a, float b) {
  return a * b;
}
inline float __fdiv_rn(float a, float b) {
  return a / b;
}
inline double __ddiv_rn(double a, double b) {
  return a / b;
}
inline double __dadd_rn(double a, double b) {
  return a + b;
}
inline double __dsub_rn(double a, double b) {
  return a - b;
}
inline double __dmul_rn(double a, double b) {
  return a * b;
}
inline std::uint32_t __umulhi(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32);
}
inline int __clz(int value) {
  return std::countl_zero(static_cast<std::uint32_t>(value));
}
inline int __clzll(long long value) {
  return std::countl_zero(static_cast<std::uint64_t>(value));
}
using std::max;
using std::min;
