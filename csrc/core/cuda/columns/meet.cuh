// How the batches of columns meet: lanes that have the same columns in registers, a warp's batches in shared memory.
#pragma once

#include "core/cuda/columns/loads.cuh"

namespace torch_reduce::cuda {

// A lane's columns in shared memory.
template <class Acc, int V>
struct alignas(alignment_of_values<Acc, V>) PackedColumns {
  Acc e[V];
};
template <class O, class Acc, int V>
__device__ __forceinline__ Columns<Acc, V> combine_columns(const Acc* before, Columns<Acc, V> c) {
  const auto b = *reinterpret_cast<const PackedColumns<Acc, V>*>(before);
#pragma unroll
  for (int e = 0; e < V; ++e) c.e[e] = O::combine(b.e[e], c.e[e]);
  return c;
}
template <class Acc, int V>
__device__ __forceinline__ Columns<Acc, V> store_columns(Acc* to, const Columns<Acc, V>& c) {
  PackedColumns<Acc, V> now;
#pragma unroll
  for (int e = 0; e < V; ++e) now.e[e] = c.e[e];
  *reinterpret_cast<PackedColumns<Acc, V>*>(to) = now;
  return c;
}

// A warp's tree over the batches it has taken, in shared memory: registers are for the loads. `level` is the calling
// thread's place in the first of the levels, which are `width` apart. Returns what the last batch completes.
template <class O, class Acc, int V>
__device__ __forceinline__ Columns<Acc, V> push_batch(Acc* level, int width, uint32_t batch, Columns<Acc, V> c) {
  for (; batch & 1; batch >>= 1, level += width) c = combine_columns<O>(level, c);
  return store_columns(level, c);
}

// The same of packed columns, four at a time, as all sixteen in 64 bits would be 32 registers.
template <class O, class In, class Acc>
__device__ __forceinline__ void push_packed(Acc* level, int width, uint32_t batch,
                                            const Columns<uint32_t, kPackedWords>& sums, int elements) {
#pragma unroll
  for (int i = 0; i < kPackedWords; i += 2, level += 4) {
    int sum[4];
    unpack<In>(sums.e[i], sums.e[i + 1], elements, sum);
    push_batch<O>(level, width, batch, Columns<Acc, 4>{{sum[0], sum[1], sum[2], sum[3]}});
  }
}

// What a lane is left with of its columns where it shares them out with those that have the same ones: `kept` of them
// from `first` on, if they are not others' too.
struct Share {
  int kept, first;
  bool owns;
};
template <int V>
__device__ __forceinline__ Share share_of(int lane, int log_across) {
  Share share{V, 0, true};
#pragma unroll
  for (int bit = log_across; bit < 5; ++bit) {
    const bool upper = ((lane >> bit) & 1) != 0;
    if (share.kept == 1) {
      share.owns = share.owns && !upper;
    } else {
      share.kept /= 2;
      share.first += upper ? share.kept : 0;
    }
  }
  return share;
}

// The tree across the lanes that have the same columns: each hands half of what it has to its neighbour, as long as it
// has several.
template <class Op, class Acc, int V>
__device__ __forceinline__ void share_out(Op&& op, Columns<Acc, V>& c, int across) {
  const int lane = threadIdx.x % kWarp;
  int mask = across;
#pragma unroll
  for (int half = V / 2; half > 0; half /= 2, mask *= 2) {
    if (mask >= kWarp) return;
    const bool upper = (lane & mask) != 0;
#pragma unroll
    for (int e = 0; e < half; ++e) {
      const Acc mine = upper ? c.e[e + half] : c.e[e], other = upper ? c.e[e] : c.e[e + half];
      c.e[e] = op.combine(mine, exchange(other, mask));
    }
  }
  for (; mask < kWarp; mask *= 2) c.e[0] = op.combine(c.e[0], exchange(c.e[0], mask));
}

// push_batch() of the first `kept` columns, at most W.
template <class O, int W, class Acc, int V>
__device__ __forceinline__ void push_kept(Acc* level, int width, uint32_t batch, int kept, Columns<Acc, V>& c) {
  if (kept == W) {
    Columns<Acc, W> first;
#pragma unroll
    for (int e = 0; e < W; ++e) first.e[e] = c.e[e];
    first = push_batch<O>(level, width, batch, first);
#pragma unroll
    for (int e = 0; e < W; ++e) c.e[e] = first.e[e];
  } else if constexpr (W > 1) {
    push_kept<O, W / 2>(level, width, batch, kept, c);
  }
}

}  // namespace torch_reduce::cuda
