// From a superaccumulator, or a number already in registers, to the output's bits: the one rounding.
#pragma once

#include "core/contract/exact/format.h"

namespace torch_reduce::exact {

__extension__ typedef unsigned __int128 uint128;

// (negative ? -1 : 1) * (top + a rest below one if `inexact`) * 2^exponent. `top` is zero or has its highest bit set.
struct Leading {
  uint128 top;
  int exponent;
  bool inexact, negative;
};

TR_HD int leading_zeros(uint64_t x) {
#if defined(__CUDA_ARCH__)
  return __clzll(static_cast<long long>(x));
#else
  return __builtin_clzll(x);
#endif
}
TR_HD int leading_zeros(uint128 x) {
  const uint64_t high = static_cast<uint64_t>(x >> 64);
  return high != 0 ? leading_zeros(high) : 64 + leading_zeros(static_cast<uint64_t>(x));
}

TR_HD Leading leading(uint128 magnitude, int exponent, bool negative) {
  if (magnitude == 0) return {0, 0, false, false};
  const int shift = leading_zeros(magnitude);
  return {magnitude << shift, exponent - shift, false, negative};
}

TR_HD Leading leading(double x) {
  const Parts p = parts_of(x);
  return leading(static_cast<uint64_t>(p.k < 0 ? -p.k : p.k), p.exponent, p.k < 0);
}

// Of the digits of a magnitude: the highest that is not zero, the four below it, and whether there is a rest below
// those.
template <class F, class Digit>
TR_HD Leading leading_of_digits(int highest, Digit digit, bool rest, bool negative) {
  uint128 top = 0;
  for (int i = 0; i < 4; ++i) top = (top << kDigitBits) | (highest >= i ? digit(highest - i) : 0);
  const int shift = leading_zeros(top);  // below 32
  const uint32_t next = highest >= 4 ? digit(highest - 4) : 0;
  top = (top << shift) | (static_cast<uint64_t>(next) << shift >> kDigitBits);
  return {top, F::kLowest + kDigitBits * (highest - 3) - shift, rest || static_cast<uint32_t>(next << shift) != 0,
          negative};
}

// word(d) gives word d, any int64: so the value may have one digit more than the format.
template <class F, class Word>
TR_HD Leading leading_of_words(Word word) {
  uint32_t digit[F::kDigits + 1];
  int64_t carry = 0;
  for (int d = 0; d < F::kDigits; ++d) {
    const int64_t w = word(d), low = (w & kDigitMask) + carry;
    carry = (w >> kDigitBits) + (low >> kDigitBits);
    digit[d] = static_cast<uint32_t>(low);
  }
  digit[F::kDigits] = static_cast<uint32_t>(carry);
  const bool negative = carry < 0;
  if (negative) {  // two's complement
    uint64_t borrow = 1;
    for (int d = 0; d <= F::kDigits; ++d) {
      borrow += static_cast<uint32_t>(~digit[d]);
      digit[d] = static_cast<uint32_t>(borrow);
      borrow >>= kDigitBits;
    }
  }
  int highest = F::kDigits;
  while (highest >= 0 && digit[highest] == 0) --highest;
  if (highest < 0) return {0, 0, false, false};
  bool rest = false;
  for (int d = 0; d < highest - 4; ++d) rest |= digit[d] != 0;
  return leading_of_digits<F>(highest, [&](int d) { return digit[d]; }, rest, negative);
}

// A floating type to round to.
struct Target {
  int precision, min_exponent;  // significant bits; the smallest normal number is 2^min_exponent
  uint64_t infinity, sign;      // bits of +Inf, and the sign bit
};

TR_HD Target target_of(DType out) {
  switch (out) {
    case DType::Float16:
      return {11, -14, 0x7c00, 0x8000};
    case DType::BFloat16:
      return {8, -126, 0x7f80, 0x8000};
    case DType::Float32:
      return {24, -126, 0x7f800000, 0x80000000};
    default:
      return {53, -1022, 0x7ff0000000000000ull, 0x8000000000000000ull};
  }
}
TR_HD uint64_t nan_of(const Target& t) { return t.infinity | (uint64_t{1} << (t.precision - 2)); }

// On a GPU by digits of 32 bits, or by shifts and subtractions: the compiler's own division is thousands of
// instructions, fetched for one result.
TR_HD uint128 quotient(uint128 n, uint64_t d) {
#if defined(__CUDA_ARCH__) || defined(TORCH_REDUCE_EMULATED)
  uint64_t rest = 0;  // below d, which is below 2^63
  if (d >> 32 == 0) {
    uint128 q = 0;
#pragma unroll 1
    for (int i = 0; i < 4; ++i) {
      const uint64_t digits = (rest << 32) | static_cast<uint32_t>(n >> 96);
      n <<= 32;
      q = (q << 32) | (digits / d);
      rest = digits % d;
    }
    return q;
  }
#pragma unroll 1
  for (int i = 0; i < 128; ++i) {
    rest = (rest << 1) | static_cast<uint64_t>(n >> 127);
    n <<= 1;
    if (rest >= d) {
      rest -= d;
      n |= 1;
    }
  }
  return n;
#else
  return n / d;
#endif
}

// v / divisor, rounded once to nearest, ties to even: subnormals without flush, overflow to Inf, zero to +0. 128 bits
// over a divisor below 2^63 leave at least 65 bits of quotient, more than any precision; what is cut off, here or in
// `inexact`, only decides whether a tie is one.
TR_HD uint64_t round(const Leading& v, int64_t divisor, const Target& t) {
  if (v.top == 0) return 0;
  uint128 q = v.top;
  bool inexact = v.inexact;
  if (divisor > 1) {
    const auto d = static_cast<uint64_t>(divisor);
    q = quotient(v.top, d);
    inexact |= q * d != v.top;
  }
  const int exponent = 127 - leading_zeros(q) + v.exponent;
  const int octave = exponent > t.min_exponent ? exponent : t.min_exponent;
  const int cut = octave - (t.precision - 1) - v.exponent;  // bits of q below the last one kept; at least 12
  uint64_t kept = 0;
  if (cut <= 128) {
    kept = cut == 128 ? 0 : static_cast<uint64_t>(q >> cut);
    const uint128 half = uint128{1} << (cut - 1), below = q & (half + (half - 1));
    kept += below > half || (below == half && (inexact || (kept & 1) != 0));
  }
  // The leading bit of a normal number adds one to the exponent field; so does a rounding that carries.
  const uint64_t bits = (static_cast<uint64_t>(octave - t.min_exponent) << (t.precision - 1)) + kept;
  return (bits < t.infinity ? bits : t.infinity) | (v.negative ? t.sign : 0);
}

// NaN wins, then Infs of both signs, then an Inf. A mean of nothing (divisor 0) is NaN.
TR_HD bool is_special(bool plus, bool minus, bool nan, int64_t divisor) { return plus || minus || nan || divisor == 0; }
TR_HD uint64_t round_special(bool plus, bool minus, bool nan, int64_t divisor, const Target& t) {
  if (nan || (plus && minus) || divisor == 0) return nan_of(t);
  return t.infinity | (minus ? t.sign : 0);
}

// A whole accumulator.
template <class F, class Word>
TR_HD uint64_t round_words(Word word, int64_t divisor, const Target& t) {
  const bool plus = word(F::kDigits + kPlusInf) != 0, minus = word(F::kDigits + kMinusInf) != 0;
  const bool nan = word(F::kDigits + kNaN) != 0;
  if (is_special(plus, minus, nan, divisor)) return round_special(plus, minus, nan, divisor, t);
  return round(leading_of_words<F>(word), divisor, t);
}

TR_HD void store_bits(void* out, int64_t index, DType type, uint64_t bits) {
  if (type == DType::Float64) {
    static_cast<uint64_t*>(out)[index] = bits;
  } else if (type == DType::Float32) {
    static_cast<uint32_t*>(out)[index] = static_cast<uint32_t>(bits);
  } else {
    static_cast<uint16_t*>(out)[index] = static_cast<uint16_t>(bits);
  }
}

}  // namespace torch_reduce::exact
