// Products, and sums of exponentials and of squares, of a few elements, combined as they are: most need no exponent of
// their own.
#pragma once

#include <limits>

#include "core/contract/operators.h"
#include "core/contract/order.h"

namespace torch_reduce {

// Multiplies like an operator, and keeps the least magnitude on the way. Overflow and NaN show in the last product of
// all; underflow does not, even if it rounds up to the least normal number. T is a compute type, or a vector of one.
template <class T>
struct PlainProducts : Traits {
  using Scale = order::ScaleOf<T>;
  using Word = std::decay_t<decltype(Scale::kLimit)>;
  T least = T{} + std::numeric_limits<Word>::infinity();

  template <class>
  static constexpr TR_HD T identity() {
    return T{} + 1;
  }
  TR_HD T combine(T a, T b) {
    const T product = times(a, b);
    least = smaller(order::magnitude_of(product), least);
    return product;
  }
  static TR_HD order::Scaled<T> scaled(T product) { return {product, typename Scale::Exponent{}}; }
  // Whether each of the last products is the significand that scaled ones have, which is so if the exponent is zero; of
  // vectors, in each lane.
  template <int Count>
  TR_HD auto are_plain(const T (&product)[Count]) const {
    const T zero{};
    auto are = least > zero + std::numeric_limits<Word>::min();
    TR_UNROLL
    for (const T& p : product) {
      const T magnitude = order::magnitude_of(p);
      are = are & (magnitude >= zero + 1 / Scale::kLimit) & (magnitude < zero + Scale::kLimit);
    }
    return are;
  }
  // Whether each of the last products is the scaled one but for a power of two.
  template <int Count>
  TR_HD auto are_normal(const T (&product)[Count]) const {
    const T zero{};
    auto are = least > zero + std::numeric_limits<Word>::min();
    TR_UNROLL
    for (const T& p : product) are = are & (order::magnitude_of(p) <= zero + std::numeric_limits<Word>::max());
    return are;
  }

 private:
  static TR_HD T times(T a, T b) {
    if constexpr (Scale::is_vector) {
      return a * b;
    } else {
      return order::multiply(a, b);
    }
  }
  static TR_HD T smaller(T a, T b) {  // b, if a is NaN
#if defined(__CUDA_ARCH__)
    return min(a, b);  // one instruction
#else
    return a < b ? a : b;
#endif
  }
};

// Adds exponentials as they are, 0 for that of -infinity, and keeps the largest magnitude of an element, NaN if there
// is one. T as above.
template <class T>
struct PlainExponentials : Traits {
  using Words = Sum;  // combines as many of them as there are
  T largest{};

  template <class>
  TR_HD T identity() {
    return lift(-std::numeric_limits<T>::infinity());
  }
  TR_HD T lift(T x) {
    largest = larger(order::magnitude_of(x), largest);
    return positive(exp_of_near(x));  // which makes NaN of -infinity
  }
  TR_HD T combine(T a, T b) const { return a + b; }
  static TR_HD Exponentials<T> scaled(T sum) { return {sum, T{}}; }
  template <int Count>
  TR_HD auto are_plain(const T (&)[Count]) const {
    return largest <= T{} + LogSumExp::kNear;
  }

  // x, or 0 if it is less or NaN.
  static TR_HD T positive(T x) {
    const T zero{};
#if defined(__CUDA_ARCH__)
    return max(x, zero);  // one instruction
#else
    return x > zero ? x : zero;
#endif
  }
  static TR_HD T larger(T a, T b) {
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same<T, float>::value) {
      asm("max.NaN.f32 %0, %0, %1;" : "+f"(a) : "f"(b));
      return a;
    }
#endif
    return (a > b) | (a != a) ? a : b;
  }
};

// Squares and their sums in fp64. Keeps the ends of the elements' magnitudes.
struct PlainSquares : Traits {
  double least = kMostPlain, most = 0;

  template <class>
  static constexpr TR_HD double identity() {
    return 0;
  }
  TR_HD double lift(double x) {
    const double magnitude = x < 0 ? -x : x;
    least = magnitude < least && magnitude > 0 ? magnitude : least;
    most = magnitude > most ? magnitude : most;
    return x * x;
  }
  TR_HD double combine(double a, double b) const { return a + b; }
  static TR_HD EndlessSum scaled(double sum) { return of_plain(sum); }
  // NaN is in the sums alone.
  template <int Count>
  TR_HD bool are_plain(const double (&sum)[Count]) const {
    bool are = least >= kLeastPlain && most < kMostPlain;
    TR_UNROLL
    for (const double& s : sum) are = are && s == s;
    return are;
  }
};

// Sums of numbers: NaN shows in what is combined.
template <class T>
struct PlainNumbers : Traits {
  static constexpr bool may_take_magnitudes = true;
  template <class>
  static constexpr TR_HD T identity() {
    return Sum::identity<T>();
  }
  static TR_HD T combine(T a, T b) { return a + b; }
  static TR_HD NumberSum<T> scaled(T sum) { return {sum, 0}; }
  template <int Count>
  TR_HD bool are_plain(const T (&sum)[Count]) const {
    bool are = true;
    TR_UNROLL
    for (const T& s : sum) are = are & (s == s);
    return are;
  }
};

// Looks at elements and combines none: the largest magnitude, NaN if there is one.
template <class T>
struct Magnitudes : Traits {
  T largest{};

  template <class>
  static constexpr TR_HD T identity() {
    return 0;
  }
  TR_HD T lift(T x) {
    largest = PlainExponentials<T>::larger(order::magnitude_of(x), largest);
    return x;
  }
  TR_HD T combine(T a, T) const { return a; }
};
// The same but for elements that are -infinity.
template <class T>
struct MagnitudesButNone : Magnitudes<T> {
  TR_HD T lift(T x) { return Magnitudes<T>::lift(x == -std::numeric_limits<T>::infinity() ? 0 : x); }
};

// Adds exponentials as they are: of elements that are near; or else -infinity, whose exponential is 0.
template <class T>
struct NearExponentials : Traits {
  template <class>
  static constexpr TR_HD T identity() {
    return 0;
  }
  static TR_HD T lift(T x) { return exp_of_near(x); }
  static TR_HD T combine(T a, T b) { return a + b; }
  static TR_HD Exponentials<T> scaled(T sum) { return {sum, T{}}; }
};
template <class T>
struct NearOrNoneExponentials : NearExponentials<T> {
  static TR_HD T lift(T x) { return PlainExponentials<T>::positive(exp_of_near(x)); }
  static TR_HD Exponentials<T> scaled(T sum) {
    return sum > 0 ? Exponentials<T>{sum, T{}} : LogSumExp::identity<Exponentials<T>>();
  }
};

// How elements are combined as they are, by what is combined of them.
template <class Acc>
struct PlainOf {
  using type = void;
};
template <class T>
struct PlainOf<order::Scaled<T>> {
  using type = PlainProducts<T>;
};
template <class T>
struct PlainOf<Exponentials<T>> {
  using type = PlainExponentials<T>;
};
template <class T>
struct PlainOf<NumberSum<T>> {
  using type = PlainNumbers<T>;
};
template <>
struct PlainOf<EndlessSum> {
  using type = PlainSquares;
};
template <class Acc>
using Plain = typename PlainOf<Acc>::type;
template <class Acc>
constexpr bool has_plain = !std::is_void<Plain<Acc>>::value;

// What f(how, to) makes of elements, as `how` has them in the compute type.
template <class How, class Acc, int Count, class F>
TR_HD void combine_as(How how, Acc (&to)[Count], F f) {
  word_of<Acc> value[Count];
  f(how, value);
  TR_UNROLL
  for (int i = 0; i < Count; ++i) to[i] = how.scaled(value[i]);
}

// Whether elements are within LogSumExp::kNear: all are; or each of them is or is -infinity; or neither.
enum class Near : uint8_t { All, OrNone, Not };

// What f(how, to) makes of exponentials: it combines them by how.combine(), in the compute type if elements are near.
template <class O, class Acc, int Count, class F>
TR_HD void combine_exponentials(Near elements, Acc (&to)[Count], F f) {
  using Word = word_of<Acc>;
  if (elements == Near::Not) {
    O op;
    f(op, to);
  } else if (elements == Near::All) {
    combine_as(NearExponentials<Word>{}, to, f);
  } else {
    combine_as(NearOrNoneExponentials<Word>{}, to, f);
  }
}

// The same of any elements, which f() combines once or twice, in the compute type first.
template <class O, class Acc, int Count, class F>
TR_HD void combine_elements(Acc (&to)[Count], F f) {
  if constexpr (has_plain<Acc>) {
    using Word = word_of<Acc>;
    Plain<Acc> plain;
    Word value[Count];
    f(plain, value);
    if (plain.are_plain(value)) {
      TR_UNROLL
      for (int i = 0; i < Count; ++i) to[i] = plain.scaled(value[i]);
      return;
    }
    if constexpr (O::adds_exponentials) {
      MagnitudesButNone<Word> look;
      Word unused[Count];
      f(look, unused);
      if (look.largest <= LogSumExp::kNear) {
        TR_UNROLL
        for (int i = 0; i < Count; ++i) to[i] = NearOrNoneExponentials<Word>::scaled(value[i]);
        return;
      }
    }
  }
  O op;
  f(op, to);
}

// The tree over N elements, each a leaf: fill(how, x) writes them, as how lifts them, into x.
template <class O, class Acc, int N, class F>
TR_HD Acc tree_of_elements(F fill) {
  Acc root[1];
  combine_elements<O>(root, [&](auto& how, auto& to) {
    std::decay_t<decltype(to[0])> x[N];
    fill(how, x);
    to[0] = tree_by(how, x);
  });
  return root[0];
}

}  // namespace torch_reduce
