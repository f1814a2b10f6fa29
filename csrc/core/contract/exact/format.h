// The superaccumulator: a sum of floating numbers as one wide fixed-point number (docs/exact.md).
//
// Word d < kDigits stands for word * 2^(kLowest + 32 d); the value is the sum over the words, whatever they hold.
// Digits have 32 bits and words 64, so values are added word by word, without carries, 2^31 times. Three words more
// count the +Inf, -Inf and NaN among the elements. Normalised words (digits in [0, 2^32), the last one signed) are
// unique.
#pragma once

#include "core/contract/numeric.h"

namespace torch_reduce::exact {

constexpr int kDigitBits = 32;
constexpr int64_t kDigitMask = 0xffffffff;

enum Special { kPlusInf, kMinusInf, kNaN, kSpecials };

// `Lowest` is the exponent of the smallest subnormal; the digits reach 2^40 times beyond the largest finite number, and
// the last word's own room another 2^20 times beyond that.
template <int Digits, int Lowest>
struct Format {
  static constexpr int kDigits = Digits;
  static constexpr int kLowest = Lowest;
  static constexpr int kWords = Digits + kSpecials;
};
using Single = Format<10, -149>;   // of fp16, bf16 and fp32 elements
using Double = Format<67, -1074>;  // of fp64 elements

template <class In>
using FormatOf = std::conditional_t<std::is_same<In, double>::value, Double, Single>;

inline int words_of(DType in) { return in == DType::Float64 ? Double::kWords : Single::kWords; }

// Calls add(digit, piece) for the pieces of k * 2^exponent, each of less than 32 bits and of the sign of k; the
// exponent is at least kLowest.
template <class F, class Add>
TR_HD void split(int64_t k, int exponent, Add add) {
  const uint64_t magnitude = k < 0 ? 0 - static_cast<uint64_t>(k) : static_cast<uint64_t>(k);
  const int place = exponent - F::kLowest, digit = place / kDigitBits, shift = place % kDigitBits;
  const uint64_t low = magnitude << shift, high = (magnitude >> 1) >> (63 - shift);
  const int64_t sign = k < 0 ? -1 : 1;
  add(digit, sign * static_cast<int64_t>(low & kDigitMask));
  add(digit + 1, sign * static_cast<int64_t>(low >> kDigitBits));
  if (high != 0) add(digit + 2, sign * static_cast<int64_t>(high));
}

// A finite number as k * 2^exponent, |k| < 2^53.
struct Parts {
  int64_t k;
  int exponent;
};
TR_HD Parts parts_of(double x) {
  const uint64_t bits = bit_cast<uint64_t>(x);
  const int biased = static_cast<int>((bits >> 52) & 0x7ff);
  const int64_t fraction = static_cast<int64_t>(bits & 0xfffffffffffffull);
  const int64_t k = biased == 0 ? fraction : fraction | (int64_t{1} << 52);
  return {static_cast<int64_t>(bits) < 0 ? -k : k, (biased == 0 ? 1 : biased) - 1075};
}

// Which words a finite x, a multiple of 2^kLowest, adds to. A single number has zeros below 2^-149 where a double has
// bits, so its parts are shifted up to kLowest first.
template <class F, class Add>
TR_HD void split(double x, Add add) {
  Parts p = parts_of(x);
  if (p.exponent < F::kLowest) {
    const int shift = F::kLowest - p.exponent;
    p.k = shift > 62 ? 0 : p.k / (int64_t{1} << shift);
    p.exponent = F::kLowest;
  }
  split<F>(p.k, p.exponent, add);
}

// Calls add(digit, piece) for the pieces of v * 2^exponent that are not zero, each of less than 32 bits.
template <class F, class Add>
TR_HD void split_wide(Int128 v, int exponent, Add add) {
  const bool negative = v < 0;
  auto rest = static_cast<unsigned __int128>(negative ? -v : v);
  const int place = exponent - F::kLowest, shift = place % kDigitBits;
  int d = place / kDigitBits;
  int64_t piece = static_cast<uint32_t>(static_cast<uint32_t>(rest) << shift);
  for (rest >>= kDigitBits - shift;; rest >>= kDigitBits) {
    if (piece != 0) add(d, negative ? -piece : piece);
    if (rest == 0) break;
    piece = static_cast<uint32_t>(rest);
    ++d;
  }
}

TR_HD bool is_special(double x) { return (bit_cast<uint64_t>(x) & 0x7ff0000000000000ull) == 0x7ff0000000000000ull; }
TR_HD Special special_of(double x) { return x != x ? kNaN : x > 0 ? kPlusInf : kMinusInf; }

// Carries, in place: the same value in normalised words. Beyond the last word the value wraps around.
template <class F>
TR_HD void normalize(int64_t* word) {
  int64_t carry = 0;
  for (int d = 0; d < F::kDigits - 1; ++d) {
    const int64_t low = (word[d] & kDigitMask) + carry;
    carry = (word[d] >> kDigitBits) + (low >> kDigitBits);
    word[d] = low & kDigitMask;
  }
  word[F::kDigits - 1] =
      static_cast<int64_t>(static_cast<uint64_t>(word[F::kDigits - 1]) + static_cast<uint64_t>(carry));
}

}  // namespace torch_reduce::exact
