// The sum of exponentials.
#pragma once

#include <torch_reduce/scaled.h>

#include "core/contract/accumulator.h"
#include "core/contract/exponential.h"
#include "core/contract/traits.h"

namespace torch_reduce {

// The logarithm of the sum of exponentials, of each of which that of a reference is taken out: the multiple of kStep
// that is nearest to the element. So nothing overflows or underflows on the way. Elements within kNear have reference
// 0.
struct LogSumExp : Traits {
  template <class Word>
  using Accumulator = std::conditional_t<is_integer<Word>, Word, Exponentials<Word>>;
  static constexpr Gives gives = Gives::Floating;
  static constexpr bool lifts = true;
  static constexpr bool masks_missing_integers = true;
  static constexpr bool adds_exponentials = true;
  static constexpr bool is_real = true;
  static constexpr bool outgrows_integers = true;
  static constexpr bool has_few_kernels = true;
  static constexpr bool widens_on_cuda = true;
  static constexpr bool has_second = true, has_parts = true;
  static constexpr int kNear = 64, kStep = 2 * kNear;
  template <class Word>
  using Exp = ExpOf<std::decay_t<decltype(order::ScaleOf<Word>::kLimit)>>;
  template <class Word>
  static TR_DEVICE_CALL Exponentials<Word> lift(Word x) {
    using E = Exp<Word>;
    const Word zero{}, magic = zero + E::kMagic, infinity = zero + std::numeric_limits<decltype(E::kMagic)>::infinity();
    // From there on, the next number is 64 further or more.
    const auto is_far = order::magnitude_of(x) >= zero + E::kMagic / 1.5f * kNear;
    const Word rounded = ((x * (1 / static_cast<decltype(E::kMagic)>(kStep)) + magic) - magic) * kStep;
    const Word reference = is_far ? x : rounded, sum = exp_of_near(is_far ? zero : x - rounded);
    const auto is_number = x == x;
    return {is_number ? sum : x, is_number ? reference : infinity};
  }
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return -std::numeric_limits<T>::infinity();
    } else {
      return {1, -std::numeric_limits<typename T::Word>::infinity()};
    }
  }
  template <class Word>
  static TR_HD Exponentials<Word> combine(Exponentials<Word> a, Exponentials<Word> b) {
    constexpr auto kLeast = Exp<Word>::kExpOfMinus64;  // exp(-kNear)
    const Word zero{}, apart = order::magnitude_of(a.reference - b.reference);
    const auto a_is_upper = a.reference > b.reference;
    const Word upper = a_is_upper ? a.sum : b.sum, lower = a_is_upper ? b.sum : a.sum;
    const Word lowered = apart == zero + kStep ? lower * kLeast * kLeast : zero;  // else too small to be seen
    return {upper + (a.reference == b.reference ? lower : lowered), a_is_upper ? a.reference : b.reference};
  }
  template <class Acc>
  static TR_HD double finish(Acc a, int64_t) {
    return static_cast<double>(a.reference) + log_of_normal(static_cast<double>(a.sum));
  }
  // The same in two words of the compute type: a whole number, and what that lacks.
  template <class Acc>
  static TR_HD TwoParts<word_of<Acc>> parts(Acc a) {
    using Word = word_of<Acc>;
    constexpr double kMagic = ExpOf<double>::kMagic;
    const double reference = static_cast<double>(a.reference);
    const double log = log_of_normal(static_cast<double>(a.sum)), nearest = (log + kMagic) - kMagic;
    const Word whole = static_cast<Word>(reference + nearest);
    return {whole, static_cast<Word>((reference - static_cast<double>(whole)) + log)};
  }
};

}  // namespace torch_reduce
