// Maps: a warp holds a chunk of a row, or several short rows. What the row's warps make of it meets in shared memory,
// that of several CTAs in a cluster or in scratch; then every lane maps the places that it holds.
#pragma once

#include "core/cuda/block/cluster.cuh"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/map/lane.cuh"
#include "core/cuda/map/meet.cuh"

namespace torch_reduce::cuda {

template <class M, class In, class Word>
__global__ void __launch_bounds__(tuning::kMapWarps* kWarp, map_ctas_at_once<M, In>)
    map(const __grid_constant__ MapArgs<Word> a) {
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  using Row = row_of_map<M, Word>;
  using Read = read_of_map<M, Word>;
  __shared__ Acc slots[M::sums][tuning::kMapWarps];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const uint32_t tile = a.units.quotient(blockIdx.x), unit = blockIdx.x - tile * a.units.divisor;
  const int warps_of_row = 1 << a.log_warps, lanes_of_row = 1 << a.log_lanes;
  const int64_t row = static_cast<int64_t>(tile) * a.rows_per_cta + (warp >> a.log_warps) * (kWarp >> a.log_lanes) +
                      (lane >> a.log_lanes);
  const bool exists = row < a.rows;
  const int64_t chunk = (static_cast<int64_t>(unit) << a.log_warps) + (warp & (warps_of_row - 1));
  const MapStrides place = a.index.at(exists ? row : 0);
  LanePlaces<M, In, Word> mine(chunk * kChunk + (lane & (lanes_of_row - 1)) * vector_width<In>, exists ? a.n : 0);

  if (a.meets == Meets::Cluster) arrive_in_cluster();
  wait_for_previous_kernel();
  mine.load(a, place);
  Read saved{};
  if constexpr (!std::is_empty<Read>::value) {
    if (exists) saved = static_cast<const Read*>(a.read)[row];
  }
  a.meets == Meets::LeavesPartials ? allow_next_kernel() : allow_next_kernel_if_small();

  Acc total[M::sums];
  if (M::reduces && a.meets != Meets::HasPartials) {
    mine.reduce(a, saved, lanes_of_row, total);
    if (warps_of_row > 1) across_warps<O>(slots, warps_of_row, total);
    if (a.meets == Meets::Cluster) across_cluster<O>(unit, a.units.divisor, total);
  }
  if (a.meets == Meets::LeavesPartials) {
    if (threadIdx.x == 0) leave_partials(a, row, unit, total);
    return;
  }
  if (a.meets == Meets::HasPartials) across_partials<O>(a, row, total);
  const Row of_row = M::finish(total, RowOf<Word>{a.n, a.epsilon}, saved);
  if constexpr (M::writes_row) {
    if (a.written != nullptr && exists && chunk == 0 && (lane & (lanes_of_row - 1)) == 0) {
      static_cast<Row*>(a.written)[row] = of_row;
    }
  }
  if (a.out != nullptr) mine.store(a, place, of_row);
}

}  // namespace torch_reduce::cuda
