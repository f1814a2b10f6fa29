// Exact sums of rows. A team of 1, 2, 4 or 8 warps reduces a row, or a unit of one that several CTAs share. A warp
// walks in tiles of its lanes' loads; it has one window and its lanes' slices, and sums these across the warp at the
// end. What slices do not take goes to digits in shared memory, of which the lanes of a team have 4 copies a warp.
#pragma once

#include "exact_tile.cuh"

namespace torch_reduce::cuda {

template <Access A>
struct ExactRowsArgs {
  const void* data;
  ExactSink sink;
  int64_t n, outputs;
  FastDivisor units;  // CTAs per output
  int64_t tiles;      // warp tiles of a unit
  int log_team;
  Segments segments;  // Segmented: of vectors
  KeptIndex<kept_room(A)> kept;
  ReducedIndex<reduced_room(A)> reduced;
};

template <class In, Access A, int Loads>
__device__ __forceinline__ Tile<In, A, Loads> load_row_tile(const ExactRowsArgs<A>& a, int64_t place, int64_t tile) {
  Tile<In, A, Loads> t;
  const int64_t first = tile * (Loads * kWarp) + threadIdx.x % kWarp;  // of the lane's loads; the next are kWarp apart
  const In* row = static_cast<const In*>(a.data) + place;
  if constexpr (A == Access::Strided) {
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
      const int64_t element = first + i * kWarp;
      t.part[i] = element < a.n ? row[a.reduced.at(element)] : zero_element<In>();
    }
  } else {
    constexpr int V = vector_width<In>;
    const auto at = [&](int i) {
      if constexpr (A == Access::Contiguous) {
        return row + (first + i * kWarp) * V;
      } else {
        return row + a.segments.at(static_cast<uint32_t>(first) + i * kWarp);
      }
    };
    if ((tile + 1) * (Loads * kWarp * V) <= a.n) {
#pragma unroll
      for (int i = 0; i < Loads; ++i) t.part[i] = load16(at(i));
    } else {
#pragma unroll
      for (int i = 0; i < Loads; ++i) {
        const int64_t left = a.n - (first + i * kWarp) * V;
        t.part[i] = left >= V  ? load16(at(i))
                    : left > 0 ? load_first(at(i), static_cast<int>(left))
                               : uint4{0, 0, 0, 0};
      }
    }
  }
  return t;
}

// A tile's elements into slices, the rest into digits. Returns whether any went there.
template <class In, Access A, int Loads>
__device__ __forceinline__ bool add_row_tile(const Tile<In, A, Loads>& t, OpenSlices<In, 1>& slices, Digits digits) {
  using F = exact::FormatOf<In>;
  const uint32_t most = max_across_warp(t.most());
  if (is_nothing<In>(most)) return false;
  if (is_beyond<In>(most, kSliceBits - exact::kSlack)) {
#pragma unroll 1
    for (int i = 0; i < Loads; ++i) {
#pragma unroll 1
      for (int e = 0; e < t.V; ++e) spill<F>(digits, t.element(i, e));
    }
    return true;
  }
  bool spilled = false;
  const int above = Magnitude<In>::above(most);
  if (!slices.fits(above, t.kElements)) {
    if (slices.open) {
      spill<F>(digits, join(slices.column[0].first, slices.column[0].second), slices.window.unit - kSliceBits);
      spilled = true;
    }
    slices.set(above);
  }
  uint32_t left = 0;
#pragma unroll
  for (int i = 0; i < Loads; ++i) {
#pragma unroll
    for (int e = 0; e < t.V; ++e) slices.column[0].template add<In>(slices.window, t.element(i, e), left);
  }
  slices.column[0].template remove<In>(slices.window, t.kElements);
  slices.adds += t.kElements;
  if (__any_sync(0xffffffffu, left != 0)) {
    spilled = true;
    const auto again = t.again();
#pragma unroll
    for (int i = 0; i < Loads; ++i) {
#pragma unroll
      for (int e = 0; e < t.V; ++e) {
        const double r = residue(slices.window, again.element(i, e));
        if (r != 0) spill<F>(digits, r);
      }
    }
  }
  return spilled;
}

template <class In, Access A>
__global__ void __launch_bounds__(kExactThreads, A == Access::Strided ? 2 : 3)
    exact_rows(const __grid_constant__ ExactRowsArgs<A> a) {
  using F = exact::FormatOf<In>;
  constexpr int kLoads = A == Access::Strided ? 2 * tuning::kLoadsInFlight : tuning::kLoadsInFlight;
  extern __shared__ __align__(16) unsigned char shared[];
  auto* words = reinterpret_cast<int64_t*>(shared);  // [word][copy]

  const int lane = threadIdx.x % kWarp, warp = warp_of_cta(), warps = blockDim.x / kWarp;
  const int copies = warps * exact::kCopiesPerWarp;
  for (int i = threadIdx.x; i < F::kWords * copies; i += blockDim.x) words[i] = 0;
  __syncthreads();

  const int team_warps = 1 << a.log_team, team = warp >> a.log_team, in_team = warp & (team_warps - 1);
  const uint32_t group = a.units.quotient(blockIdx.x), unit = blockIdx.x - group * a.units.divisor;
  const int64_t output = static_cast<int64_t>(group) * (warps >> a.log_team) + team;
  const bool exists = output < a.outputs;
  const Place place = exists ? a.kept.at(output) : Place{0, 0};
  const int team_copies = exact::kCopiesPerWarp << a.log_team, team_copy0 = team * team_copies;
  const Digits digits{words + team_copy0 + lane % team_copies, copies};

  OpenSlices<In, 1> slices;
  bool spilled = a.sink.words;
  const int64_t first = unit * a.tiles,
                all = (a.n + Tile<In, A, kLoads>::kElements * kWarp - 1) / (Tile<In, A, kLoads>::kElements * kWarp);
  const int64_t end = exists ? min(first + a.tiles, all) : 0;
#pragma unroll 1
  for (int64_t tile = first + in_team; tile < end; tile += team_warps) {
    const auto t = load_row_tile<In, A, kLoads>(a, place.in, tile);
    spilled |= add_row_tile(t, slices, digits);
  }

  const int128 sum0 = sum_across_warp(slices.column[0].first), sum1 = sum_across_warp(slices.column[0].second);
  const int unit_exponent = slices.open ? slices.window.unit : kLowestUnit<F>;
  if (a.log_team == 0 && !__any_sync(0xffffffffu, spilled)) {
    if (lane == 0 && exists) finish_slices(a.sink, place.out, sum0, sum1, unit_exponent);
    return;
  }
  if (lane == 0) spill<F>(digits, (sum0 << kSliceBits) + sum1, unit_exponent - kSliceBits);
  if (a.log_team == 0) {
    __syncwarp();
  } else {
    __syncthreads();
  }

  // The team's copies into the first one; rotated, as the words of one copy lie in one bank.
  const int in_team_thread = in_team * kWarp + lane, team_threads = kWarp << a.log_team;
  if (a.units.divisor > 1) wait_for_previous_kernel();  // which zeroes the scratch
  for (int d = in_team_thread; d < F::kWords; d += team_threads) {
    int64_t sum = 0;
    for (int c = 0; c < team_copies; ++c) sum += words[d * copies + team_copy0 + ((c + d) & (team_copies - 1))];
    words[d * copies + team_copy0] = sum;
    if (a.units.divisor > 1) add_to_scratch<F>(a.sink, a.sink.accumulator(output), d, sum);
  }
  if (a.units.divisor == 1) {
    if (a.log_team == 0) {
      __syncwarp();
    } else {
      __syncthreads();
    }
    if (in_team_thread == 0 && exists) {
      finish_words<F>(a.sink, place.out, [&](int d) { return words[d * copies + team_copy0]; });
    }
    return;
  }
  // Units come one to a CTA, whose team is all of it.
  if (!is_last_unit(a.sink, output)) return;
  for (int d = threadIdx.x; d < F::kWords; d += blockDim.x) words[d] = read_scratch(a.sink, output, d);
  __syncthreads();
  if (threadIdx.x == 0) finish_words<F>(a.sink, place.out, [&](int d) { return words[d]; });
}

}  // namespace torch_reduce::cuda
