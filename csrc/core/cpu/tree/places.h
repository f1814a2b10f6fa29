// Where extremes of contiguous elements stand.
#pragma once

#include "core/cpu/tree/chunks.h"
#include "core/cpu/tree/rest.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Where the first of the extreme elements of n contiguous ones stands, counted from x, in every out[subtree]: vectors
// find the extreme of each block, and that of all is then looked for where it is.
template <class Op, class T, class Acc>
void place_of_extreme(const char* bytes, int64_t n, Acc* out) {
  using Word = word_of<Acc>;
  using Extreme = typename Op::Extreme;
  constexpr int64_t kBlockChunks = 4;
  Acc found = Op::template identity<Acc>();
  for (int64_t k = 0, size; k < n; k += size) {  // of equal ones, the first block's
    Word extreme[kSubtrees];
    const char* const block = bytes + k * sizeof(T);
    const int64_t whole = smaller((n - k) / kChunk, kBlockChunks);
    size = whole > 0 ? whole * kChunk : n - k;
    if (whole > 0) chunks<Extreme, T, Word>(block, whole, Ahead::Nothing, extreme);
    if (whole == 0) rest<Extreme, T, Word>(block, size, Ahead::Nothing, extreme);
    found = Op::combine(found, Op::lift(tree<Extreme>(extreme), k));
  }
  constexpr int64_t kAtOnce = 64;
  const T* const x = reinterpret_cast<const T*>(bytes);
  const auto is_found = [&](int64_t i) { return Op::lift(element<Word>(x[i]), 0).key == found.key; };
  int64_t place = Op::finish(found, 0);
  for (bool any = false; place + kAtOnce <= n; place += kAtOnce) {
    for (int64_t i = place; i < place + kAtOnce; ++i) any |= is_found(i);
    if (any) break;
  }
  while (!is_found(place)) ++place;
  found = Op::lift(element<Word>(x[place]), place);
  for (int s = 0; s < kSubtrees; ++s) out[s] = found;
}

// Rows that vectors go through twice have as many elements at least.
constexpr int64_t kFewestOfPlace = 16;

// The keys that lift() makes of numbers. By vectors, as GCC 12 makes branches of it with AVX2.
template <class Op, class V>
TR_HD auto keys_of(V x) {
  using Keys = decltype(x < x);
  using Key = std::decay_t<decltype(Keys{}[0])>;
  if constexpr (std::is_integral<std::decay_t<decltype(V{}[0])>>::value) {
    return Op::mirrored ? ~x : x;
  } else {
    const V number = (Op::mirrored ? -x : x) + 0;
    const Keys key = ordered_key(reinterpret_cast<Keys>(number));
    return x == x ? key : Keys{} + std::numeric_limits<Key>::max();
  }
}

// f(a lane, one of another group of lanes) in every lane: of all lanes.
template <int Distance, class V, class F, int... I>
TR_HD V over_lanes(V v, const F& f, std::integer_sequence<int, I...> lanes) {
  if constexpr (Distance < static_cast<int>(sizeof...(I))) {
    return over_lanes<2 * Distance>(f(v, TR_SHUFFLE(v, v, I ^ Distance)), f, lanes);
  } else {
    return v;
  }
}

// Where the first extreme element of each of `count` rows of 2^levels contiguous elements stands, kFewestOfPlace at
// least: the largest key, and the least place that has it.
template <class Op, class T, class Acc>
void places_of_extremes(const char* bytes, int levels, int64_t count, Acc* out) {
  using Word = word_of<Acc>;
  using Key = typename Acc::Key;
  constexpr std::make_integer_sequence<int, kLanes<Key>> lanes{};
  constexpr Key kBeyond = kLeaves;
  static_assert(kFewestOfPlace % kLanes<Key> == 0, "whole vectors");
  const int64_t n = int64_t{1} << levels;
  Vector<Key> first;
  for (int lane = 0; lane < kLanes<Key>; ++lane) first[lane] = lane;
  for (int64_t row = 0; row < count; ++row, bytes += n * static_cast<int64_t>(sizeof(T))) {
    Word number[kLeaves];
    Key key[kLeaves];
    convert<T, Word>(bytes, 1, n, number);
    for (int64_t i = 0; i < n; i += kLanes<Key>) {
      const Vector<Key> keys = keys_of<Op>(load(number + i));
      __builtin_memcpy(key + i, &keys, sizeof(keys));
    }
    Vector<Key> largest = load(key), place = kBeyond - Vector<Key>{}, at = first;
    for (int64_t i = kLanes<Key>; i < n; i += kLanes<Key>) {
      const auto v = load(key + i);
      largest = v > largest ? v : largest;
    }
    largest = over_lanes<1>(largest, [](auto a, auto b) { return a > b ? a : b; }, lanes);
    for (int64_t i = 0; i < n; i += kLanes<Key>, at += kLanes<Key>) {
      const auto here = load(key + i) == largest ? at : kBeyond - Vector<Key>{};
      place = here < place ? here : place;
    }
    place = over_lanes<1>(place, [](auto a, auto b) { return a < b ? a : b; }, lanes);
    out[row] = Op::lift(number[place[0]], place[0]);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
