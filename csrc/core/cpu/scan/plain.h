// Products of factors as they are, where they need no exponent of their own.
#pragma once

#include "core/contract/plain.h"
#include "core/cpu/scan/chunk.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The ends of magnitudes, of words or vectors of them.
template <class T, class Word>
struct Range {
  T least = T{} + 1, most = T{} + 1;

  TR_HD void see(T x) {
    const T magnitude = order::magnitude_of(x);
    least = magnitude < least ? magnitude : least;
    most = magnitude > most ? magnitude : most;  // products of NaN are NaN, whatever their exponents
  }
  TR_HD bool within(Word low, Word high) const {
    if constexpr (std::is_same<T, Word>::value) {
      return least >= low && most <= high;
    } else {
      const auto are = (least >= low) & (most <= high);
      bool all = true;
      for (int i = 0; i < kLanes<Word>; ++i) all &= are[i] != 0;
      return all;
    }
  }
};

// Whether products have exponent 0 as scaled ones, and no product on the way to them was rounded for lack of an
// exponent. A prefix has a leaf and eight nodes. In a vector, those have up to half as many leaves as that has lanes.
// So with leaves and other nodes in these ranges, it is less than 2^90, or 2^250, off 1, before the subtrees left of
// the chunk: their product is to be within what is left of the type's range.
template <class Word, class Node>
struct SeenFactors {
  static constexpr Word kLeaf = 2, kNode = sizeof(Word) == 4 ? 1 << 12 : 1 << 30;
  static constexpr Word kLeft = sizeof(Word) == 4 ? 1l << 35 : 1l << 60;
  static constexpr Word kLimit = order::ScaleOf<Word>::kLimit;
  Range<Vector<Word>, Word> leaves, prefixes;
  Range<Node, Word> nodes;

  TR_HD void leaf(const Vector<Word>& v) { leaves.see(v); }
  TR_HD void node(const Node& v) { nodes.see(v); }
  TR_HD void prefix(const Vector<Word>& v) { prefixes.see(v); }
  static bool may_be_left(Word product) {
    const Word magnitude = order::magnitude_of(product);
    return magnitude >= 1 / kLeft && magnitude <= kLeft;
  }
  TR_HD bool are_plain() const {
    return leaves.within(1 / kLeaf, kLeaf) && nodes.within(1 / kNode, kNode) && prefixes.within(1 / kLimit, kLimit / 2);
  }
};

// Scaled products as words. Of doubles they are value_of(); of floats the same rounded to float, which matters below
// the least normal one.
template <class V>
TR_HD V unscaled(const order::Scaled<V>& x) {
  using Scale = order::ScaleOf<V>;
  const V one = V{} + 1, down = V{} + 1 / Scale::kUnit, up = V{} + Scale::kUnit;
  const auto zero = x.exponent - x.exponent;
  const V once = x.exponent < zero ? down : x.exponent > zero ? up : one;
  const V twice = x.exponent < zero - 1 ? down : x.exponent > zero + 1 ? up : one;
  return x.significand * once * twice;
}
template <class V>
TR_HD bool has_subnormal(const V& words) {
  using Word = std::decay_t<decltype(order::ScaleOf<V>::kLimit)>;
  const auto are = (words != V{}) & (order::magnitude_of(words) < V{} + std::numeric_limits<Word>::min());
  bool has = false;
  for (int i = 0; i < kLanes<Word>; ++i) has |= are[i] != 0;
  return has;
}

template <class O, class Acc>
constexpr bool multiplies_plain = has_vectors<O, Acc> && std::is_same<Acc, order::Scaled<word_of<Acc>>>::value;

template <class Word, bool Across>
using PlainPrefixes =
    ChunkPrefixes<Product, Word, Across, SeenFactors<Word, std::conditional_t<Across, Vector<Word>, Word>>>;

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
