// What the lanes of a warp combine in place of accumulators of several words: the same bits by fewer instructions.
#pragma once

#include "core/contract/operators.h"

namespace torch_reduce {

// Where all lanes' accumulators may(), a value() of one word stands for each of them, combine() joins two, and
// accumulator() is what they make. By default there is nothing of that kind.
template <class Acc>
struct Meeting {
  static constexpr bool exists = false;
};

// Sums of exponentials without a reference add as they are; 0 is that of -infinity.
template <class T>
struct Meeting<Exponentials<T>> {
  static constexpr bool exists = true;
  static TR_HD bool may(Exponentials<T> a) {
    return (a.reference == 0) | (a.reference == -std::numeric_limits<T>::infinity());
  }
  static TR_HD T value(Exponentials<T> a) { return a.reference == 0 ? a.sum : T(0); }
  static TR_HD T combine(T a, T b) { return a + b; }
  static TR_HD Exponentials<T> accumulator(T sum) {
    return sum > 0 ? Exponentials<T>{sum, 0} : LogSumExp::identity<Exponentials<T>>();
  }
};

}  // namespace torch_reduce
