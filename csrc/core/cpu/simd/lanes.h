// Vectors: what they hold, loads of elements, and what is combined as a lane each of one or several words.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <utility>

#include "core/cpu/element/elements.h"
#include "core/cpu/simd/called.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif
constexpr bool kIsWide = kVectorBytes == 64;

template <class T, int N>
struct VectorOf {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <class Acc>
constexpr int kLanes = kVectorBytes / sizeof(word_of<Acc>);
template <class Acc>
using Vector = typename VectorOf<Acc, kLanes<Acc>>::type;
// Of what is combined, one in each lane: where that has several words, a vector of each.
template <class Op, class Acc>
using Lanes = accumulator_of<Op, Vector<word_of<Acc>>>;

// Whether vectors of leaves follow the order.
#if defined(TR_SCALAR)
template <class Op, class Acc>
constexpr bool has_vectors = false;
#else
template <class Op, class Acc>
constexpr bool has_vectors =
    !order_free<Op, Acc> && fits_vectors<Op, word_of<Acc>> && std::is_same<number_of<Acc>, word_of<Acc>>::value;
#endif

// The operator where what is combined has been lifted.
template <class Op>
struct Lifted : Op {
  static constexpr bool lifts = false;
};
template <class Op, class Value>
TR_HD auto lift(Value v) {
  if constexpr (Op::lifts) {
    return Op::lift(v);
  } else {
    return v;
  }
}

template <class Acc>
TR_HD Vector<Acc> load(const Acc* x) {
  Vector<Acc> v;
  __builtin_memcpy(&v, x, sizeof(v));
  return v;
}

// 16-bit values as 32-bit ones; by intrinsics, as GCC 12 widens such vectors in pieces. (The unmasked AVX-512 forms
// make it warn of an uninitialised variable in its own headers.)
TR_HD Vector<uint32_t> load_16_bits(const void* x) {
#if defined(__AVX512F__)
  const __m256i narrow = _mm256_loadu_si256(static_cast<const __m256i*>(x));
  return reinterpret_cast<Vector<uint32_t>>(_mm512_maskz_cvtepu16_epi32(0xffff, narrow));
#elif defined(__AVX2__)
  const __m128i narrow = _mm_loadu_si128(static_cast<const __m128i*>(x));
  return reinterpret_cast<Vector<uint32_t>>(_mm256_cvtepu16_epi32(narrow));
#elif defined(__SSE2__)
  const __m128i narrow = _mm_loadl_epi64(static_cast<const __m128i*>(x));
  return reinterpret_cast<Vector<uint32_t>>(_mm_unpacklo_epi16(narrow, _mm_setzero_si128()));
#else
  typename VectorOf<uint16_t, kLanes<uint32_t>>::type narrow;
  __builtin_memcpy(&narrow, x, sizeof(narrow));
  return __builtin_convertvector(narrow, Vector<uint32_t>);
#endif
}

template <class Acc>
TR_HD Vector<Acc> load(const BFloat16* x) {
  return reinterpret_cast<Vector<float>>(load_16_bits(x) << 16);
}

template <class Acc>
TR_HD Vector<Acc> load(const Half* x) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x)));
#elif defined(__F16C__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
#else
  using Bits = Vector<uint32_t>;  // the steps of to_float(Half)
  const Bits h = load_16_bits(x);
  const Vector<float> scale = bit_cast<float>(0x77800000u) - Vector<float>{};  // 2^112
  const Bits magnitude = reinterpret_cast<Bits>(reinterpret_cast<Vector<float>>((h & 0x7fffu) << 13) * scale);
  const Bits special = reinterpret_cast<Bits>((h & 0x7c00u) == 0x7c00u) & 0x7f800000u;
  return reinterpret_cast<Vector<float>>(magnitude | special | ((h & 0x8000u) << 16));
#endif
}

// Narrower elements as doubles.
#if defined(__AVX512F__)
TR_HD Vector<double> load_as_double(const float* x) { return _mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x)); }
TR_HD Vector<double> load_as_double(const BFloat16* x) {
  const __m256i bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  return _mm512_maskz_cvtps_pd(0xff, _mm256_castsi256_ps(_mm256_slli_epi32(bits, 16)));
}
TR_HD Vector<double> load_as_double(const Half* x) {
  return _mm512_maskz_cvtps_pd(0xff, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x))));
}
#elif defined(__AVX2__)
TR_HD Vector<double> load_as_double(const float* x) { return _mm256_cvtps_pd(_mm_loadu_ps(x)); }
TR_HD Vector<double> load_as_double(const BFloat16* x) {
  const __m128i bits = _mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x)));
  return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(bits, 16)));
}
TR_HD Vector<double> load_as_double(const Half* x) {
  return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(x))));
}
#else
template <class T>
TR_HD Vector<double> load_as_double(const T* x) {
  Vector<double> v{};
  for (int i = 0; i < kLanes<double>; ++i) v[i] = widen<double>(x[i]);
  return v;
}
#endif

template <class T, class Acc>
TR_HD Vector<Acc> load_at(const char* x, int i) {
  const T* at = reinterpret_cast<const T*>(x) + i;
  if constexpr (std::is_same<Acc, double>::value && sizeof(T) < sizeof(double)) {
    return load_as_double(at);
  } else {
    return load<Acc>(at);
  }
}

// The values of a, then b, at the places given for each I of a pack; GCC wants them as integers as wide as the values.
#if defined(__clang__)
#define TR_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, (__VA_ARGS__)...)
#else
#define TR_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, decltype(a == b){(__VA_ARGS__)...})
#endif

// Values of a and b in turn: of their lower (Half 0) or upper (Half 1) halves.
template <int Half, class V, int... I>
TR_HD V alternating(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kAll = sizeof...(I);
  return TR_SHUFFLE(a, b, Half * kAll / 2 + I / 2 + I % 2 * kAll);
}

// The groups of `Group` adjacent values at even (Offset 0) or odd (Offset 1) places of a and b, one after the other.
template <int Offset, int Group, class V, int... I>
TR_HD V every_other(V a, V b, std::integer_sequence<int, I...>) {
  return TR_SHUFFLE(a, b, (2 * (I / Group) + Offset) * Group + I % Group);
}

// ---- what is combined, a lane each ------------------------------------------------------------------

// f(word of a, word of b) for every word, as vectors of the compute type.
template <class Word, class V, class F>
TR_HD V each_word(const V& a, const V& b, F f) {
  if constexpr (!std::is_class<V>::value) {
    return reinterpret_cast<V>(f(reinterpret_cast<Word>(a), reinterpret_cast<Word>(b)));
  } else {  // of two fields
    const auto& [a0, a1] = a;
    const auto& [b0, b1] = b;
    return {each_word<Word>(a0, b0, f), each_word<Word>(a1, b1, f)};
  }
}

// Words of accumulators side by side in memory, two or four each, from a vector of each, and back: by shuffles, and by
// whole vectors. GCC 12 copies 32 bytes to an array in halves, for which a load of all of them waits.
template <class Word, int Words>
TR_HD void interleave(const Vector<Word> (&word)[Words], void* out) {
  constexpr std::make_integer_sequence<int, kLanes<Word>> lanes{};
  if constexpr (Words == 2) {
    const auto lower = alternating<0>(word[0], word[1], lanes), upper = alternating<1>(word[0], word[1], lanes);
    __builtin_memcpy(out, &lower, sizeof(lower));
    __builtin_memcpy(static_cast<char*>(out) + sizeof(lower), &upper, sizeof(upper));
  } else {
    static_assert(Words == 4, "two pairs");
    const auto& [a, b, c, d] = word;
    interleave<Word>({alternating<0>(a, c, lanes), alternating<0>(b, d, lanes)}, out);
    interleave<Word>({alternating<1>(a, c, lanes), alternating<1>(b, d, lanes)},
                     static_cast<char*>(out) + 2 * sizeof(a));
  }
}
template <class Word, int Words>
TR_HD void take_apart(const void* x, Vector<Word> (&word)[Words]) {
  constexpr std::make_integer_sequence<int, kLanes<Word>> lanes{};
  if constexpr (Words == 2) {
    Vector<Word> lower, upper;
    __builtin_memcpy(&lower, x, sizeof(lower));
    __builtin_memcpy(&upper, static_cast<const char*>(x) + sizeof(lower), sizeof(upper));
    word[0] = every_other<0, 1>(lower, upper, lanes);
    word[1] = every_other<1, 1>(lower, upper, lanes);
  } else {
    static_assert(Words == 4, "two pairs");
    Vector<Word> lower[2], upper[2];  // of each, words 0 and 2 in turn, and words 1 and 3
    take_apart<Word>(x, lower);
    take_apart<Word>(static_cast<const char*>(x) + sizeof(lower), upper);
    for (int i = 0; i < 2; ++i) {
      word[i] = every_other<0, 1>(lower[i], upper[i], lanes);
      word[i + 2] = every_other<1, 1>(lower[i], upper[i], lanes);
    }
  }
}

template <class Op, class Acc>
TR_HD void store_lanes(const Lanes<Op, Acc>& v, Acc* out) {
  if constexpr (is_scalar<Acc>) {
    __builtin_memcpy(out, &v, sizeof(v));
  } else {
    using Word = word_of<Acc>;
    Vector<Word> word[words_of<Acc>];
    __builtin_memcpy(word, &v, sizeof(v));
    interleave<Word>(word, out);
  }
}

template <class Op, class Acc>
TR_HD Lanes<Op, Acc> load_lanes(const Acc* x) {
  Lanes<Op, Acc> v;
  if constexpr (is_scalar<Acc>) {
    __builtin_memcpy(&v, x, sizeof(v));
  } else {
    using Word = word_of<Acc>;
    Vector<Word> word[words_of<Acc>];
    take_apart<Word>(x, word);
    __builtin_memcpy(&v, word, sizeof(v));
  }
  return v;
}

// The same value in every lane.
template <class Op, class Acc>
TR_HD Lanes<Op, Acc> in_all_lanes(Acc value) {
  using Word = word_of<Acc>;
  if constexpr (is_scalar<Acc>) {
    return value - Vector<Word>{};
  } else {
    using Bits = std::conditional_t<sizeof(Word) == 4, uint32_t, uint64_t>;
    Bits word[words_of<Acc>];
    __builtin_memcpy(word, &value, sizeof(value));
    Vector<Bits> all[words_of<Acc>];
    for (int w = 0; w < words_of<Acc>; ++w) all[w] = word[w] - Vector<Bits>{};
    Lanes<Op, Acc> v;
    __builtin_memcpy(&v, all, sizeof(v));
    return v;
  }
}

// The first lane's.
template <class Op, class Acc>
TR_HD Acc in_first_lane(const Lanes<Op, Acc>& v) {
  using Bits = std::conditional_t<sizeof(word_of<Acc>) == 4, uint32_t, uint64_t>;
  Vector<Bits> all[words_of<Acc>];
  __builtin_memcpy(all, &v, sizeof(v));
  Bits word[words_of<Acc>];
  for (int w = 0; w < words_of<Acc>; ++w) word[w] = all[w][0];
  Acc first;
  __builtin_memcpy(&first, word, sizeof(first));
  return first;
}

// Whether loops over what is combined have to be written with vectors: compilers make them of one word.
template <class Op, class Acc>
constexpr bool has_lanes_of_words = has_vectors<Op, Acc> && !is_scalar<Acc>;

// y[i] = a[i], b[i] combined. y may be a or b.
template <class Op, class Acc>
TR_HD void combine_all(const Acc* a, const Acc* b, int64_t count, Acc* y) {
  int64_t i = 0;
  if constexpr (has_lanes_of_words<Op, Acc>) {
    for (; i + kLanes<Acc> <= count; i += kLanes<Acc>) {
      store_lanes<Op>(Op::combine(load_lanes<Op>(a + i), load_lanes<Op>(b + i)), y + i);
    }
  }
  TR_VECTORIZE
  for (int64_t j = i; j < count; ++j) y[j] = Op::combine(a[j], b[j]);
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
