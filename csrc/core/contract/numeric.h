// Conversions between element types and compute types, with the same bits on host and device.
//
// Widening is exact. Narrowing rounds once, to nearest, ties to even: c10's double-to-half conversion
// goes through float and rounds twice, so it is not used here.
#pragma once

#include <type_traits>

#include "core/contract/types.h"

namespace torch_reduce {

// What std::is_integral says, of Int128 too.
template <class T>
constexpr bool is_integer = std::is_integral<T>::value || std::is_same<T, Int128>::value;

template <class To, class From>
TR_HD To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "bit_cast keeps the size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}

// 2^k of a normal power, as the type of `like`.
TR_HD float power_of_two(int32_t k, float) { return bit_cast<float>((static_cast<uint32_t>(k) + 127u) << 23); }
TR_HD double power_of_two(int64_t k, double) { return bit_cast<double>((static_cast<uint64_t>(k) + 1023u) << 52); }

// ---- exact widening ---------------------------------------------------------------------------------

// Without a branch, so that loops over it vectorise: the exponent is moved by a multiplication, which
// normalises subnormals too, and Inf and NaN get the full exponent back.
TR_HD float to_float(Half h) {
#if defined(__CUDA_ARCH__)
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h.bits));
  return f;
#else
  const uint32_t magnitude = static_cast<uint32_t>(h.bits & 0x7fffu) << 13;
  uint32_t bits = bit_cast<uint32_t>(bit_cast<float>(magnitude) * bit_cast<float>(0x77800000u));  // 2^112
  bits |= (h.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return bit_cast<float>(bits | (static_cast<uint32_t>(h.bits & 0x8000u) << 16));
#endif
}

template <class T>
constexpr bool is_float8_type = std::is_same<T, Float8E4M3FN>::value || std::is_same<T, Float8E5M2>::value;
// Where fp32 has the mantissa of the type, and its smallest normal number.
template <class T>
constexpr int kMantissaShift = 23 - T::kMantissaBits;
template <class T>
constexpr uint32_t kSmallestNormal = static_cast<uint32_t>(128 - T::kBias) << 23;

// Without a branch too. A subnormal number is what a mantissa adds to the smallest normal one.
template <class T, std::enable_if_t<is_float8_type<T>, int> = 0>
TR_HD float to_float(T x) {
  const uint32_t magnitude = static_cast<uint32_t>(x.bits & 0x7fu) << kMantissaShift<T>;
  const float subnormal = bit_cast<float>(magnitude | kSmallestNormal<T>) - bit_cast<float>(kSmallestNormal<T>);
  uint32_t bits = magnitude + kSmallestNormal<T> - (1u << 23);
  bits = magnitude < 1u << 23 ? bit_cast<uint32_t>(subnormal) : bits;
  constexpr uint32_t special = std::is_same<T, Float8E5M2>::value ? 0x7cu : 0x7fu;  // Inf and NaN; NaN alone
  bits |= (x.bits & special) == special ? 0x7f800000u : 0u;
  return bit_cast<float>(bits | (static_cast<uint32_t>(x.bits & 0x80u) << 24));
}

TR_HD float to_float(BFloat16 b) { return bit_cast<float>(static_cast<uint32_t>(b.bits) << 16); }

// Towards zero. A C++ cast leaves NaN and values outside int64 undefined, and devices differ: here they give
// the smallest integer, as x86 does.
TR_HD int64_t truncate(double x) {
  constexpr double limit = 9223372036854775808.0;  // 2^63
  return x >= -limit && x < limit ? static_cast<int64_t>(x) : INT64_MIN;
}

// An element as the compute type.
template <class Acc, class T>
TR_HD Acc widen(T x) {
  if constexpr (std::is_class<Acc>::value) {  // Endless
    return {widen<double>(x)};
  } else if constexpr (std::is_same<T, Bool>::value) {
    return static_cast<Acc>(x.byte != 0);
  } else if constexpr (is_tested<T>) {
    return static_cast<Acc>(x.bits != 0);
  } else if constexpr (std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value || is_float8_type<T>) {
    return widen<Acc>(to_float(x));
  } else if constexpr (std::is_floating_point<T>::value && is_integer<Acc>) {
    return truncate(x);
  } else {
    return static_cast<Acc>(x);
  }
}

// ---- narrowing, one rounding ------------------------------------------------------------------------

TR_HD BFloat16 to_bfloat16(float f) {
#if defined(__CUDA_ARCH__)
  BFloat16 b;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b.bits) : "f"(f));
  return b;
#else
  const uint32_t bits = bit_cast<uint32_t>(f);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

TR_HD Half to_half(float f) {
#if defined(__CUDA_ARCH__)
  Half h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(f));
  return h;
#else
  const uint32_t bits = bit_cast<uint32_t>(f);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {static_cast<uint16_t>(sign | 0x7e00u)};
  if (magnitude >= 0x477ff000u) return {static_cast<uint16_t>(sign | 0x7c00u)};  // 65520 and above: Inf
  if (magnitude < 0x38800000u) {                                                 // below 2^-14: subnormal
    // 0.5 has the ulp 2^-24 of a subnormal half, so this one addition rounds at the right place.
    const float aligned = bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<uint16_t>(sign | (bit_cast<uint32_t>(aligned) - 0x3f000000u))};
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u) - 0x38000000u;
  return {static_cast<uint16_t>(sign | (rounded >> 13))};
#endif
}

// Of a value that the type has, as an extreme of elements is: nothing is rounded. Infinity, where there is none,
// becomes the largest value.
template <class T>
TR_HD T to_float8(float f) {
  const uint32_t bits = bit_cast<uint32_t>(f), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<uint8_t>((bits >> 24) & 0x80u);
  constexpr uint32_t infinity = std::is_same<T, Float8E5M2>::value ? 0x7cu : 0x7eu;
  if (magnitude >= 0x7f800000u) return {static_cast<uint8_t>(sign | (magnitude > 0x7f800000u ? 0x7fu : infinity))};
  if (magnitude < kSmallestNormal<T>) {
    const float above = bit_cast<float>(magnitude) + bit_cast<float>(kSmallestNormal<T>);
    return {static_cast<uint8_t>(sign | ((bit_cast<uint32_t>(above) - kSmallestNormal<T>) >> kMantissaShift<T>))};
  }
  return {static_cast<uint8_t>(sign | ((magnitude - kSmallestNormal<T> + (1u << 23)) >> kMantissaShift<T>))};
}

// Rounds to odd: an inexact result keeps a set last bit as the trace of what was cut, so that a second
// rounding to a type at least two bits narrower gives the correctly rounded result (Boldo and Melquiond,
// "Emulation of FMA and correctly rounded sums", 2008).
TR_HD float to_float_odd(double d) {
  const float nearest = static_cast<float>(d);
  const double back = static_cast<double>(nearest);
  if (back == d || d != d) return nearest;
  uint32_t bits = bit_cast<uint32_t>(nearest);
  const bool away = (back < 0 ? -back : back) > (d < 0 ? -d : d);
  bits -= away ? 1u : 0u;  // towards zero; from Inf to the largest finite value
  return bit_cast<float>(bits | 1u);
}

TR_HD double to_double_odd(int64_t i) {
  const uint64_t magnitude = i < 0 ? 0 - static_cast<uint64_t>(i) : static_cast<uint64_t>(i);
  if ((magnitude >> 53) == 0) return static_cast<double>(i);
  const uint64_t sticky = (magnitude & 0x7ffu) != 0;
  const double d = static_cast<double>((magnitude >> 11) | sticky) * 2048.0;
  return i < 0 ? -d : d;
}

TR_HD int leading_zeros(uint64_t x) {  // of x > 0
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}

// The upper `Bits` bits of what 64 do not hold, of which the last one is set too if another below is: as a double, one
// rounding is left if there are more than 53 of them, and none if there are as many, which are rounded to odd.
template <int Bits>
TR_HD double upper_bits(Int128 i) {
  const auto magnitude = i < 0 ? 0 - static_cast<unsigned __int128>(i) : static_cast<unsigned __int128>(i);
  const auto high = static_cast<uint64_t>(magnitude >> 64), low = static_cast<uint64_t>(magnitude);
  const int length = high != 0 ? 128 - leading_zeros(high) : low != 0 ? 64 - leading_zeros(low) : 0;
  const int shift = length > Bits ? length - Bits : 0;
  const bool sticky = (magnitude & ((static_cast<unsigned __int128>(1) << shift) - 1)) != 0;
  const uint64_t upper = static_cast<uint64_t>(magnitude >> shift) | sticky;
  const double scale = bit_cast<double>(static_cast<uint64_t>(1023 + shift) << 52);
  const double d = static_cast<double>(upper) * scale;
  return i < 0 ? -d : d;
}
// Most sums fit in 64 bits, of which a processor converts.
TR_HD bool fits_in_64_bits(Int128 i) { return i == static_cast<int64_t>(i); }
TR_HD double to_double(Int128 i) {
  return fits_in_64_bits(i) ? static_cast<double>(static_cast<int64_t>(i)) : upper_bits<64>(i);
}
TR_HD double to_double_odd(Int128 i) {
  return fits_in_64_bits(i) ? to_double_odd(static_cast<int64_t>(i)) : upper_bits<53>(i);
}

template <class Out, class Acc>
struct Narrow {  // integers, and floating values of the same width or wider
  static TR_HD Out from(Acc a) { return static_cast<Out>(a); }
};
template <class Acc>
struct Narrow<Bool, Acc> {
  static TR_HD Bool from(Acc a) { return {static_cast<uint8_t>(a != Acc(0))}; }
};
template <>
struct Narrow<Float8E4M3FN, float> {
  static TR_HD Float8E4M3FN from(float a) { return to_float8<Float8E4M3FN>(a); }
};
template <>
struct Narrow<Float8E5M2, float> {
  static TR_HD Float8E5M2 from(float a) { return to_float8<Float8E5M2>(a); }
};
template <>
struct Narrow<Half, float> {
  static TR_HD Half from(float a) { return to_half(a); }
};
template <>
struct Narrow<BFloat16, float> {
  static TR_HD BFloat16 from(float a) { return to_bfloat16(a); }
};
template <>
struct Narrow<Half, double> {
  static TR_HD Half from(double a) { return to_half(to_float_odd(a)); }
};
template <>
struct Narrow<BFloat16, double> {
  static TR_HD BFloat16 from(double a) { return to_bfloat16(to_float_odd(a)); }
};
template <>
struct Narrow<Half, int64_t> {
  static TR_HD Half from(int64_t a) { return to_half(to_float_odd(to_double_odd(a))); }
};
template <>
struct Narrow<BFloat16, int64_t> {
  static TR_HD BFloat16 from(int64_t a) { return to_bfloat16(to_float_odd(to_double_odd(a))); }
};
template <>
struct Narrow<double, Int128> {
  static TR_HD double from(Int128 a) { return to_double(a); }
};
template <>
struct Narrow<float, Int128> {
  static TR_HD float from(Int128 a) { return static_cast<float>(to_double_odd(a)); }
};
template <>
struct Narrow<Half, Int128> {
  static TR_HD Half from(Int128 a) { return to_half(to_float_odd(to_double_odd(a))); }
};
template <>
struct Narrow<BFloat16, Int128> {
  static TR_HD BFloat16 from(Int128 a) { return to_bfloat16(to_float_odd(to_double_odd(a))); }
};

}  // namespace torch_reduce
