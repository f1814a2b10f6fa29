// exp for every argument.
#pragma once

#include "core/contract/exponential.h"

namespace torch_reduce {

// exp(x), with the bits of exp_of_near(x) where the result is normal and |x| <= 64. It multiplies by 2^k in two steps,
// of which the first is exact: so a subnormal result is rounded there alone, and one beyond the type is 0 or infinity.
template <class Word>
TR_HD Word exp_of(Word x) {
  using E = ExpOf<Word>;
  using Bits = typename order::ScaleOf<Word>::Exponent;
  constexpr Word kEnd = sizeof(Word) == 4 ? 150 : 800;  // beyond, for sure
  x = x < -kEnd ? -kEnd : x;
  x = x > kEnd ? kEnd : x;
  const Word shifted = multiply_add(x, E::kLog2e, E::kMagic), k = shifted - E::kMagic;
  const Word r = multiply_add(k, -E::kLn2Lo, multiply_add(k, -E::kLn2Hi, x));
  const Word y = multiply_add(multiply_add(E::rest(r), r, Word(1)), r, Word(1));
  using Unsigned = std::make_unsigned_t<Bits>;
  const auto power = static_cast<Bits>(bit_cast<Unsigned>(shifted) - bit_cast<Unsigned>(E::kMagic));
  const auto half = power >> 1;
  return y * power_of_two(half, Word()) * power_of_two(power - half, Word());
}

}  // namespace torch_reduce
