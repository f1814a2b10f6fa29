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
  using Extreme = std::conditional_t<Op::mirrored, Min, Max>;
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

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
