// Maps: a warp has chunks of a row, or several short rows. What the row's warps make of it meets in shared memory, that
// of several CTAs in a cluster or in scratch; then every lane maps the places that it has.
#pragma once

#include "core/cuda/block/cluster.cuh"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/map/meet.cuh"
#include "core/cuda/map/results.cuh"

namespace torch_reduce::cuda {

template <class M, class In, class Word, Places places>
__device__ __forceinline__ void map_rows(const MapArgs<Word>& a) {
  using O = typename M::Reduces;
  using Acc = total_of<M, Word>;
  using Row = row_of_map<M, Word>;
  using Read = read_of_map<M, Word>;
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ Acc slots[M::sums][tuning::kMapMostWarps];
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const uint32_t tile = a.units.quotient(blockIdx.x), unit = blockIdx.x - tile * a.units.divisor;
  const int warps_of_row = 1 << a.log_warps, lanes_of_row = 1 << a.log_lanes;
  const int side_by_side = kWarp >> a.log_lanes;  // rows of a warp
  const int64_t first_row = static_cast<int64_t>(tile) * a.rows_per_cta +
                            (warp >> a.log_warps) * (a.warp_rows * side_by_side) + (lane >> a.log_lanes);
  const int64_t first_chunk =
      ((static_cast<int64_t>(unit) << a.log_warps) + (warp & (warps_of_row - 1))) * a.warp_chunks;
  LanePlaces<M, In, Word, places> mine(a, shared, a.warp_rows * a.warp_chunks);
  const auto row_of = [&](int r) { return first_row + r * side_by_side; };
  const auto place_of = [&](int64_t row) { return a.index.at(row < a.rows ? row : 0); };
  // Where a piece begins, and how many places the row has from there on, up to those of a warp. Kernels that read
  // elements one at a time have calls, and no registers for what is the same for all pieces.
  constexpr bool by_elements = places == Places::Any;
  const auto place_of_chunk = [&](int64_t chunk) {
    return chunk * kChunk + (lane & (lanes_of_row - 1)) * vector_width<In>;
  };
  const int64_t first_place = place_of_chunk(first_chunk);
  const auto begin_of = [&](int c) {
    if constexpr (by_elements) return place_of_chunk(first_chunk + c);
    return first_place + c * kChunk;
  };
  const int left_of_row =
      by_elements ? 0 : static_cast<int>(min(a.n - first_place, int64_t{kChunk} << tuning::kLogMapMostChunks));
  const auto left_of = [&](int64_t row, int c) {
    if constexpr (by_elements) {
      return (row < a.rows ? a.n : 0) - begin_of(c);
    } else {
      return row < a.rows ? left_of_row - c * kChunk : 0;
    }
  };
  const auto piece = [&](int r, int c) {
    const int64_t row = row_of(r);
    return Piece(r * a.warp_chunks + c, begin_of(c), left_of(row, c),
                 M::has_channels ? (row - quotient(row, a.groups) * a.groups) * a.channels_of_row : 0);
  };

  if (a.meets == Meets::Cluster) arrive_in_cluster();
  wait_for_previous_kernel();
  const auto for_each_piece = [&](auto f) {
#pragma unroll 1
    for (int r = 0; r < a.warp_rows; ++r) {
      const MapStrides place = place_of(row_of(r));
#pragma unroll 1
      for (int c = 0; c < a.warp_chunks; ++c) f(piece(r, c), place);
    }
  };
  for_each_piece([&](const Piece& p, const MapStrides& place) { mine.load(p, place); });
  // Pieces are reduced as they come, while others are on the way.
  const bool as_they_come = M::reduces && !by_elements && a.meets != Meets::HasPartials && !mine.prepares();
  if (!as_they_come) {
    wait_for_copies();
    if constexpr (decltype(mine)::may_settle) {
      if (mine.settles()) for_each_piece([&](const Piece& p, const MapStrides& place) { mine.settle(p, place); });
    }
  }
  a.meets == Meets::LeavesPartials ? allow_next_kernel() : allow_next_kernel_if_small();

#pragma unroll 1
  for (int r = 0; r < a.warp_rows; ++r) {
    const int64_t row = row_of(r);
    Read saved{};
    if constexpr (!std::is_empty<Read>::value) {
      if (row < a.rows) saved = static_cast<const Read*>(a.read)[row];
    }
    Acc total[M::sums];
    if (M::reduces && a.meets != Meets::HasPartials) {
      Counter<O, Acc, tuning::kLogMapMostChunks> counter[M::sums];
#pragma unroll 1
      for (int c = 0; c < a.warp_chunks; ++c) {
        if (as_they_come) {
          mine.wait_for(piece(r, c), [&] { return place_of(row_of(r)); }, (a.warp_rows - r) * a.warp_chunks - 1 - c);
        }
        mine.reduce(piece(r, c), saved, lanes_of_row, total);
#pragma unroll
        for (int s = 0; s < M::sums; ++s) total[s] = counter[s].push(total[s]);
      }
      if (warps_of_row > 1) across_warps<O>(slots, warps_of_row, total);
      if (a.meets == Meets::Cluster) across_cluster<O>(unit, a.units.divisor, total);
    }
    if (a.meets == Meets::LeavesPartials) {
      if (threadIdx.x == 0) leave_partials(a, row, unit, total);
      return;
    }
    if (a.meets == Meets::HasPartials) {
      Acc of_partials[M::sums];
      across_partials<O>(a, row, of_partials);
#pragma unroll
      for (int s = 0; s < M::sums; ++s) total[s] = of_partials[s];
    }
    const Row of_row = M::finish(total, RowOf<Word>{a.n, a.share, a.epsilon, a.scale}, saved);
    if constexpr (M::writes_row) {
      if (a.written != nullptr && row < a.rows && first_chunk == 0 && (lane & (lanes_of_row - 1)) == 0) {
        static_cast<Row*>(a.written)[row] = of_row;
      }
    }
    if constexpr (M::writes_values) {
      const MapStrides place = place_of(row);
#pragma unroll 1
      for (int c = 0; c < a.warp_chunks; ++c) mine.store(piece(r, c), place, of_row);
    }
  }
}

template <class M, class In, class Word, Places places>
__global__ void __launch_bounds__(tuning::kMapMostWarps* kWarp, sizeof(Word) == 4 ? 2 : 1)
    map(const __grid_constant__ MapArgs<Word> a) {
  map_rows<M, In, Word, places>(a);
}
// The same with more registers than let so many threads run at once.
template <class M, class In, class Word, Places places, int Registers>
__global__ void __maxnreg__(Registers) map_of_registers(const __grid_constant__ MapArgs<Word> a) {
  map_rows<M, In, Word, places>(a);
}

template <class M, class In, class Word, Places places>
constexpr auto kernel_of_map() {
  constexpr bool by_elements = places == Places::Any;
  constexpr int kRegisters =
      sizeof(Word) == 8 ? 0 : tuning::map_registers(has_short_rows(places), by_elements, sizeof(total_of<M, Word>));
  if constexpr (kRegisters > 0) {
    return map_of_registers<M, In, Word, places, kRegisters>;
  } else {
    return map<M, In, Word, places>;
  }
}

}  // namespace torch_reduce::cuda
