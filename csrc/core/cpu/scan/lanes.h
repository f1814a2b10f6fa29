// What a scan's loops combine: a vector of lanes, or where an instruction set has none, a lane.
#pragma once

#include "core/cpu/simd/lanes.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Neighbouring leaves of a row, a lane each, or neighbouring rows.
template <class Op, class Acc, bool Vectors = has_vectors<Op, Acc>>
struct ScanLanes {
  static constexpr int kWidth = kLanes<Acc>;
  using Values = Lanes<Op, Acc>;
  using Word = Vector<word_of<Acc>>;
  static constexpr std::make_integer_sequence<int, kWidth> kAll{};

  static TR_HD Values lifted(const word_of<Acc>* x) { return lift<Op>(load<word_of<Acc>>(x)); }
  static TR_HD Values all(const Acc& value) { return in_all_lanes<Op>(value); }
  static TR_HD Acc first(const Values& v) { return in_first_lane<Op, Acc>(v); }
  static TR_HD void store(const Values& v, Acc* out) { store_lanes<Op>(v, out); }

  // Groups of 2^Level lanes and their neighbours change places.
  template <int Level>
  static TR_HD Values exchanged(const Values& v) {
    return each_word<Word>(v, v, [](Word x, Word) { return exchange_in<Level>(x, kAll); });
  }
  // The lanes of `left` that stand on the right of such a pair, and those of `right` that stand on the left.
  template <int Level>
  static TR_HD Values siblings(const Values& left, const Values& right) {
    return each_word<Word>(left, right, [](Word x, Word y) { return siblings_in<Level>(x, y, kAll); });
  }

 private:
  template <int Level, int... I>
  static TR_HD Word exchange_in(Word x, std::integer_sequence<int, I...>) {
    return TR_SHUFFLE(x, x, I ^ (1 << Level));
  }
  template <int Level, int... I>
  static TR_HD Word siblings_in(Word x, Word y, std::integer_sequence<int, I...>) {
    return TR_SHUFFLE(x, y, ((I >> Level) & 1 ? I : I + kWidth));
  }
};

template <class Op, class Acc>
struct ScanLanes<Op, Acc, false> {
  static constexpr int kWidth = 1;
  using Values = Acc;

  static TR_HD Values lifted(const number_of<Acc>* x) { return lift<Op>(*x); }
  static TR_HD Values all(const Acc& value) { return value; }
  static TR_HD Acc first(const Values& v) { return v; }
  static TR_HD void store(const Values& v, Acc* out) { *out = v; }
  template <int Level>
  static TR_HD Values exchanged(const Values& v) {
    return v;
  }
  template <int Level>
  static TR_HD Values siblings(const Values& left, const Values&) {
    return left;
  }
};

// What becomes of a node of the tree before siblings are combined with it.
template <class Op>
struct NodesOf {
  template <class V>
  static TR_HD V settled(const V& node) {
    return node;
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
