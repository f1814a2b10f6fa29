// Rows: a warp reduces a chunk, a CTA an aligned power-of-two range of chunks of one or several outputs.
#pragma once

#include "core/cuda/block/cluster.cuh"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/tree.cuh"
#include "core/cuda/lane/meeting.cuh"
#include "core/cuda/rows/chunk.cuh"
#include "core/cuda/rows/chunk_unaligned.cuh"
#include "core/cuda/rows/chunk_unordered.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

// Registers for as many CTAs per SM: two tensors are twice the loads, types of eight bytes have 16 loads in a chunk,
// element-wise reading has 32, and a chunk that lies in two segments is read by elements too.
template <class O, class In, class Acc, Access A>
constexpr int rows_ctas_at_once =
    has_partner<O>         ? 2
    : A == Access::Strided ? (sizeof(Acc) >= 8 ? 2 : tuning::kRowsElementwiseCtasAtOnce)
    : sizeof(In) == 8      ? 2
    : A == Access::UnalignedSegmented || A == Access::Unordered ? tuning::kRowsUnalignedSegmentedCtasAtOnce
                                                                : tuning::kRowsCtasAtOnce;

template <class O, class In, class Acc, Access A>
constexpr int rows_most_warps = kernels::rows_most_warps(types_of_instance<O, In, Acc>(), A);

template <Access A>
constexpr bool rows_interleave = A == Access::Strided || A == Access::Unordered || A == Access::Segmented;

template <class O, class In, class Acc, Access A>
constexpr int rows_chunks_at_once = kernels::rows_chunks_at_once(types_of_instance<O, In, Acc>(), A);

template <class O, class In, class Acc, Access A, int AtOnce>
__global__ void __launch_bounds__(rows_most_warps<O, In, Acc, A>* kWarp,
                                  rows_ctas_at_once<O, In, Acc, A>* tuning::kRowsWarps / rows_most_warps<O, In, Acc, A>)
    rows(const __grid_constant__ RowsArgs<O, Acc, A> a) {
  using Part = Chunk<O, In, Acc, A>;
  constexpr int kSets = Part::kSets;
  constexpr int kLogAtOnce = AtOnce == 1 ? 0 : AtOnce == 2 ? 1 : 2;
  constexpr bool kMayBeFew = A == Access::Unaligned && AtOnce == 1;
  extern __shared__ __align__(16) unsigned char shared[];
  Acc* slots = reinterpret_cast<Acc*>(shared);

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  uint32_t tile = a.units.quotient(blockIdx.x), unit = blockIdx.x - tile * a.units.divisor;
  if (rows_interleave<A> && a.interleaved) {
    const uint32_t of_unit = unit;
    unit = tile;
    tile = of_unit;
  }
  const int64_t row0 = static_cast<int64_t>(tile) * a.rows_per_cta;
  const int rows_here = static_cast<int>(min(static_cast<int64_t>(a.rows_per_cta), a.outputs - row0));
  const int chunks = rows_here << a.log_slots, in_row = (1 << a.log_slots) - 1;
  const int64_t chunk0 = static_cast<int64_t>(unit) << a.log_slots;
  const bool joined = AtOnce == 1 || a.log_slots >= kLogAtOnce;            // the chunks of a step belong to one row
  const int log_values = joined ? a.log_slots - kLogAtOnce : a.log_slots;  // of a row, in shared memory
  const int steps_of_row = a.steps.divisor;
  const int steps = joined ? rows_here * steps_of_row : (chunks + AtOnce - 1) >> kLogAtOnce;

  if (a.sink.cluster) arrive_in_cluster();
  if (!a.sink.atomic) wait_for_previous_kernel();
#pragma unroll 1
  for (int step = warp; step < steps; step += warps) {
    bool few = false;
    std::conditional_t<kMayBeFew, FewElements<O, In, Acc>, NoElements> elements;
    Part part[AtOnce];
    Acc set[AtOnce * kSets];
    const int slot0 = step << kLogAtOnce;
    const int row_of_step = joined ? a.steps.quotient(step) : 0, step_of_row = step - row_of_step * steps_of_row;
    const auto first_of = [&](int u) {  // element of chunk u of the step
      return joined ? (chunk0 + (step_of_row << kLogAtOnce) + u) * kChunk : (chunk0 + ((slot0 + u) & in_row)) * kChunk;
    };
    if (joined) {
      const Place<O> place = a.kept.in(row0 + row_of_step);
      const int64_t first = (chunk0 + (step_of_row << kLogAtOnce)) * kChunk;
      if constexpr (kMayBeFew) {
        few = a.n - first <= kWarp;
        if (few) elements.load(a, place, first, a.n - first);
      }
#pragma unroll
      for (int u = 0; u < AtOnce; ++u) {
        if (!few) part[u].load(a, place, first + u * kChunk, a.n - first - u * kChunk);
      }
    } else {
#pragma unroll
      for (int u = 0; u < AtOnce; ++u) {
        const int slot = slot0 + u;
        const int64_t first = (chunk0 + (slot & in_row)) * kChunk;
        part[u].load(a, a.kept.in(row0 + (slot >> a.log_slots)), first, slot < chunks ? a.n - first : 0);
      }
    }
    a.sink.results ? allow_next_kernel_if_small() : allow_next_kernel();
#pragma unroll
    for (int u = 0; u < AtOnce; ++u) {
      if (!few) part[u].reduce_leaves(a.source, first_of(u), a.n, set + u * kSets);
    }
    if constexpr (kMayBeFew) {
      if (few) set[0] = elements.reduce_leaves(a.source);
    }
    if (joined) {
      if constexpr (order_free<O, Acc>) {
#pragma unroll
        for (int i = 1; i < AtOnce * kSets; ++i) set[0] = O::combine(set[0], set[i]);
        if constexpr (adds_packed<O, In>) {
          set[0] = static_cast<int32_t>(sum_across_warp(static_cast<uint32_t>(set[0])));  // of four chunks at most
        } else {
          set[0] = tree_of_warp<O, kLogAtOnce + 5>(set[0]);  // of 32 elements a chunk
        }
      } else {
        set[0] = tree_of_sets<O, AtOnce * kSets>(set);
      }
      Acc* values = slots + (row_of_step << log_values);
      if (lane == 0) values[step_of_row] = set[0];
      if (step_of_row + 1 == steps_of_row) {  // what is missing of the row up to a power of two
        for (int i = steps_of_row + lane; i < 1 << log_values; i += kWarp) values[i] = O::template identity<Acc>();
      }
    } else {
#pragma unroll
      for (int u = 0; u < AtOnce; ++u) {
        const Acc v = tree_of_sets<O, kSets>(set + u * kSets);
        if (lane == 0 && slot0 + u < chunks) slots[slot0 + u] = v;
      }
    }
  }
  Acc v;
  const int log_lanes = tree_over_slots<O>(slots, rows_here << log_values, log_values, v), r = lane >> log_lanes;
  if (a.sink.cluster) {  // split rows come one to a CTA
    if (warp > 0) return;
    __shared__ Acc of_unit[kMostUnitsOfCluster];
    wait_for_cluster();
    if (lane == 0) hand_to_first(of_unit + unit, v);
    arrive_in_cluster();
    if (unit > 0) return;
    wait_for_cluster();
    v = tree_of_warp<O>(lane < a.sink.units ? of_unit[lane] : O::template identity<Acc>());
  }
  if (warp > 0 || (lane & ((1 << log_lanes) - 1)) != 0 || r >= rows_here) return;
  const int64_t row = row0 + r;
  if (a.sink.atomic) wait_to_add();
  deliver<O, LikelyOut<O, In, Acc>>(a.sink, place_of<A>(a.sink, a.kept, unit, row), v);
}

}  // namespace torch_reduce::cuda
