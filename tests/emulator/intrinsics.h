// What kernels call of CUDA: barriers and exchanges, atomics, arithmetic.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "fibers.h"

#define threadIdx emulator::thread
#define blockIdx emulator::block
#define blockDim emulator::size

inline void __syncthreads() { emulator::wait_for(emulator::cta); }
inline void __syncwarp() { emulator::wait_for(emulator::warps[threadIdx.x / emulator::kWarp]); }
inline void __threadfence() {}

template <class T>
T __shfl_sync(unsigned, T v, int lane) {
  const uint64_t* const all = emulator::gather(v);
  std::memcpy(&v, &all[lane], sizeof(v));
  return v;
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int lane_mask) {
  return __shfl_sync(mask, v, static_cast<int>(threadIdx.x % emulator::kWarp) ^ lane_mask);
}
template <class T>
T __shfl_up_sync(unsigned mask, T v, int distance) {
  const int lane = static_cast<int>(threadIdx.x % emulator::kWarp);
  return __shfl_sync(mask, v, lane < distance ? lane : lane - distance);
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, int distance) {
  const int lane = static_cast<int>(threadIdx.x % emulator::kWarp);
  return __shfl_sync(mask, v, lane + distance < emulator::kWarp ? lane + distance : lane);
}
inline unsigned __ballot_sync(unsigned, bool v) {
  const uint64_t* const all = emulator::gather(v);
  unsigned mask = 0;
  for (int lane = 0; lane < emulator::kWarp; ++lane) mask |= static_cast<unsigned>(all[lane] & 1) << lane;
  return mask;
}
inline bool __all_sync(unsigned mask, bool v) { return __ballot_sync(mask, v) == 0xffffffffu; }
template <class T, class F>
T reduce_across_warp(T v, F f) {
  const uint64_t* const all = emulator::gather(v);
  for (int lane = 0; lane < emulator::kWarp; ++lane) {
    T other;
    std::memcpy(&other, &all[lane], sizeof(other));
    v = lane == 0 ? other : f(v, other);
  }
  return v;
}
template <class T>
T __reduce_add_sync(unsigned, T v) {
  return reduce_across_warp(
      v, [](T a, T b) { return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b)); });
}
template <class T>
T __reduce_max_sync(unsigned, T v) {
  return reduce_across_warp(v, [](T a, T b) { return a > b ? a : b; });
}
template <class T>
T __reduce_min_sync(unsigned, T v) {
  return reduce_across_warp(v, [](T a, T b) { return a < b ? a : b; });
}

template <class T>
T atomicAdd(T* target, T v) {
  const T before = *target;
  *target = before + v;
  return before;
}
template <class T>
T atomicMin(T* target, T v) {
  const T before = *target;
  *target = std::min(before, v);
  return before;
}
template <class T>
T atomicMax(T* target, T v) {
  const T before = *target;
  *target = std::max(before, v);
  return before;
}
template <class T>
T __ldcg(const T* p) {
  return *p;
}

template <class To, class From>
To bits_as(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}
inline int __double2hiint(double x) { return static_cast<int>(bits_as<uint64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(bits_as<uint64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return bits_as<double>(static_cast<uint64_t>(static_cast<uint32_t>(high)) << 32 | static_cast<uint32_t>(low));
}
inline long long __double_as_longlong(double x) { return bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return bits_as<double>(x); }
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __ddiv_rz(double a, double b) {  // of finite numbers
  const double q = a / b;
  if (!std::isfinite(q)) return q;
  const double rest = std::fma(-q, b, a);  // a - q b: of the sign of a where q is not too far from zero
  const bool away = rest != 0 && (rest < 0) != (a < 0);
  return away ? std::nextafter(q, 0.0) : q;
}
inline double __ll2double_rz(long long v) {
  const auto d = static_cast<double>(v);
  const bool away =
      v < 0 ? d < static_cast<long double>(v) : d > static_cast<long double>(v);  // long double has 64 bits
  return away ? std::nextafter(d, 0.0) : d;
}
inline long long __double2ll_rz(double d) { return static_cast<long long>(d); }  // below 2^63
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }

inline unsigned __vimax3_u32(unsigned a, unsigned b, unsigned c) { return std::max({a, b, c}); }
inline unsigned __vimin3_u32(unsigned a, unsigned b, unsigned c) { return std::min({a, b, c}); }
inline unsigned __viaddmin_u32(unsigned a, unsigned b, unsigned c) { return std::min(a + b, c); }

template <class F>
unsigned by_halves(unsigned a, unsigned b, unsigned c, F f) {
  const auto half = [](unsigned v, int i) { return static_cast<uint16_t>(v >> 16 * i); };
  unsigned result = 0;
  for (int i = 0; i < 2; ++i) result |= static_cast<unsigned>(f(half(a, i), half(b, i), half(c, i))) << 16 * i;
  return result;
}
inline unsigned __vimax3_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves(a, b, c, [](uint16_t x, uint16_t y, uint16_t z) { return std::max({x, y, z}); });
}
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
  return by_halves(a, b, c,
                   [](uint16_t x, uint16_t y, uint16_t z) { return std::min(static_cast<uint16_t>(x + y), z); });
}

template <class T>
int sum_of_bytes(unsigned a, unsigned b, int sum) {  // of their products
  for (int i = 0; i < 32; i += 8) sum += static_cast<T>(a >> i) * static_cast<T>(b >> i);
  return sum;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline int __dp4a(int a, int b, int sum) {
  return sum_of_bytes<int8_t>(static_cast<unsigned>(a), static_cast<unsigned>(b), sum);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) {
  return static_cast<unsigned>(sum_of_bytes<uint8_t>(a, b, static_cast<int>(sum)));
}
inline int __dp2a_lo(int a, int b, int sum) {
  return sum + static_cast<int16_t>(a) * static_cast<int8_t>(b) + (a >> 16) * static_cast<int8_t>(b >> 8);
}
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const uint64_t bytes = static_cast<uint64_t>(high) << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
  return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<uint64_t>(high) << 32 | low) >> (shift & 31));
}

template <class A, class B>
std::common_type_t<A, B> min(A a, B b) {
  return b < a ? b : a;
}
template <class A, class B>
std::common_type_t<A, B> max(A a, B b) {
  return a < b ? b : a;
}
