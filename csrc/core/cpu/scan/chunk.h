// The prefixes of a chunk. A step takes an element of each leaf: that of step s and leaf r ends a prefix in which
// leaves up to r have s + 1 elements and those behind it s. On the way up the tree, each node's sibling is one of the
// former, if it stands on the left, and else one of the latter: what it was a step before. As combine(a, b) has the
// bits of combine(b, a), what is combined is the same.
#pragma once

#include "core/cpu/scan/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// What sees nothing of a tree but what it combines.
struct Unseen {
  template <class T>
  TR_HD void leaf(const T&) {}
  template <class T>
  TR_HD void node(const T&) {}
  template <class T>
  TR_HD void prefix(const T&) {}
};

// Of one row, a vector to neighbouring leaves; or Across, of neighbouring rows, a vector to a leaf.
template <class Op, class Acc, bool Across, class Seen = Unseen>
class ChunkPrefixes {
 public:
  using Combines = Op;
  using L = ScanLanes<Op, Acc>;
  using Values = typename L::Values;
  using Node = std::conditional_t<Across, Values, Acc>;  // of the tree above vectors
  static constexpr int kLeavesAtOnce = Across ? 1 : L::kWidth;
  static constexpr int kGroups = kLeaves / kLeavesAtOnce;

  // Before a step, the elements, lifted; behind it, the prefixes that they end, by group of leaves.
  Values value[kGroups];
  Seen seen;

  // Of the first `groups` groups; of all of them, if another step follows. `left` are `count` subtrees left of the
  // chunk, the nearest first.
  template <bool First>
  void step(int groups, const Values* left, int count) {
    now_ ^= 1;
    Seen s = seen;  // in registers
    for (int g = 0; g < groups; ++g) {
      Values leaf = value[g];
      if constexpr (!First) leaf = Op::combine(leaf_[g], leaf);
      s.leaf(leaf);
      leaf_[g] = leaf;
      Values prefix = leaf;
      climb<First, 0>(g, leaf, prefix);
      value[g] = prefix;
      s.node(node_[now_][0][g] = node_of(leaf));
    }
    for (int k = 0; k < kLevels; ++k) {
      for (int i = 0; i < groups >> (k + 1); ++i) {
        s.node(node_[now_][k + 1][i] = Op::combine(node_[now_][k][2 * i], node_[now_][k][2 * i + 1]));
      }
    }
    // In the first step, nothing stands on the right.
    int levels = kLevels;
    while (First && levels > 0 && groups <= 1 << (levels - 1)) --levels;
    const Node none = node_of(L::all(Op::template identity<Acc>()));
    const Node* sibling[kLevels > 0 ? kLevels : 1];
    for (int g = 0; g < groups; ++g) {
      for (int k = 0; k < levels && (g & ((1 << k) - 1)) == 0; ++k) {
        const int place = g >> k, is_left = ~place & 1;  // then its sibling is as it was before
        sibling[k] = First && is_left ? &none : &node_[now_ ^ is_left][k][place ^ 1];
      }
      Values prefix = value[g];
      TR_UNROLL
      for (int k = 0; k < kLevels; ++k) {
        if (First && k >= levels) break;
        prefix = Op::combine(spread(*sibling[k]), prefix);
      }
      for (int i = 0; i < count; ++i) prefix = Op::combine(left[i], prefix);
      s.prefix(prefix);
      value[g] = prefix;
    }
    seen = s;
  }

  // A step of what is asked for by total() alone.
  template <bool First>
  void add() {
    for (int g = 0; g < kGroups; ++g) leaf_[g] = First ? value[g] : Op::combine(leaf_[g], value[g]);
  }
  Node total_of_added() {
    for (int g = 0; g < kGroups; ++g) {
      Values leaf = leaf_[g], prefix = leaf;
      climb<true, 0>(g, leaf, prefix);
      node_[now_][0][g] = node_of(leaf);
    }
    for (int k = 0; k < kLevels; ++k) {
      for (int i = 0; i < kGroups >> (k + 1); ++i) {
        node_[now_][k + 1][i] = Op::combine(node_[now_][k][2 * i], node_[now_][k][2 * i + 1]);
      }
    }
    return total();
  }

  // The chunk's value, behind its fourth step.
  Node total() const { return node_[now_][kLevels][0]; }

  static TR_HD Values spread(const Node& node) {
    if constexpr (Across) {
      return node;
    } else {
      return L::all(node);
    }
  }

 private:
  static constexpr int log2(int x) { return x <= 1 ? 0 : 1 + log2(x / 2); }
  static constexpr int kInVector = log2(kLeavesAtOnce), kLevels = log2(kGroups);

  static TR_HD Node node_of(const Values& v) {
    if constexpr (Across) {
      return v;
    } else {
      return L::first(v);
    }
  }

  // The levels within a vector: every lane of `node` becomes the whole vector's.
  template <bool First, int Level>
  TR_HD void climb(int g, Values& node, Values& prefix) {
    if constexpr (Level < kInVector) {
      const Values now = L::template exchanged<Level>(node);
      const Values before = First ? L::all(Op::template identity<Acc>()) : sibling_[Level][g];
      prefix = Op::combine(L::template siblings<Level>(now, before), prefix);
      sibling_[Level][g] = now;
      node = Op::combine(node, now);
      climb<First, Level + 1>(g, node, prefix);
    }
  }

  Values leaf_[kGroups];
  Values sibling_[kInVector > 0 ? kInVector : 1][kInVector > 0 ? kGroups : 1];
  Node node_[2][kLevels + 1][kGroups];
  int now_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
