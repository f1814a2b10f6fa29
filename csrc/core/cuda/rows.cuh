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
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output
  int log_slots, rows_per_cta;
  KeptIndex<A> kept;
  Sink<Acc> sink;
  Segments segments;  // Segmented: of vectors
  ReducedIndex<A> reduced;
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

// Sums of integers of one or two bytes, four or two to an instruction, in 32 bits: a chunk's fit by far.
template <class In>
constexpr bool sums_packed = !std::is_same<In, Half>::value && !std::is_same<In, BFloat16>::value && sizeof(In) <= 2;

template <class In>
__device__ __forceinline__ int add_packed(const uint4& v, int sum) {
  const uint32_t word[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (const uint32_t w : word) {
    if constexpr (std::is_same<In, Bool>::value) {
      const uint32_t set =
          (((w & 0x7f7f7f7fu) + 0x7f7f7f7fu) | w) & 0x80808080u;  // 128 for every byte that is not zero
      sum = static_cast<int>(__dp4a(set, 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same<In, uint8_t>::value) {
      sum = static_cast<int>(__dp4a(w, 0x01010101u, static_cast<uint32_t>(sum)));
    } else if constexpr (std::is_same<In, int8_t>::value) {
      sum = __dp4a(static_cast<int>(w), 0x01010101, sum);
    } else {
      sum = __dp2a_lo(static_cast<int>(w), 0x01010101, sum);
    }
  }
  return sum;
}
template <class In>
__device__ __forceinline__ int packed_total(int sum) {
  return std::is_same<In, Bool>::value ? sum >> 7 : sum;
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
    if constexpr (A == Access::Contiguous) {
      load_from(row + first + mine, left, [](int i) { return i * kWarp * V; });
    } else {
      // Most chunks lie in one segment.
      const uint32_t vector = static_cast<uint32_t>(first) / V, segment = a.segments.size.quotient(vector);
      const uint32_t in_segment = vector - segment * a.segments.size.divisor;
      if (in_segment + kChunk / V <= a.segments.size.divisor) {
        load_from(row + segment * a.segments.outer + in_segment * V + mine, left, [](int i) { return i * kWarp * V; });
      } else {
        load_from(row, left, [&](int i) { return a.segments.at(vector + i * kWarp + threadIdx.x % kWarp); });
      }
    }
  }

  template <class At>
  __device__ __forceinline__ void load_from(const In* row, int64_t left, At at) {
    if (left >= kChunk) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) part[i] = load16(row + at(i));
      return;
    }
    const int mine = (threadIdx.x % kWarp) * V;
    const int count = left < 0 ? 0 : static_cast<int>(left), whole = count / V * V;
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      part[i] = identity_vector<In, O>();
      if (i * kWarp * V + mine < whole) part[i] = load16(row + at(i));
    }
    // The vector that crosses the row's end, element by element.
    const int crossing = whole / (kWarp * V);
    if (whole == count || mine != whole % (kWarp * V)) return;
    const In* begin = row + at(crossing);
    auto v = bit_cast<Vector<In>>(identity_vector<In, O>());
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (whole + e < count) v.e[e] = begin[e];
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      if (i == crossing) part[i] = bit_cast<uint4>(v);
    }
  }

  // The lane's leaves of each set, combined.
  __device__ __forceinline__ void reduce_leaves(Acc* set) const {
    if constexpr (std::is_same<O, Sum>::value && sums_packed<In>) {
      int sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum = add_packed<In>(part[i], sum);
      set[0] = packed_total<In>(sum);
      return;
    }
    constexpr int kLeavesPerSet = V < 8 ? V : 8;
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
    const auto read = [&](int64_t at) { return torch_reduce::cuda::load<O, In, Acc>(a.source, at); };
    if (a.reduced.dims <= 1) {  // one address, and steps from it
      const int64_t stride = a.reduced.dim[0].stride, from = place + (first + lane) * stride;
      if (left >= kChunk) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) part[i] = read(from + i * kWarp * stride);
        return;
      }
      const int count = left < 0 ? 0 : static_cast<int>(left);
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        part[i] = O::template identity<Acc>();
        if (i * kWarp + lane < count) part[i] = read(from + i * kWarp * stride);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int element = i * kWarp + lane;
      part[i] = element < left ? read(place + a.reduced.at(first + element)) : O::template identity<Acc>();
    }
  }

  __device__ __forceinline__ void reduce_leaves(Acc* set) const {
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      set[s] = part[s];
#pragma unroll
      for (int step = 1; step < kSteps; ++step) set[s] = O::combine(set[s], part[s + step * kSets]);
    }
  }
};

// The trees over groups of 2^log_group of `count` values in shared memory, by the whole CTA. Returns the log of the
// lanes that a group has in the first warp, of which the first has the result in v. More than a warp of values are one
// group.
template <class O, class Acc>
__device__ __forceinline__ int tree_over_slots(Acc* slots, int count, int log_group, Acc& v) {
  __syncthreads();
#pragma unroll 1
  for (; count > kWarp; count /= 2, --log_group) {
    // In pieces of the CTA: what a piece writes, no later piece reads.
#pragma unroll 1
    for (int i = 0; i < count / 2; i += blockDim.x) {
      const int mine = i + threadIdx.x;
      const Acc pair = mine < count / 2 ? O::combine(slots[2 * mine], slots[2 * mine + 1]) : Acc(0);
      __syncthreads();
      if (mine < count / 2) slots[mine] = pair;
    }
    __syncthreads();
  }
  const int lane = threadIdx.x % kWarp;
  v = lane < count ? slots[lane] : O::template identity<Acc>();
#pragma unroll
  for (int level = 0; level < 5; ++level) {
    if (level >= log_group) break;
    v = O::combine(v, exchange(v, 1 << level));
  }
  return log_group;
}

// Registers for as many CTAs per SM: types of eight bytes have 16 loads in a chunk, and element-wise reading has 32.
template <class In, class Acc, Access A>
constexpr int rows_ctas_at_once = A == Access::Strided ? (sizeof(Acc) == 8 ? 2 : tuning::kRowsElementwiseCtasAtOnce)
                                  : sizeof(In) == 8    ? 2
                                                       : tuning::kRowsCtasAtOnce;

template <class O, class In, class Acc, Access A>
__global__ void __launch_bounds__(tuning::kRowsWarps* kWarp, rows_ctas_at_once<In, Acc, A>)
    rows(const __grid_constant__ RowsArgs<Acc, A> a) {
  using Part = Chunk<O, In, Acc, A>;
  constexpr int kSets = Part::kSets;
  // A step: what a warp reads before it reduces anything. Its chunks are neighbours.
  constexpr int kAtOnce = Part::kLoads < tuning::kLoadsInFlight ? tuning::kLoadsInFlight / Part::kLoads : 1;
  constexpr int kLogAtOnce = kAtOnce == 1 ? 0 : kAtOnce == 2 ? 1 : 2;
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const uint32_t tile = a.units.quotient(blockIdx.x), unit = blockIdx.x - tile * a.units.divisor;
  const int64_t row0 = static_cast<int64_t>(tile) * a.rows_per_cta;
  const int rows_here = static_cast<int>(min(static_cast<int64_t>(a.rows_per_cta), a.outputs - row0));
  const int chunks = rows_here << a.log_slots, in_row = (1 << a.log_slots) - 1;
  const int64_t chunk0 = static_cast<int64_t>(unit) << a.log_slots;
  const bool joined = kAtOnce == 1 || a.log_slots >= kLogAtOnce;           // the chunks of a step belong to one row
  const int log_values = joined ? a.log_slots - kLogAtOnce : a.log_slots;  // of a row, in shared memory

  wait_for_previous_kernel();
#pragma unroll 1
  for (int step = warp; step << kLogAtOnce < chunks; step += warps) {
    Part part[kAtOnce];
    Acc set[kAtOnce * kSets];
    const int slot0 = step << kLogAtOnce;
    if (joined) {
      const int64_t place = a.kept.in(row0 + (slot0 >> a.log_slots)), first = (chunk0 + (slot0 & in_row)) * kChunk;
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) part[u].load(a, place, first + u * kChunk, a.n - first - u * kChunk);
    } else {
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const int slot = slot0 + u;
        const int64_t first = (chunk0 + (slot & in_row)) * kChunk;
        part[u].load(a, a.kept.in(row0 + (slot >> a.log_slots)), first, slot < chunks ? a.n - first : 0);
      }
    }
    a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) part[u].reduce_leaves(set + u * kSets);
    if (joined) {
      if constexpr (order_free<O, Acc>) {
#pragma unroll
        for (int i = 1; i < kAtOnce * kSets; ++i) set[0] = O::combine(set[0], set[i]);
        set[0] = tree_across_warp<O>(set[0]);
      } else {
        set[0] = tree_across_warp_and_sets<O, kAtOnce * kSets>(set);
      }
      if (lane == 0) slots[step] = set[0];
    } else {
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) {
        const Acc v = tree_across_warp_and_sets<O, kSets>(set + u * kSets);
        if (lane == 0 && slot0 + u < chunks) slots[slot0 + u] = v;
      }
    }
  }
  Acc v;
  const int log_lanes = tree_over_slots<O>(slots, rows_here << log_values, log_values, v), r = lane >> log_lanes;
  if (warp > 0 || (lane & ((1 << log_lanes) - 1)) != 0 || r >= rows_here) return;
  const int64_t row = row0 + r;
  deliver<O, LikelyOut<In, Acc>>(a.sink, place_of<A>(a.sink, a.kept, unit, row), v);
  if constexpr (std::is_same<O, Sum>::value) {
    if (a.sink.tickets == nullptr || !takes_last_ticket(a.sink, tile)) return;  // split rows come one to a CTA
    int64_t place = row * a.sink.out_stride;
    if constexpr (A != Access::Contiguous) place = a.kept.out(row);
    write<O, LikelyOut<In, Acc>>(a.sink.out, place, a.sink.out_type, a.sink.mean, a.n,
                                 __ldcg(static_cast<const Acc*>(a.sink.to) + row));
  }
}

}  // namespace torch_reduce::cuda
