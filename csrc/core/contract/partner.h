// Operators of two tensors: the second one's elements stand beside those of the first.
#pragma once

#include "core/contract/operators.h"

namespace torch_reduce {

template <class O>
constexpr bool has_partner = O::role != Role::None;

// The sum of products, each rounded once in the compute type: sum's bits, of these.
struct Dot : Sum {
  static constexpr Role role = Role::Factor;
  static constexpr bool lifts = true, lifts_integers = true;
  static constexpr bool outgrows_integers = true;
  static constexpr bool has_few_kernels = true;
  static constexpr bool widens_on_cuda = false;
  template <class Number>
  static TR_HD Number join(Number x, Number factor) {
    return multiply_numbers(x, factor);
  }
};

// What a norm keeps of a row of elements, and the elements by that: the mean in two words, whose sum it is, and one
// over the root that elements are divided by.
template <class Word>
struct NormRow {
  Word mean, rest, inverse;

  // Of an element, or of a vector of them.
  template <class X>
  TR_HD X normal(X x) const {
    return ((x - mean) - rest) * inverse;
  }
};
// Of row `index`, of which `words` are kept: all, or the last one alone, whose elements then are not centred. Nothing
// taken off changes no bit.
template <class Word>
TR_HD NormRow<Word> norm_row(const void* rows, int words, int64_t index) {
  const Word* const row = static_cast<const Word*>(rows) + index * words;
  return words == 1 ? NormRow<Word>{0, 0, row[0]} : NormRow<Word>{row[0], row[1], row[2]};
}

// Dot of normalised factors: what a norm's weight has as its gradient.
struct NormalDot : Dot {
  static constexpr Role role = Role::NormalFactor;
  static constexpr bool is_real = true;
  static constexpr Gives gives = Gives::Element;  // in the compute type, which nobody widens
  template <class Number>
  static TR_HD Number join(Number x, Number factor, const NormRow<Number>& row) {
    return x * row.normal(factor);
  }
};

// An operator of the elements that count: in the place of the others stands an element that changes nothing. What
// divides by the number of elements is told how many count, for each output.
template <class O>
struct Masked : O {
  static constexpr Role role = Role::Mask;
  static constexpr bool has_few_kernels = true;
  static constexpr bool has_wider_kernels = false;
  static constexpr bool has_exact = false;
  template <class Number>
  static TR_HD Number join(Number x, bool counts) {
    return counts ? x : O::template identity<Number>();
  }
};

}  // namespace torch_reduce
