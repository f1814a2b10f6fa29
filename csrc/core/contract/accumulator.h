// What an operator combines: a value of the compute type, or a struct of up to four words of its width.
#pragma once

#include <limits>
#include <type_traits>

#include "core/contract/numeric.h"

namespace torch_reduce {

// The compute type. A struct of several words names it: `using Word = ...`.
template <class Acc, class = void>
struct WordOf {
  using type = Acc;
};
template <class Acc>
struct WordOf<Acc, std::void_t<typename Acc::Word>> {
  using type = typename Acc::Word;
};
template <class Acc>
using word_of = typename WordOf<Acc>::type;

// What elements are converted to before they are lifted: the compute type, of which the words are. A struct whose
// words are of another type names it: `using Number = ...`.
template <class Acc, class = void>
struct NumberOf {
  using type = word_of<Acc>;
};
template <class Acc>
struct NumberOf<Acc, std::void_t<typename Acc::Number>> {
  using type = typename Acc::Number;
};
template <class Acc>
using number_of = typename NumberOf<Acc>::type;

template <class Acc>
constexpr int words_of = static_cast<int>(sizeof(Acc) / sizeof(word_of<Acc>));
template <class Acc>
constexpr bool is_scalar = words_of<Acc> == 1;

// An element as an integer that orders like it, and its number among those of its output, in words that order as one
// integer: of equal elements, the first one is the larger, or of scans the last one. A compute type of four bytes is
// for outputs of fewer than 2^32 elements.
template <class T>
struct Indexed {
  using Word = T;
  static constexpr bool is_short = sizeof(T) == 4;
  using Key = std::conditional_t<is_short, int32_t, int64_t>;
  using Index = std::make_unsigned_t<Key>;
  Key key;
  Index ahead;  // the complement of the index, or of scans the index

  TR_HD auto rank() const {
    using Unsigned = std::conditional_t<is_short, uint64_t, unsigned __int128>;
    const auto both = (static_cast<Unsigned>(key) << (8 * sizeof(T))) | ahead;
    return static_cast<std::conditional_t<is_short, int64_t, Int128>>(both);
  }
};

// NaN is larger than all, whatever its sign, and the zeros are equal.
template <class T>
TR_HD typename Indexed<T>::Key key_of(T x) {
  using Key = typename Indexed<T>::Key;
  if constexpr (std::is_integral<T>::value) {
    return x;
  } else {
    const Key bits = bit_cast<Key>(x + T(0));  // -0 becomes +0
    const Key key = bits ^ ((bits >> (8 * sizeof(Key) - 1)) & std::numeric_limits<Key>::max());
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4) return key;  // the sum's NaN is 0x7fffffff, the largest of all
#endif
    return x != x ? std::numeric_limits<Key>::max() : key;
  }
}

// A sum of exponentials: sum * exp(reference). The reference is a multiple of 128, or an element so large that the next
// number is at least 64 away.
template <class T>
struct Exponentials {
  using Word = T;
  T sum, reference;
};
template <class Acc>
constexpr bool is_exponentials = false;
template <class T>
constexpr bool is_exponentials<Exponentials<T>> = true;

}  // namespace torch_reduce
