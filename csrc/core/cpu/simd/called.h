// Operators by whose name the kernels of one instruction set are compiled.
#pragma once

#include "core/contract/ops.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// An operator whose lift() and combine() are long, of which vectors take a copy that is called. It is of this
// namespace, as each instruction set has its own.
template <class O>
struct Called : O {
  template <class Word>
  static TR_HD auto lift(Word x) {
    if constexpr (order::ScaleOf<Word>::is_vector) {
      return call_lift(x);
    } else {
      return O::lift(x);
    }
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (order::ScaleOf<typename Acc::Word>::is_vector) {
      return call_combine(a, b);
    } else {
      return O::combine(a, b);
    }
  }

 private:
  template <class Word>
  static __attribute__((noinline)) auto call_lift(Word x) {
    return O::lift(x);
  }
  template <class Acc>
  static __attribute__((noinline)) Acc call_combine(Acc a, Acc b) {
    return O::combine(a, b);
  }
};

// The sum of the elements that are not NaN, where nobody asks how many they are: of one word, and so with the loops of
// sums, though what the contract combines, and shards pass on, has two.
struct SumOfNumbers : Sum {
  static constexpr bool lifts = true;
  static constexpr bool is_real = true;
  template <class T>
  static TR_HD T lift(T x) {
    return x == x ? x : -T{};
  }
};
template <class O>
constexpr bool sums_numbers = O::skips_nan && !O::counts;

// Multiplies words, whose exponents end.
struct Product : Traits {
  template <class T>
  static constexpr TR_HD T identity() {
    return T{} + 1;
  }
  template <class T>
  static TR_HD T combine(T a, T b) {
    return a * b;
  }
  template <class T>
  static TR_HD T finish(T a, int64_t) {
    return a;
  }
};

// The operator whose kernels reduce by O.
template <class O>
using kernels_of = std::conditional_t<O::adds_exponentials, Called<O>,
                                      std::conditional_t<sums_numbers<O>, SumOfNumbers, cpu_kernels<O>>>;
// The operator whose finish gives O's result.
template <class O>
using finish_of_kernels = std::conditional_t<sums_numbers<O>, SumOfNumbers, O>;

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
