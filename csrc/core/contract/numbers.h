// Sums and means of the elements that are numbers: NaN counts as nothing.
#pragma once

#include <torch_reduce/scaled.h>

#include <limits>
#include <type_traits>

#include "core/contract/numeric.h"
#include "core/contract/traits.h"

namespace torch_reduce {

// The sum of some elements that are numbers, and how many others there were, as an integer as wide. T is a compute
// type, or a vector of one.
template <class T>
struct NumberSum {
  using Word = T;
  static constexpr bool is_vector = order::ScaleOf<T>::is_vector;
  using Count = typename order::ScaleOf<T>::Exponent;
  T sum;
  Count others;
};

// Counts wrap around, as they do in a sum that has no use for them.
template <class Count>
TR_HD Count add_counts(Count a, Count b) {
  if constexpr (std::is_integral<Count>::value) {
    using Unsigned = std::make_unsigned_t<Count>;
    return static_cast<Count>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
  } else {
    return a + b;
  }
}

template <class T>
TR_HD T sum_of(const NumberSum<T>& a) {
  return a.sum + T(0);
}
// Of n elements; NaN if none is a number.
template <class T>
TR_HD T mean_of(const NumberSum<T>& a, int64_t n) {
  using Count = std::make_unsigned_t<typename NumberSum<T>::Count>;
  return sum_of(a) / static_cast<T>(static_cast<Count>(n) - static_cast<Count>(a.others));
}

// NaN, unless all elements are numbers.
template <class T>
TR_HD T sum_if_all(const NumberSum<T>& a) {
  return a.others == 0 ? sum_of(a) : std::numeric_limits<T>::quiet_NaN();
}

// Integers have the kernels of Sum: none is NaN.
struct Nansum : Traits {
  template <class Word>
  using Accumulator = std::conditional_t<is_integer<Word>, Word, NumberSum<Word>>;
  static constexpr bool lifts = true;
  static constexpr bool is_real = true;
  static constexpr bool skips_nan = true;
  static constexpr bool may_take_magnitudes = true;
  static constexpr bool has_few_kernels = true;
  template <class T>
  static TR_HD NumberSum<T> lift(T x) {
    const auto is_other = x != x;
    if constexpr (NumberSum<T>::is_vector) {  // comparisons give -1
      return {is_other ? -T{} : x, -is_other};
    } else {
      return {is_other ? -T{} : x, is_other};
    }
  }
  // Of elements and of what is combined.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (!is_scalar<T>) {
      return {-typename T::Word{}, {}};
    } else {
      return std::is_floating_point<T>::value ? T(-0.0) : T(0);
    }
  }
  template <class T>
  static TR_HD NumberSum<T> combine(const NumberSum<T>& a, const NumberSum<T>& b) {
    return {a.sum + b.sum, add_counts(a.others, b.others)};
  }
  template <class T>
  static TR_HD T finish(const NumberSum<T>& a, int64_t) {
    return sum_of(a);
  }
};

// Divides once by their number.
struct Nanmean : Nansum {
  static constexpr Gives gives = Gives::Floating;
  static constexpr Ending ending = Ending::Quotient;
  static constexpr bool refuses_integers = true;
  static constexpr bool counts = true;
  template <class T>
  static TR_HD T finish(const NumberSum<T>& a, int64_t n) {
    return mean_of(a, n);
  }
};

// The sum of the magnitudes, or NaN.
struct Norm1 : Nansum {
  static constexpr Gives gives = Gives::Floating;
  static constexpr Ending ending = Ending::IfAll;
  static constexpr bool refuses_integers = true;
  static constexpr bool counts = true;
  static constexpr bool takes_magnitudes = true;
  static constexpr bool widens_on_cuda = true;
  template <class T>
  static TR_HD NumberSum<T> lift(T x) {
    return Nansum::lift(order::magnitude_of(x));
  }
  template <class T>
  static TR_HD T finish(const NumberSum<T>& a, int64_t) {
    return sum_if_all(a);
  }
};

}  // namespace torch_reduce
