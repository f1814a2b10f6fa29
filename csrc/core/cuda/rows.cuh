// Rows: a warp reduces a chunk, a CTA an aligned power-of-two range of chunks of one or several outputs.
//
// Which lane holds which leaves, with V elements per 16-byte load (V of 2, 4, 8): load i of a chunk covers
// elements 32*V*i + V*lane, so a lane holds V neighbouring leaves of each of 256 / (32*V) sets, and the loads of
// one set come at the four steps. A row that is read an element at a time has V = 1 and eight sets. One-byte types
// read 512 elements at once; they are integers, for which any order gives the same bits.
#pragma once

#include "../order.h"
#include "../tuning.h"
#include "index.cuh"
#include "sink.cuh"

namespace torch_reduce::cuda {

template <class Acc, Access A>
struct RowsArgs {
  Source source;
  Sink<Acc> sink;
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output
  uint32_t passes;
  int log_slots, rows_per_cta;
  Segments segments;  // Segmented: of vectors
  KeptIndex<kept_room(A)> kept;
  ReducedIndex<reduced_room(A)> reduced;
};

template <class In, class O>
__device__ __forceinline__ In identity_element() {
  if constexpr (std::is_same<In, Half>::value || std::is_same<In, BFloat16>::value) {
    return Narrow<In, float>::from(O::template identity<float>());
  } else if constexpr (std::is_same<In, Bool>::value) {
    return {static_cast<uint8_t>(std::is_same<O, Prod>::value || std::is_same<O, Min>::value)};
  } else {
    return O::template identity<In>();
  }
}

template <class In, class O>
__device__ __forceinline__ uint4 identity_vector() {
  Vector<In> v;
#pragma unroll
  for (auto& e : v.e) e = identity_element<In, O>();
  return bit_cast<uint4>(v);
}

// The tree over a chunk's sets of leaves, each lane holding its part of every set.
template <class O, class Acc, int Sets>
__device__ __forceinline__ Acc tree_across_warp_and_sets(const Acc (&set)[Sets]) {
  if constexpr (Sets == 1) {
    return tree_across_warp<O>(set[0]);
  } else {
    Acc pair[Sets / 2];
#pragma unroll
    for (int s = 0; s < Sets; s += 2) pair[s / 2] = tree_across_warp<O>(set[s], set[s + 1]);
    return tree<O>(pair);
  }
}

// One lane's part of a chunk, by 16-byte loads.
template <class O, class In, class Acc, Access A>
struct Chunk {
  static constexpr int V = vector_width<In>;
  static constexpr int kLoads = kChunk / (kWarp * V);
  static constexpr int kSets = kLoads >= kSteps ? kLoads / kSteps : 1;
  static_assert(kLoads >= kSteps || order_free<O, Acc>, "a load wider than the leaves needs a free order");
  uint4 part[kLoads];

  // The chunk from element `first` of the row at `place` on, `left` elements before the row's end.
  __device__ __forceinline__ void load(const RowsArgs<Acc, A>& a, int64_t place, int64_t first, int64_t left) {
    const In* row = static_cast<const In*>(a.source.data) + place;
    const int mine = (threadIdx.x % kWarp) * V;
    if constexpr (A == Access::Contiguous) row += first + mine;
    const uint32_t vector = A == Access::Segmented ? static_cast<uint32_t>(first + mine) / V : 0;
    auto at = [&](int i) {
      if constexpr (A == Access::Contiguous) {
        return row + i * kWarp * V;
      } else {
        return row + a.segments.at(vector + i * kWarp);
      }
    };
    if (left >= kChunk) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) part[i] = load16(at(i));
      return;
    }
    const int count = left < 0 ? 0 : static_cast<int>(left);
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int element = i * kWarp * V + mine;
      if (element + V <= count) {
        part[i] = load16(at(i));
      } else {
        auto v = bit_cast<Vector<In>>(identity_vector<In, O>());
#pragma unroll
        for (int e = 0; e < V; ++e) {
          if (element + e < count) v.e[e] = at(i)[e];
        }
        part[i] = bit_cast<uint4>(v);
      }
    }
  }

  __device__ __forceinline__ Acc reduce() const {
    constexpr int kLeavesPerSet = V < 8 ? V : 8;
    Acc set[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc leaf[kLeavesPerSet];
#pragma unroll
      for (int i = s; i < kLoads; i += kSets) {
        const auto v = bit_cast<Vector<In>>(part[i]);
#pragma unroll
        for (int e = 0; e < V; ++e) {
          const Acc x = widen<Acc>(v.e[e]);
          const bool begins = i == s && e < kLeavesPerSet;
          leaf[e % kLeavesPerSet] = begins ? x : O::combine(leaf[e % kLeavesPerSet], x);
        }
      }
      set[s] = tree<O>(leaf);
    }
    return tree_across_warp_and_sets<O>(set);
  }
};

// The same, an element at a time.
template <class O, class In, class Acc>
struct Chunk<O, In, Acc, Access::Strided> {
  static constexpr int kLoads = kChunk / kWarp;
  static constexpr int kSets = kLeaves / kWarp;
  Acc part[kLoads];

  __device__ __forceinline__ void load(const RowsArgs<Acc, Access::Strided>& a, int64_t place, int64_t first,
                                       int64_t left) {
    const int lane = threadIdx.x % kWarp;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int element = i * kWarp + lane;
      part[i] = element < left ? torch_reduce::cuda::load<O, In, Acc>(a.source, place + a.reduced.at(first + element))
                               : O::template identity<Acc>();
    }
  }

  __device__ __forceinline__ Acc reduce() const {
    Acc set[kSets];
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      Acc leaf = part[s];
#pragma unroll
      for (int step = 1; step < kSteps; ++step) leaf = O::combine(leaf, part[s + step * kSets]);
      set[s] = leaf;
    }
    return tree_across_warp_and_sets<O>(set);
  }
};

// The tree over 2^log_slots values in shared memory, by one warp; the result is in every lane.
template <class O, class Acc>
__device__ __forceinline__ Acc tree_over_slots(const Acc* slots, int log_slots) {
  const int lane = threadIdx.x % kWarp;
  const int lanes = log_slots < 5 ? 1 << log_slots : kWarp;
  const int each = (1 << log_slots) / lanes;
  Acc v = O::template identity<Acc>();
  if (lane < lanes) {
    v = slots[lane * each];
    if (each > 1) {
      Counter<O, Acc, 5> counter;
      counter.push(v);
      for (int i = 1; i < each; ++i) v = counter.push(slots[lane * each + i]);
    }
  }
  return tree_across_lanes<O>(v, 1, lanes);
}

// A Counter in shared memory, for what is pushed once a pass: registers are for the loads.
template <class O, class Acc>
__device__ __forceinline__ Acc push_pass(Acc* level, int stride, uint32_t pass, Acc v) {
  for (; pass & 1; pass >>= 1, level += stride) v = O::combine(*level, v);
  *level = v;
  return v;
}

// Registers for as many CTAs per SM: types of eight bytes have 16 loads in a chunk, and element-wise reading has 32.
template <class In, Access A>
constexpr int rows_ctas_at_once = A == Access::Strided ? 1
                                  : sizeof(In) == 8    ? 2
                                                       : tuning::kRowsCtasAtOnce;

template <class O, class In, class Acc, Access A>
__global__ void __launch_bounds__(tuning::kRowsWarps* kWarp, rows_ctas_at_once<In, A>)
    rows(const __grid_constant__ RowsArgs<Acc, A> a) {
  constexpr int kLoads = Chunk<O, In, Acc, A>::kLoads;
  constexpr int kAtOnce = kLoads < tuning::kLoadsInFlight ? tuning::kLoadsInFlight / kLoads : 1;
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const uint32_t tile = a.units.quotient(blockIdx.x), unit = blockIdx.x - tile * a.units.divisor;
  const int64_t row0 = static_cast<int64_t>(tile) * a.rows_per_cta;
  const int rows_here = static_cast<int>(min(static_cast<int64_t>(a.rows_per_cta), a.outputs - row0));
  const int count = rows_here << a.log_slots, in_row = (1 << a.log_slots) - 1;
  const bool whole = a.log_slots == 0 && a.passes == 1;  // each slot is its unit's whole result

#pragma unroll 1
  for (uint32_t pass = 0; pass < a.passes; ++pass) {
    const int64_t chunk0 = (static_cast<int64_t>(unit) * a.passes + pass) << a.log_slots;
#pragma unroll 1
    for (int slot0 = warp; slot0 < count; slot0 += warps * kAtOnce) {
      Chunk<O, In, Acc, A> chunk[kAtOnce];
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int slot = slot0 + u * warps;
        if (slot >= count) break;
        const int64_t first = (chunk0 + (slot & in_row)) * kChunk;
        chunk[u].load(a, a.kept.at(row0 + (slot >> a.log_slots)).in, first, a.n - first);
      }
      if (a.sink.finish == Finish::Partials) allow_next_kernel();
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int slot = slot0 + u * warps;
        if (slot >= count) break;
        const Acc v = chunk[u].reduce();
        if (lane > 0) continue;
        if (whole) {
          deliver<O>(a.sink, unit, row0 + slot, a.kept.at(row0 + slot).out, v);
        } else {
          slots[slot] = v;
        }
      }
    }
    if (whole) break;
    __syncthreads();
    for (int r = warp; r < rows_here; r += warps) {
      Acc v = tree_over_slots<O>(slots + (r << a.log_slots), a.log_slots);
      if (lane > 0) continue;
      if (a.passes > 1) {  // then a CTA has one row
        v = push_pass<O>(slots + count, 1, pass, v);
        if (pass + 1 < a.passes) continue;
      }
      deliver<O>(a.sink, unit, row0 + r, a.kept.at(row0 + r).out, v);
    }
    if (a.passes > 1) __syncthreads();
  }

  if constexpr (std::is_same<O, Sum>::value) {
    // Rows that are split come one to a CTA, and its first thread delivered this one's.
    if (threadIdx.x == 0 && has_tickets(a.sink) && takes_last_ticket(a.sink, tile)) {
      write<O>(a.sink, a.kept.at(row0).out, __ldcg(a.sink.accumulators + row0));
    }
  }
}

}  // namespace torch_reduce::cuda
