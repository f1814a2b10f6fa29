// The largest and the smallest element, and where they stand.
#pragma once

#include <torch_reduce/scaled.h>

#include <limits>
#include <type_traits>

#include "core/contract/accumulator.h"
#include "core/contract/traits.h"

namespace torch_reduce {

// NaN wins and +0 > -0, so the result is one of a set that has a total order: the order of combining is free.
// Written as selects so that loops over it vectorise.
template <class Acc, bool Largest>
TR_HD Acc extreme(Acc a, Acc b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same<Acc, float>::value) {  // one instruction with these very rules
    float m;
    if constexpr (Largest) {
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    } else {
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    }
    return m;
  }
#endif
  const Acc r = (Largest ? a > b : a < b) ? a : b;
  if constexpr (std::is_floating_point<Acc>::value) {
    using Bits = std::conditional_t<sizeof(Acc) == 4, uint32_t, uint64_t>;
    // The other way round, which is one instruction too, gives the same but for zeros of both signs and for NaN.
    const Acc s = (Largest ? b > a : b < a) ? b : a;
    const Bits x = bit_cast<Bits>(r), y = bit_cast<Bits>(s);
#if defined(__CUDA_ARCH__)
    const bool unordered = a != a || b != b;
#else
    const bool unordered = __builtin_isunordered(a, b);  // one comparison, where GCC makes two of the other
#endif
    return bit_cast<Acc>((Largest ? x & y : x | y) | (unordered ? ~Bits(0) : Bits(0)));
  }
  return r;
}

struct Max : Traits {
  static constexpr Gives gives = Gives::Element;
  static constexpr bool selects = true;
  static constexpr bool is_max = true;
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? -std::numeric_limits<Acc>::infinity()
                                              : std::numeric_limits<Acc>::lowest();
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    return extreme<Acc, true>(a, b);
  }
  // Whether `a` surely stays as it is where x is combined with it. A comparison, which scans of many elements try
  // first.
  template <class Word>
  static TR_HD bool beats(Word a, Word x) {
    return x < a;
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
};

struct Min : Traits {
  static constexpr Gives gives = Gives::Element;
  static constexpr bool selects = true;
  static constexpr bool mirrored = true;
  static constexpr bool is_max = false;
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? std::numeric_limits<Acc>::infinity() : std::numeric_limits<Acc>::max();
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    return extreme<Acc, false>(a, b);
  }
  template <class Word>
  static TR_HD bool beats(Word a, Word x) {
    return x > a;
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
};

template <class T>
struct Range {
  using Word = T;
  T least, largest;
};

struct MinAndMax : Traits {
  template <class Word>
  using Accumulator = Range<Word>;
  using First = Min;
  using Second = Max;
  static constexpr Gives gives = Gives::Element;
  static constexpr bool lifts = true, lifts_integers = true;
  static constexpr bool masks_missing = true;  // no element is neither less nor larger
  static constexpr bool selects = true;
  static constexpr bool has_second = true, has_two_extremes = true;
  static constexpr bool may_take_magnitudes = true;
  static constexpr bool has_few_kernels = true;
  template <class Word>
  static TR_HD Range<Word> lift(Word x) {
    return {x, x};
  }
  // A missing element is masked, so what is read in its place, a scalar, may be any.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return T(0);
    } else {
      return {Min::identity<typename T::Word>(), Max::identity<typename T::Word>()};
    }
  }
  template <class Word>
  static TR_HD Range<Word> combine(Range<Word> a, Range<Word> b) {
    return {Min::combine(a.least, b.least), Max::combine(a.largest, b.largest)};
  }
  template <class Word>
  static TR_HD Word finish(Range<Word> a, int64_t) {
    return a.least;
  }
  template <class Word>
  static TR_HD Word second(Range<Word> a, Count) {
    return a.largest;
  }
};

// The largest and the smallest magnitude.
struct NormInf : MinAndMax {
  static constexpr Gives gives = Gives::Floating;
  static constexpr Ending ending = Ending::Largest;
  static constexpr bool is_real = true;
  static constexpr bool refuses_integers = true;
  static constexpr bool takes_magnitudes = true;
  static constexpr bool widens_on_cuda = true;
  template <class Word>
  static TR_HD Range<Word> lift(Word x) {
    return MinAndMax::lift(order::magnitude_of(x));
  }
  template <class Word>
  static TR_HD Word finish(Range<Word> a, int64_t) {
    return a.largest;
  }
};
struct NormMinusInf : NormInf {
  static constexpr Ending ending = Ending::Own;
  template <class Word>
  static TR_HD Word finish(Range<Word> a, int64_t) {
    return a.least;
  }
};

// Where the first of the largest elements stands. NaN is larger than any other.
struct ArgMax : Traits {
  template <class Word>
  using Accumulator = Indexed<Word>;
  using Extreme = Max;  // what stands there
  static constexpr bool lifts = true, lifts_integers = true;
  static constexpr bool needs_index = true;
  static constexpr bool selects = true;
  static constexpr Gives gives = Gives::Int64;
  static constexpr bool has_few_kernels = true;
  template <class Word>
  static TR_HD Indexed<Word> lift(Word x, int64_t index) {
    return {key_of(x), static_cast<typename Indexed<Word>::Index>(-1 - index)};
  }
  // Of elements and of what is combined.
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return Max::identity<T>();
    } else {
      return {std::numeric_limits<typename T::Key>::lowest(), typename T::Index(0)};
    }
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    const bool takes_b = b.rank() > a.rank();
    return {takes_b ? b.key : a.key, takes_b ? b.ahead : a.ahead};
  }
  template <class Acc>
  static TR_HD int64_t finish(Acc a, int64_t) {
    return static_cast<int64_t>(static_cast<decltype(a.ahead)>(~a.ahead));
  }
};

// Where the first of the smallest elements stands: of the largest, by keys that are mirrored. NaN keeps its own.
struct ArgMin : ArgMax {
  using Extreme = Min;
  static constexpr bool mirrored = true;
  template <class Word>
  static TR_HD Indexed<Word> lift(Word x, int64_t index) {
    if constexpr (std::is_integral<Word>::value) {
      return ArgMax::lift(~x, index);
    } else {
      return ArgMax::lift(-x, index);
    }
  }
  template <class T>
  static constexpr TR_HD T identity() {
    if constexpr (is_scalar<T>) {
      return Min::identity<T>();
    } else {
      return ArgMax::identity<T>();
    }
  }
};

// Where the last one of those stands, as a scan has it.
template <class Arg>
struct Last : Arg {
  template <class Word>
  static TR_HD Indexed<Word> lift(Word x, int64_t index) {
    return {Arg::lift(x, index).key, static_cast<typename Indexed<Word>::Index>(index)};
  }
  template <class Word>
  static TR_HD bool beats(Indexed<Word> a, Word x) {
    return Arg::lift(x, 0).key < a.key;
  }
  template <class Acc>
  static TR_HD int64_t finish(Acc a, int64_t) {
    return static_cast<int64_t>(a.ahead);
  }
};

}  // namespace torch_reduce
