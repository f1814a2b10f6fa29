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

// The operator whose kernels reduce by O.
template <class O>
using kernels_of = std::conditional_t<O::adds_exponentials, Called<O>, cpu_kernels<O>>;

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
