// The variance and its square root, alone and with the mean.
#pragma once

#include <limits>

#include "core/contract/accumulator.h"
#include "core/contract/traits.h"
#include "core/contract/twice.h"

namespace torch_reduce {

// The sums of elements and of their squares, each in twice the precision: the difference of the two then is as good as
// that of a second pass over the elements in their own precision, and a missing element adds nothing.
template <class T>
struct PowerSums {
  using Word = T;
  Twice<T> sum, squares;
};

// The sum of the squared differences from the mean, over the degrees of freedom. NaN where those and the differences
// are 0, or nothing is there. Elements of double whose squares overflow give infinity.
struct Variance : Traits {
  template <class Word>
  using Accumulator = std::conditional_t<is_integer<Word>, Word, PowerSums<Word>>;
  static constexpr Gives gives = Gives::Element;
  static constexpr bool lifts = true;
  static constexpr bool is_real = true;
  static constexpr bool refuses_integers = true;
  static constexpr bool has_correction = true;
  static constexpr bool has_second = true;
  static constexpr bool has_wide_words = true;
  static constexpr bool has_few_kernels = true;
  template <class Word>
  static TR_HD PowerSums<Word> lift(Word x) {
    return {in_twice(x), square(x)};
  }
  // Of elements and of what is combined.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return T(0);
    } else {
      return {};
    }
  }
  template <class Word>
  static TR_HD PowerSums<Word> combine(PowerSums<Word> a, PowerSums<Word> b) {
    return {add(a.sum, b.sum), add(a.squares, b.squares)};
  }
  template <class Word>
  static TR_DEVICE_CALL double finish(PowerSums<Word> a, Count count) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if constexpr (std::is_same<Word, double>::value) {
      if (a.squares.high == kInfinity) return a.sum.high - a.sum.high + kInfinity;  // NaN, if an element is infinite
    }
    const double differences = less_mean_square(a.squares, a.sum, static_cast<double>(count.n));
    return (differences < 0 ? 0 : differences) / count.degrees;
  }
  // The mean. Infinite sums in twice the precision have a NaN beside them.
  template <class Word>
  static TR_HD double second(PowerSums<Word> a, Count count) {
    const auto n = static_cast<double>(count.n);
    if constexpr (std::is_same<Word, double>::value) {
      if (a.sum.high - a.sum.high != 0) return a.sum.high / n;
    }
    return rounded(divide(a.sum, n)) + 0.0;
  }
};

struct StandardDeviation : Variance {
  static constexpr Ending ending = Ending::Root;
  template <class Word>
  static TR_HD double finish(PowerSums<Word> a, Count count) {
    return __builtin_sqrt(Variance::finish(a, count));
  }
};

struct VarianceAndMean : Variance {};
struct DeviationAndMean : StandardDeviation {};

}  // namespace torch_reduce
