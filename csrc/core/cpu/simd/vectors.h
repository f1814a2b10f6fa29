// Chunks in registers, for the operators whose order is fixed: explicit vectors, because compilers keep a tree over
// an array in memory. A vector holds neighbouring leaves; the first four tree levels stay in registers.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif
#include <utility>

#include "core/cpu/element/elements.h"

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
constexpr int kLanes = kVectorBytes / sizeof(Acc);
template <class Acc>
using Vector = typename VectorOf<Acc, kLanes<Acc>>::type;

// Whether vectors of leaves follow the order. What has several words does so one by one.
template <class Op, class Acc>
constexpr bool has_vectors = !order_free<Op, Acc> && is_scalar<Acc>;

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

template <class T, class Acc>
TR_HD Vector<Acc> load_at(const char* x, int i) {
  return load<Acc>(reinterpret_cast<const T*>(x) + i);
}

// The values of a, then b, at the places given for each I of a pack; GCC wants them as integers as wide as the values.
#if defined(__clang__)
#define TR_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, (__VA_ARGS__)...)
#else
#define TR_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, decltype(a == b){(__VA_ARGS__)...})
#endif

// The groups of `Group` adjacent values at even (Offset 0) or odd (Offset 1) places of a and b, one after the other.
template <int Offset, int Group, class V, int... I>
TR_HD V every_other(V a, V b, std::integer_sequence<int, I...>) {
  return TR_SHUFFLE(a, b, (2 * (I / Group) + Offset) * Group + I % Group);
}

// AVX2 has no instruction for that, but one that does it within each half of a vector: from two vectors to a half of
// the places each, in both halves. So the first levels of a tree stay within halves, and one level combines the halves.
template <class Acc, int Group>
constexpr bool has_halves = kVectorBytes == 32 && Group < kLanes<Acc>;

constexpr int log2_of(int x) { return x <= 1 ? 0 : 1 + log2_of(x / 2); }

// The levels of the tree over one vector.
template <class Acc, int Group>
constexpr int kStages = log2_of(kLanes<Acc> / Group);

template <int Offset, int Group, class V, int... I>
TR_HD V every_other_within(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kAll = sizeof...(I), kHalf = kAll / 2, kFrom = kHalf / 2;
  return TR_SHUFFLE(
      a, b, I % kHalf / kFrom * kAll + I / kHalf * kHalf + (2 * (I % kFrom / Group) + Offset) * Group + I % Group);
}

// The lower (Offset 0) or upper (Offset 1) halves of a and b.
template <int Offset, class V, int... I>
TR_HD V halves(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kAll = sizeof...(I), kHalf = kAll / 2;
  return TR_SHUFFLE(a, b, I / kHalf * kAll + Offset * kHalf + I % kHalf);
}

// Each half has some places of every source: those of one source after those of the other.
template <int Sources, class V, int... I>
TR_HD V by_source(V v, std::integer_sequence<int, I...>) {
  constexpr int kAll = sizeof...(I), kHalf = kAll / 2, kOwn = kHalf / Sources;
  return TR_SHUFFLE(v, v, I / kOwn % 2 * kHalf + I / (2 * kOwn) * kOwn + I % kOwn);
}

// One tree level, the one above `Height` others, of the leaves in a, then b. A leaf is a group of adjacent columns; one
// that is wider than a vector is that vector and those that follow it. What comes out is in order() after the last one.
template <class Op, class Acc, int Group, int Height>
TR_HD Vector<Acc> halve(Vector<Acc> a, Vector<Acc> b) {
  constexpr std::make_integer_sequence<int, kLanes<Acc>> lanes{};
  if constexpr (has_halves<Acc, Group>) {
    if constexpr (Height % kStages<Acc, Group> == kStages<Acc, Group> - 1) {
      return Op::combine(halves<0>(a, b, lanes), halves<1>(a, b, lanes));
    } else {
      return Op::combine(every_other_within<0, Group>(a, b, lanes), every_other_within<1, Group>(a, b, lanes));
    }
  } else {
    return Op::combine(every_other<0, Group>(a, b, lanes), every_other<1, Group>(a, b, lanes));
  }
}

// Moves what came out of `Levels` levels to its place.
template <class Acc, int Group, int Levels>
TR_HD Vector<Acc> order(Vector<Acc> v) {
  if constexpr (has_halves<Acc, Group>) {
    constexpr int kSources = 1 << Levels % kStages<Acc, Group>;
    if constexpr (kSources > 1) return by_source<kSources>(v, std::make_integer_sequence<int, kLanes<Acc>>{});
  }
  return v;
}

// Two bfloat16 in 32 bits are two floats, each but for the bits of the other: even and odd leaves come without a
// shuffle, and combined are the first level of a tree. So two vectors of leaves are read as one of its pairs.
template <class T, int Group>
constexpr int kReadLevels = std::is_same<T, BFloat16>::value && Group == 1 ? 1 : 0;

struct EvenOdd {
  Vector<float> even, odd;
};

TR_HD EvenOdd load_pairs(const char* x, int i) {
  Vector<uint32_t> bits;
  __builtin_memcpy(&bits, x + i * sizeof(BFloat16), sizeof(bits));
  return {reinterpret_cast<Vector<float>>(bits << 16), reinterpret_cast<Vector<float>>(bits & 0xffff0000u)};
}

// Of neighbouring leaves, from place i on, one element each.
template <class T, class Acc, int Group>
TR_HD auto read(const char* x, int i) {
  if constexpr (kReadLevels<T, Group> > 0) {
    return load_pairs(x, i);
  } else {
    return load_at<T, Acc>(x, i);
  }
}

template <class Op, class V>
TR_HD V combine(V a, V b) {
  if constexpr (std::is_same<V, EvenOdd>::value) {
    return {Op::combine(a.even, b.even), Op::combine(a.odd, b.odd)};
  } else {
    return Op::combine(a, b);
  }
}

// The tree levels over what was read together.
template <class Op, class V>
TR_HD auto over_reads(V v) {
  if constexpr (std::is_same<V, EvenOdd>::value) {
    return Op::combine(v.even, v.odd);
  } else {
    return v;
  }
}

// Neighbouring leaves of `Steps` elements each, from place i on.
template <class Op, class T, class Acc, int Steps, int Group>
TR_HD auto read_steps(const char* const* x, int i) {
  auto v = read<T, Acc, Group>(x[0], i);
  if constexpr (Steps > 1) v = combine<Op>(v, read<T, Acc, Group>(x[1], i));
  if constexpr (Steps > 2) v = combine<Op>(v, read<T, Acc, Group>(x[2], i));
  if constexpr (Steps > 3) v = combine<Op>(v, read<T, Acc, Group>(x[3], i));
  return v;
}

// How many vectors of leaves are read between two prefetches of as many bytes.
constexpr int kVectorsPerFetch = 4;

template <class Op, class T, class Acc, int Steps, int Group, int Vectors, bool Steadily>
TR_HD Vector<Acc> chunk_levels(const char* const* x, int i, const char* ahead) {
  constexpr int kRead = kReadLevels<T, Group>;
  if constexpr (Steadily && Vectors == kVectorsPerFetch) {
    constexpr int64_t kLeaf = Steps * sizeof(T);
    prefetch_bytes(ahead + i * kLeaf, Vectors * kLanes<Acc> * kLeaf);
  }
  if constexpr (Vectors > 1 << kRead) {
    constexpr int kHalf = Vectors / 2;
    const Vector<Acc> left = chunk_levels<Op, T, Acc, Steps, Group, kHalf, Steadily>(x, i, ahead);
    return halve<Op, Acc, Group, log2_of(kHalf) - kRead>(
        left, chunk_levels<Op, T, Acc, Steps, Group, kHalf, Steadily>(x, i + kHalf * kLanes<Acc>, ahead));
  } else {
    return over_reads<Op>(read_steps<Op, T, Acc, Steps, Group>(x, i));
  }
}

// The trees, log2(Vectors) levels up, of the leaves in `Vectors` adjacent vectors of each step, from place i on. With
// Steadily, as many bytes are fetched from `ahead` on, some at a time.
template <class Op, class T, class Acc, int Steps, int Group, int Vectors, bool Steadily>
TR_HD Vector<Acc> chunk_subtrees(const char* const* x, int i, const char* ahead) {
  return order<Acc, Group, log2_of(Vectors) - kReadLevels<T, Group>>(
      chunk_levels<Op, T, Acc, Steps, Group, Vectors, Steadily>(x, i, ahead));
}

// The trees over the leaves in adjacent vectors; of AVX-512, whose halve() leaves them in order.
template <class Op, class Acc, int Vectors>
TR_HD Vector<Acc> tree_of(const Vector<Acc>* leaf) {
  if constexpr (Vectors == 1) {
    return leaf[0];
  } else {
    const Vector<Acc> left = tree_of<Op, Acc, Vectors / 2>(leaf);
    return halve<Op, Acc, 1, log2_of(Vectors / 2)>(left, tree_of<Op, Acc, Vectors / 2>(leaf + Vectors / 2));
  }
}

template <class Op, class Acc, int Vectors, class T>
TR_HD Vector<Acc> element_levels(const T* x) {
  constexpr int kRead = kReadLevels<T, 1>;
  if constexpr (Vectors > 1 << kRead) {
    constexpr int kHalf = Vectors / 2;
    const Vector<Acc> left = element_levels<Op, Acc, kHalf>(x);
    return halve<Op, Acc, 1, log2_of(kHalf) - kRead>(left, element_levels<Op, Acc, kHalf>(x + kHalf * kLanes<Acc>));
  } else {
    return over_reads<Op>(read<T, Acc, 1>(reinterpret_cast<const char*>(x), 0));
  }
}

// The trees of chunk_subtrees() where every element is a leaf.
template <class Op, class Acc, int Vectors, class T>
TR_HD Vector<Acc> element_subtrees(const T* x) {
  return order<Acc, 1, log2_of(Vectors) - kReadLevels<T, 1>>(element_levels<Op, Acc, Vectors>(x));
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
