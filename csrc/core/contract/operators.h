// The operators. Each is one struct: lift, identity, combine, finish, and its traits. Its row is in
// include/torch_reduce/operators.def.
#pragma once

#include <torch_reduce/scaled.h>

#include <type_traits>

#include "core/contract/accumulator.h"
#include "core/contract/endless.h"
#include "core/contract/extremes.h"
#include "core/contract/log_sum_exp.h"
#include "core/contract/numbers.h"
#include "core/contract/power.h"
#include "core/contract/traits.h"
#include "core/contract/variance.h"

namespace torch_reduce {

struct Sum : Traits {
  static constexpr bool adds = true;
  static constexpr bool has_exact = true;
  static constexpr bool widens_on_cuda = true;
  // -0.0 and not +0.0: x + -0.0 is x for every x, so a missing element changes no bit.
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? Acc(-0.0) : Acc(0);
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (std::is_integral<Acc>::value) {  // wraps around, as torch's integer sum does
      return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  // Adding +0 makes a zero sum +0, as torch's is.
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a + Acc(0);
  }
};

// The mean of n elements from their sum. An integer sum is divided in fp64.
template <class Acc>
TR_HD auto divide_by_count(Acc sum, int64_t n) {
  using Quotient = std::conditional_t<std::is_same<Acc, float>::value, float, double>;
  return (Narrow<Quotient, Acc>::from(sum) + Quotient(0)) / static_cast<Quotient>(n);
}

// Shares every kernel with Sum: only the finish differs.
struct Mean : Sum {
  static constexpr Ending ending = Ending::Quotient;
  static constexpr bool widens_on_cuda = false;
  template <class Acc>
  static TR_HD auto finish(Acc a, int64_t n) {
    return divide_by_count(a, n);
  }
};

// How many elements are not zero; NaN is not. A sum of bools.
struct CountNonzero : Sum {
  static constexpr Gives gives = Gives::Int64;
  static constexpr bool tests = true;
  static constexpr bool has_exact = false;
  static constexpr bool widens_on_cuda = false;
};

// The same as a norm.
struct Norm0 : CountNonzero {
  static constexpr Gives gives = Gives::Floating;
  static constexpr bool refuses_integers = true;
  static constexpr bool widens_on_cuda = true;
};

// Whether any element is not zero, from their count.
template <class Acc>
TR_HD int64_t is_any(Acc count) {
  return count != 0;
}
struct AnyNonzero : CountNonzero {
  static constexpr Gives gives = Gives::Truth;
  static constexpr Ending ending = Ending::IsAny;
  template <class Acc>
  static TR_HD int64_t finish(Acc count, int64_t) {
    return is_any(count);
  }
};

// Whether all n are, likewise.
template <class Acc>
TR_HD int64_t is_all(Acc count, int64_t n) {
  return count == static_cast<Acc>(n);
}
struct AllNonzero : CountNonzero {
  static constexpr Gives gives = Gives::Truth;
  static constexpr Ending ending = Ending::IsAll;
  template <class Acc>
  static TR_HD int64_t finish(Acc count, int64_t n) {
    return is_all(count, n);
  }
};

// Rounded once; of integers, which wrap around.
template <class Number>
TR_HD Number multiply_numbers(Number a, Number b) {
  if constexpr (is_integer<Number>) {
    return static_cast<Number>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

// Finite elements neither overflow nor underflow on the way: exponents have a word of their own. Integers wrap around.
struct Prod : Traits {
  template <class Word>
  using Accumulator = std::conditional_t<is_integer<Word>, Word, order::Scaled<Word>>;
  static constexpr bool lifts = true, multiplies = true;
  static constexpr bool outgrows_integers = true;
  static constexpr bool widens_on_cuda = true, widens_on_cpu = true;
  static constexpr bool has_few_kernels = true;
  template <class Word>
  static TR_HD Accumulator<Word> lift(Word x) {
    if constexpr (is_integer<Word>) {
      return x;
    } else {
      return order::scaled(x);
    }
  }
  // Of elements and of what is combined.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return T(1);
    } else {
      return {typename T::Word(1), typename T::Exponent(0)};
    }
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (is_integer<Acc>) {
      return multiply_numbers(a, b);
    } else {
      return order::multiply(a, b);
    }
  }
  template <class Acc>
  static TR_HD auto finish(Acc a, int64_t) {
    if constexpr (is_integer<Acc>) {
      return a;
    } else {
      return order::value_of(a);
    }
  }
};

// The sum of squares, each rounded once. Squares have no sign, so that 0 is the identity, of elements too.
struct Sumsq : Traits {
  static constexpr bool squares = true;
  static constexpr bool has_exact = true;
  template <class Word>
  using Accumulator = std::conditional_t<std::is_same<Word, Endless>::value, EndlessSum, Word>;
  static constexpr bool lifts = true, lifts_integers = true;
  static constexpr bool adds = true;
  static constexpr bool outgrows_integers = true;
  static constexpr bool has_wider_kernels = true;
  static constexpr bool has_few_kernels = true;
  static constexpr bool widens_on_cuda = true;
  template <class Number>
  static TR_HD Accumulator<Number> lift(Number x) {
    if constexpr (std::is_same<Number, Endless>::value) {
      return square(x);
    } else {
      return multiply_numbers(x, x);
    }
  }
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    if constexpr (std::is_same<Acc, EndlessSum>::value) {
      return no_square();
    } else {
      return Acc(0);
    }
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (std::is_same<Acc, EndlessSum>::value) {
      return add(a, b);
    } else {
      return Sum::combine(a, b);
    }
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
  // Of the norm: no other operator computes so.
  static TR_HD double finish(EndlessSum a, int64_t) { return root_of(a); }
};

// The Euclidean norm. Squares of elements of up to 32 bits are exact in fp64.
struct Norm2 : Sumsq {
  static constexpr bool has_exact = false;
  static constexpr Gives gives = Gives::Floating;
  static constexpr Ending ending = Ending::Root;
  static constexpr bool is_real = true;
  static constexpr bool refuses_integers = true;
  static constexpr bool computes_wider = true;
  static TR_HD double finish(double a, int64_t) { return __builtin_sqrt(a); }
  static TR_HD double finish(EndlessSum a, int64_t) { return root_of(a); }
};

// What an operator's finish takes as the count of elements.
template <class O>
using count_of = std::conditional_t<O::has_correction, Count, int64_t>;
template <class O>
TR_HD count_of<O> count_for(const Count& count) {
  if constexpr (O::has_correction) {
    return count;
  } else {
    return count.n;
  }
}

template <class O, class Word>
using accumulator_of = typename O::template Accumulator<Word>;

// Element number `index` of the n of its output as what `op` combines; from n on, it is a missing one.
template <class O, class Word>
TR_HD accumulator_of<O, Word> lifted(O& op, Word x, int64_t index, int64_t n) {
  if constexpr (O::masks_missing) {
    if (index >= n) return O::template identity<accumulator_of<O, Word>>();
  }
  if constexpr (O::needs_index) {
    return op.lift(x, index);
  } else {
    return op.lift(x);
  }
}

// The operator where no element is missing.
template <class O>
struct OfAll : O {
  static constexpr bool masks_missing = false;
};

// Whether any order of combining gives the same bits.
template <class O, class Acc>
constexpr bool order_free = is_integer<Acc> || O::selects;

// Whether sums of 64-bit integers, which 64 bits may not hold, are of this operator if their result is floating.
template <class O>
constexpr bool sums_in_128_bits = O::adds && !O::lifts;

// Whether a type is one of the operator's compute types.
template <class O, class Word>
constexpr bool computes_in = std::is_same<Word, Int128>::value    ? sums_in_128_bits<O>
                             : std::is_same<Word, Endless>::value ? O::has_wider_kernels
                             : O::has_order                       ? std::is_same<Word, double>::value
                                                                  : !(O::is_real && is_integer<Word>);

}  // namespace torch_reduce
