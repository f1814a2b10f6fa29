// Chunks in registers, for the operators whose order is fixed: explicit vectors, because compilers keep a tree over
// an array in memory. A vector holds neighbouring leaves; the first four tree levels stay in registers.
#pragma once

#include "core/cpu/simd/lanes.h"
#include "core/cpu/simd/plain_leaves.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

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
TR_HD Lanes<Op, Acc> halve(const Lanes<Op, Acc>& a, const Lanes<Op, Acc>& b) {
  using Word = Vector<word_of<Acc>>;
  constexpr std::make_integer_sequence<int, kLanes<Acc>> lanes{};
  if constexpr (has_halves<Acc, Group>) {
    if constexpr (Height % kStages<Acc, Group> == kStages<Acc, Group> - 1) {
      return Op::combine(each_word<Word>(a, b, [&](Word x, Word y) { return halves<0>(x, y, lanes); }),
                         each_word<Word>(a, b, [&](Word x, Word y) { return halves<1>(x, y, lanes); }));
    } else {
      return Op::combine(
          each_word<Word>(a, b, [&](Word x, Word y) { return every_other_within<0, Group>(x, y, lanes); }),
          each_word<Word>(a, b, [&](Word x, Word y) { return every_other_within<1, Group>(x, y, lanes); }));
    }
  } else {
    return Op::combine(each_word<Word>(a, b, [&](Word x, Word y) { return every_other<0, Group>(x, y, lanes); }),
                       each_word<Word>(a, b, [&](Word x, Word y) { return every_other<1, Group>(x, y, lanes); }));
  }
}

// Moves what came out of `Levels` levels to its place.
template <class Acc, int Group, int Levels, class V>
TR_HD V order(const V& v) {
  if constexpr (has_halves<Acc, Group>) {
    constexpr int kSources = 1 << Levels % kStages<Acc, Group>;
    if constexpr (kSources > 1) {
      using Word = Vector<word_of<Acc>>;
      constexpr std::make_integer_sequence<int, kLanes<Acc>> lanes{};
      return each_word<Word>(v, v, [&](Word x, Word) { return by_source<kSources>(x, lanes); });
    }
  }
  return v;
}

// Two bfloat16 in 32 bits are two floats, each but for the bits of the other: even and odd leaves come without a
// shuffle, and combined are the first level of a tree. So two vectors of leaves are read as one of its pairs.
template <class T, class Acc, int Group>
constexpr int kReadLevels =
    std::is_same<T, BFloat16>::value && std::is_same<word_of<Acc>, float>::value && Group == 1 ? 1 : 0;

template <class V>
struct EvenOdd {
  V even, odd;
};
template <class V>
constexpr bool is_even_odd = false;
template <class V>
constexpr bool is_even_odd<EvenOdd<V>> = true;

TR_HD EvenOdd<Vector<float>> load_pairs(const char* x, int i) {
  Vector<uint32_t> bits;
  __builtin_memcpy(&bits, x + i * sizeof(BFloat16), sizeof(bits));
  return {reinterpret_cast<Vector<float>>(bits << 16), reinterpret_cast<Vector<float>>(bits & 0xffff0000u)};
}

// Of neighbouring leaves, from place i on, one element each; and lifted.
template <class T, class Acc, int Group>
TR_HD auto read_elements(const char* x, int i) {
  if constexpr (kReadLevels<T, Acc, Group> > 0) {
    return load_pairs(x, i);
  } else {
    return load_at<T, word_of<Acc>>(x, i);
  }
}
template <class Op, class T, class Acc, int Group>
TR_HD auto read(const char* x, int i) {
  const auto v = read_elements<T, Acc, Group>(x, i);
  if constexpr (is_even_odd<std::decay_t<decltype(v)>>) {
    return EvenOdd<Lanes<Op, Acc>>{lift<Op>(v.even), lift<Op>(v.odd)};
  } else {
    return lift<Op>(v);
  }
}

template <class Op, class V>
TR_HD V combine(const V& a, const V& b) {
  if constexpr (is_even_odd<V>) {
    return {Op::combine(a.even, b.even), Op::combine(a.odd, b.odd)};
  } else {
    return Op::combine(a, b);
  }
}

// The tree levels over what was read together.
template <class Op, class V>
TR_HD auto over_reads(const V& v) {
  if constexpr (is_even_odd<V>) {
    return Op::combine(v.even, v.odd);
  } else {
    return v;
  }
}

template <class Op, class V, int Count>
TR_HD EvenOdd<accumulator_of<Op, V>> leaf_of_plain(const EvenOdd<V> (&x)[Count]) {
  V even[Count], odd[Count];
  for (int i = 0; i < Count; ++i) even[i] = x[i].even, odd[i] = x[i].odd;
  return {leaf_of_plain<Op>(even), leaf_of_plain<Op>(odd)};
}

// Whether a leaf's elements are read before any is lifted: where that takes long.
template <class Op, class Acc>
constexpr bool reads_plain_leaves = Op::lifts && !Op::skips_nan && has_plain<Acc> && has_lanes_of_words<Op, Acc>;

// Neighbouring leaves of `Steps` elements each, from place i on.
template <class Op, class T, class Acc, int Steps, int Group>
TR_HD auto read_steps(const char* const* x, int i) {
  if constexpr (reads_plain_leaves<Op, Acc>) {
    std::decay_t<decltype(read_elements<T, Acc, Group>(x[0], i))> element[Steps];
    for (int s = 0; s < Steps; ++s) element[s] = read_elements<T, Acc, Group>(x[s], i);
    return leaf_of_plain<Op>(element);
  } else {
    auto v = read<Op, T, Acc, Group>(x[0], i);
    if constexpr (Steps > 1) v = combine<Op>(v, read<Op, T, Acc, Group>(x[1], i));
    if constexpr (Steps > 2) v = combine<Op>(v, read<Op, T, Acc, Group>(x[2], i));
    if constexpr (Steps > 3) v = combine<Op>(v, read<Op, T, Acc, Group>(x[3], i));
    return v;
  }
}

// How many vectors of leaves are read between two prefetches of as many bytes.
constexpr int kVectorsPerFetch = 4;

template <class Op, class T, class Acc, int Steps, int Group, int Vectors, bool Steadily>
TR_HD Lanes<Op, Acc> chunk_levels(const char* const* x, int i, const char* ahead) {
  constexpr int kRead = kReadLevels<T, Acc, Group>;
  if constexpr (Steadily && Vectors == kVectorsPerFetch) {
    constexpr int64_t kLeaf = Steps * sizeof(T);
    prefetch_bytes(ahead + i * kLeaf, Vectors * kLanes<Acc> * kLeaf);
  }
  if constexpr (Vectors > 1 << kRead) {
    constexpr int kHalf = Vectors / 2;
    const Lanes<Op, Acc> left = chunk_levels<Op, T, Acc, Steps, Group, kHalf, Steadily>(x, i, ahead);
    return halve<Op, Acc, Group, log2_of(kHalf) - kRead>(
        left, chunk_levels<Op, T, Acc, Steps, Group, kHalf, Steadily>(x, i + kHalf * kLanes<Acc>, ahead));
  } else {
    return over_reads<Op>(read_steps<Op, T, Acc, Steps, Group>(x, i));
  }
}

// The trees, log2(Vectors) levels up, of the leaves in `Vectors` adjacent vectors of each step, from place i on. With
// Steadily, as many bytes are fetched from `ahead` on, some at a time.
template <class Op, class T, class Acc, int Steps, int Group, int Vectors, bool Steadily>
TR_HD Lanes<Op, Acc> chunk_subtrees(const char* const* x, int i, const char* ahead) {
  return order<Acc, Group, log2_of(Vectors) - kReadLevels<T, Acc, Group>>(
      chunk_levels<Op, T, Acc, Steps, Group, Vectors, Steadily>(x, i, ahead));
}

// The trees over the leaves in adjacent vectors; of AVX-512, whose halve() leaves them in order.
template <class Op, class Acc, int Vectors>
TR_HD Lanes<Op, Acc> tree_of(const Lanes<Op, Acc>* leaf) {
  if constexpr (Vectors == 1) {
    return leaf[0];
  } else {
    const Lanes<Op, Acc> left = tree_of<Op, Acc, Vectors / 2>(leaf);
    return halve<Op, Acc, 1, log2_of(Vectors / 2)>(left, tree_of<Op, Acc, Vectors / 2>(leaf + Vectors / 2));
  }
}

template <class Op, class Acc, int Vectors, class T>
TR_HD Lanes<Op, Acc> element_levels(const T* x) {
  constexpr int kRead = kReadLevels<T, Acc, 1>;
  if constexpr (Vectors > 1 << kRead) {
    constexpr int kHalf = Vectors / 2;
    const Lanes<Op, Acc> left = element_levels<Op, Acc, kHalf>(x);
    return halve<Op, Acc, 1, log2_of(kHalf) - kRead>(left, element_levels<Op, Acc, kHalf>(x + kHalf * kLanes<Acc>));
  } else {
    return over_reads<Op>(read<Op, T, Acc, 1>(reinterpret_cast<const char*>(x), 0));
  }
}

// The trees of chunk_subtrees() where every element is a leaf.
template <class Op, class Acc, int Vectors, class T>
TR_HD Lanes<Op, Acc> element_subtrees(const T* x) {
  return order<Acc, 1, log2_of(Vectors) - kReadLevels<T, Acc, 1>>(element_levels<Op, Acc, Vectors>(x));
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
