// Products within a chunk: a significand and a power of two. Elements have significands in [1, 2), and those of
// siblings are brought back there, once each. So no product of a chunk leaves the range of fp32, and what combines two
// adds their exponents and does nothing else. The roundings are those of order::multiply(), which scales each product.
#pragma once

#include "core/cpu/scan/plain.h"
#include "core/cpu/simd/plain_leaves.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Of float, double, or a vector of one of them.
template <class V>
struct Powers {
  using Scale = order::ScaleOf<V>;
  using Word = std::decay_t<decltype(Scale::kLimit)>;
  using Limits = std::numeric_limits<Word>;
  using Int = typename Scale::Exponent;  // for each word
  using Scaled = order::Scaled<V>;       // whose exponents count powers of two here
  static constexpr int kFraction = Limits::digits - 1, kBias = Limits::max_exponent - 1;
  static constexpr int kSign = 8 * sizeof(Word) - 1;
  static constexpr int kLeast = Limits::min_exponent - 1, kMost = kBias;  // of normal numbers
  static constexpr int kUnit = -kLeast;                                   // the logarithm of Scale::kUnit
  static constexpr int kMostUnits = 1 << 22;  // which no chunk brings back into range, and whose powers fit an Int

  template <class To, class From>
  static TR_HD To as(From x) {
    To to;
    __builtin_memcpy(&to, &x, sizeof(to));
    return to;
  }
  static TR_HD Int clamped(Int x, int least, int most) {
    const Int low = x - x + least, high = x - x + most;
    x = x < low ? low : x;
    return x > high ? high : x;
  }
  static TR_HD V power(Int exponent) { return as<V>((exponent + kBias) << kFraction); }

  // The exponent as it stands in a number, and whether that is zero, infinite or NaN.
  static TR_HD Int field_of(Int bits) { return (bits >> kFraction) & (2 * kBias + 1); }
  static TR_HD auto is_special(Int field) {
    const Int zero = field - field;
    return (field == zero) | (field == zero + (2 * kBias + 1));
  }

  // With a significand in [1, 2), zero, infinite or NaN, of one that is not subnormal.
  static TR_HD Scaled settled(Scaled x) {
    const Int bits = as<Int>(x.significand), field = field_of(bits), zero = bits - bits;
    const Int significand = bits - (field - kBias) * ((Int{} + 1) << kFraction);
    return {as<V>(is_special(field) ? bits : significand), x.exponent + (is_special(field) ? zero : field - kBias)};
  }
  static TR_HD Scaled of(V x) {
    constexpr int kUp = 64;  // makes subnormal numbers normal ones
    const V zero{}, one = zero + 1;
    const auto is_small = order::magnitude_of(x) < zero + Limits::min();
    const Int none{};
    return settled({x * (is_small ? power(none + kUp) : one), is_small ? none - kUp : none});
  }

  // From products whose exponents count units, and back.
  static TR_HD Scaled of_units(Scaled x) {
    return settled({x.significand, clamped(x.exponent, -kMostUnits, kMostUnits) * kUnit});
  }
  static TR_HD Scaled in_units(Scaled x) {
    x = settled(x);
    const Int units = x.exponent / kUnit;
    return order::scaled(x.significand * power(x.exponent - units * kUnit), units);
  }

  // As words, rounded below the normal numbers; ToOdd if they are rounded to a narrower type again. By integers, as
  // processors take long for subnormal products.
  template <bool ToOdd>
  static TR_HD V words(Scaled x) {
    x = settled(x);
    const Int bits = as<Int>(x.significand), zero = bits - bits, one = zero + 1;
    const auto special = is_special(field_of(bits));
    if (!any_negative((x.exponent - kLeast) | (kMost - x.exponent) | special)) {  // the common case
      return as<V>(bits + (x.exponent << kFraction));
    }
    const Int sign = bits & (one << kSign), fraction = bits & ((one << kFraction) - 1);
    const Int exponent = clamped(x.exponent, kLeast - kFraction - 2, kMost + 1);
    const Int shift = clamped(kLeast - exponent, 0, kFraction + 2), significand = fraction | (one << kFraction);
    const Int kept = significand >> shift, rest = significand - (kept << shift), half = (one << shift) >> 1;
    const auto is_up = ToOdd ? (rest > zero) & ((kept & one) == zero)
                             : (rest > half) | ((rest == half) & (rest > zero) & ((kept & one) != zero));
    const Int below = kept + (is_up ? one : zero);
    const Int above = exponent > zero + kMost ? zero : fraction;  // infinity
    const Int magnitude = exponent < zero + kLeast ? below : above | ((exponent + kBias) << kFraction);
    return as<V>(special ? bits : (sign | magnitude));
  }
};

// Multiplies like Prod, of significands that no product of a chunk's brings out of range.
struct ChunkProduct : Prod {
  template <class V>
  static TR_HD order::Scaled<V> lift(V x) {
    return Powers<V>::of(x);
  }
  template <class V>
  static TR_HD order::Scaled<V> combine(order::Scaled<V> a, order::Scaled<V> b) {
    return {a.significand * b.significand, a.exponent + b.exponent};
  }
};
template <>
struct NodesOf<ChunkProduct> {
  template <class V>
  static TR_HD order::Scaled<V> settled(order::Scaled<V> x) {
    return Powers<V>::settled(x);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
