// The prefixes of a chunk. That of step s and leaf r ends with an element of both: in it leaves up to r have s + 1
// elements and those behind it s. On the way up the tree, each node's sibling is one of the former, if it stands on the
// left, and else one of the latter: what it was a step before. As combine(a, b) has the bits of combine(b, a), what is
// combined is the same.
#pragma once

#include "core/cpu/scan/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Of one row, a vector to neighbouring leaves; or Across, of neighbouring rows, a vector to a leaf.
template <class Op, class Acc, bool Across>
class ChunkPrefixes {
 public:
  using Combines = Op;
  using L = ScanLanes<Op, Acc>;
  using Values = typename L::Values;
  using Node = std::conditional_t<Across, Values, Acc>;  // of the tree above vectors
  static constexpr int kLeavesAtOnce = Across ? 1 : L::kWidth;
  static constexpr int kGroups = kLeaves / kLeavesAtOnce;

  // By group of leaves, those of a step before those of the next.
  Values prefix[kSteps * kGroups];

  // How many groups have some of n elements.
  static constexpr int groups_of(int64_t n) { return static_cast<int>((n + kLeavesAtOnce - 1) / kLeavesAtOnce); }

  // Of the first n elements, at least one: element(group) gives those of a group, numbered as prefixes are, and
  // identities where there is none. `left` are `count` subtrees left of the chunk, the nearest first.
  template <class Element>
  TR_HD void scan(int64_t n, const Element& element, const Values* left, int count) {
    const int groups = groups_of(n);
    for (int g = 0; g < kGroups && g < groups; ++g) climb(g, groups, element);
    for (int step = 0, first = 0; first < groups; ++step, first += kGroups) {
      const int of_step = groups - first < kGroups ? groups - first : kGroups;
      combine_nodes(node_[step], of_step);
      if (step == 0) {
        meet_siblings<true>(prefix, node_[step], nullptr, of_step, left, count);
      } else {
        meet_siblings<false>(prefix + first, node_[step], node_[step - 1], of_step, left, count);
      }
    }
  }

  // The whole chunk's value, behind scan().
  Node total() const { return node_[kSteps - 1][place_of(kLevels)]; }

  // The same without prefixes.
  template <class Element>
  TR_HD Node total_of(const Element& element) {
    Node* const node = node_[kSteps - 1];
    for (int g = 0; g < kGroups; ++g) {
      Values leaf = element(g);
      for (int i = g + kGroups; i < kSteps * kGroups; i += kGroups) leaf = Op::combine(leaf, element(i));
      for_levels<kInVector>([&](auto level) { leaf = Op::combine(leaf, L::template exchanged<level>(leaf)); });
      node[g] = node_of(leaf);
    }
    combine_nodes(node, kGroups);
    return total();
  }

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
  // Groups that share their siblings above.
  static constexpr int kLogAtOnce = kLevels < 3 ? kLevels : 3, kAtOnce = 1 << kLogAtOnce, kAbove = kLevels - kLogAtOnce;

  // Where a level's nodes begin.
  static constexpr int place_of(int level) { return 2 * kGroups - (2 * kGroups >> level); }

  static TR_HD Node node_of(const Values& v) {
    if constexpr (Across) {
      return NodesOf<Op>::settled(v);
    } else {
      return NodesOf<Op>::settled(L::first(v));
    }
  }

  // f(level) of the first levels, as constants.
  template <int Levels, class F>
  static TR_HD void for_levels(const F& f) {
    if constexpr (Levels > 0) {
      for_levels<Levels - 1>(f);
      f(std::integral_constant<int, Levels - 1>());
    }
  }

  // The levels within a vector: those of group g, of one step after the other. Every lane of a node becomes the whole
  // vector's.
  template <class Element>
  TR_HD void climb(int g, int groups, const Element& element) {
    Values leaf = L::all(Op::template identity<Acc>()), before[kInVector + 1];
    for_levels<kInVector>([&](auto level) { before[level] = leaf; });
    for (int step = 0, i = g; i < groups; ++step, i += kGroups) {
      leaf = step == 0 ? element(i) : Op::combine(leaf, element(i));
      Values node = leaf, p = leaf;
      for_levels<kInVector>([&](auto level) {
        const Values now = L::template exchanged<level>(node);
        p = Op::combine(L::template siblings<level>(now, before[level]), p);
        before[level] = now;
        node = Op::combine(node, now);
      });
      prefix[i] = p;
      node_[step][g] = node_of(node);
    }
  }

  // The nodes above, of a step, as far as they are whole.
  static TR_HD void combine_nodes(Node* node, int groups) {
    for_levels<kLevels>([&](auto level) {
      const Node* const x = node + place_of(level);
      Node* const y = node + place_of(level + 1);
      for (int i = 0; i < groups >> (level + 1); ++i) y[i] = NodesOf<Op>::settled(Op::combine(x[2 * i], x[2 * i + 1]));
    });
  }

  // The levels above, of the prefixes of a step whose nodes are `now`, and were `before`. In the first step, nothing
  // stands on the right.
  template <bool First>
  static TR_HD void meet_siblings(Values* prefixes, const Node* now, const Node* before, int groups, const Values* left,
                                  int count) {
    const auto has_sibling = [](int place) { return !First || place % 2 != 0; };
    // Of node number i + place of a level, where i is even.
    const auto sibling_of = [&](int level, int i, int place) {
      return (place % 2 == 0 ? before : now) + place_of(level) + i + (place ^ 1);
    };
    for (int g = 0; g < groups; g += kAtOnce) {
      Values near[kLogAtOnce + 1], above[kAbove + 1] = {};  // in registers, as each serves several groups
      int found = 0;
      for_levels<kAbove>([&](auto k) {
        const int level = kLogAtOnce + k;
        if (has_sibling(g >> level)) above[First ? found : k] = spread(*sibling_of(level, 0, g >> level)), ++found;
      });
      TR_UNROLL
      for (int i = 0; i < kAtOnce; ++i) {
        if (g + i >= groups) break;
        Values p = prefixes[g + i];
        for_levels<kLogAtOnce>([&](auto level) {
          if (!has_sibling(i >> level)) return;
          if (i % (1 << level) == 0) near[level] = spread(*sibling_of(level, g >> level, i >> level));
          p = Op::combine(near[level], p);
        });
        for_levels<kAbove>([&](auto k) {
          if (!First || k < found) p = Op::combine(above[k], p);
        });
        for (int k = 0; k < count; ++k) p = Op::combine(left[k], p);
        prefixes[g + i] = p;
      }
    }
  }

  Node node_[kSteps][2 * kGroups];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
