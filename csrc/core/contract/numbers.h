// Sums and means of the elements that are numbers: NaN counts as nothing.
#pragma once

#include <torch_reduce/scaled.h>

#include <limits>
#include <type_traits>

#include "core/contract/numeric.h"
#include "core/contract/traits.h"

namespace torch_reduce {

// A sum, and how many elements it is of, as an integer as wide. T is a compute type, or a vector of one.
template <class T>
struct CountedSum {
  using Word = T;
  static constexpr bool is_vector = order::ScaleOf<T>::is_vector;
  using Count = typename order::ScaleOf<T>::Exponent;
  T sum;
  Count count;
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
TR_HD T sum_of(const CountedSum<T>& a) {
  return a.sum + T(0);
}
// NaN of none.
template <class T>
TR_HD T mean_of(const CountedSum<T>& a) {
  return sum_of(a) / static_cast<T>(static_cast<std::make_unsigned_t<typename CountedSum<T>::Count>>(a.count));
}

// NaN, unless all n elements are numbers.
template <class T>
TR_HD T sum_if_all(const CountedSum<T>& a, int64_t n) {
  return a.count == static_cast<typename CountedSum<T>::Count>(n) ? sum_of(a) : std::numeric_limits<T>::quiet_NaN();
}

// Integers have the kernels of Sum: none is NaN.
struct Nansum : Traits {
  template <class Word>
  using Accumulator = std::conditional_t<is_integer<Word>, Word, CountedSum<Word>>;
  static constexpr bool lifts = true;
  static constexpr bool is_real = true;
  static constexpr bool skips_nan = true;
  static constexpr bool may_take_magnitudes = true;
  static constexpr bool has_few_kernels = true;
  template <class T>
  static TR_HD CountedSum<T> lift(T x) {
    const auto is_number = x == x;
    if constexpr (CountedSum<T>::is_vector) {  // comparisons give -1
      return {is_number ? x : -T{}, -is_number};
    } else {
      return {is_number ? x : -T{}, is_number};
    }
  }
  // Of elements and of what is combined.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (!is_scalar<T>) {
      return {-typename T::Word{}, {}};
    } else if constexpr (std::is_floating_point<T>::value) {
      return std::numeric_limits<T>::quiet_NaN();
    } else {
      return T(0);
    }
  }
  template <class T>
  static TR_HD CountedSum<T> combine(const CountedSum<T>& a, const CountedSum<T>& b) {
    return {a.sum + b.sum, add_counts(a.count, b.count)};
  }
  template <class T>
  static TR_HD T finish(const CountedSum<T>& a, int64_t) {
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
  static TR_HD T finish(const CountedSum<T>& a, int64_t) {
    return mean_of(a);
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
  static TR_HD CountedSum<T> lift(T x) {
    return Nansum::lift(order::magnitude_of(x));
  }
  template <class T>
  static TR_HD T finish(const CountedSum<T>& a, int64_t n) {
    return sum_if_all(a, n);
  }
};

}  // namespace torch_reduce
