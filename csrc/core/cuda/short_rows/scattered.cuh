// Short rows of any strides: a lane reads whole rows of one, two, four or up to eight elements, several of
// them at once; or 2^log_lanes lanes a row of up to 256 elements, eight of them each.
//
// All rows have the same elements, so a lane finds their places once. Many rows come several to a lane, for its loads
// to be enough; few come alone, as what these wait for is code.
#pragma once

#include "core/contract/plain.h"
#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/partner.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class O, class Acc>
struct ScatteredRowsArgs {
  SourceOf<O> source;
  int64_t n, outputs;
  int log_lanes;
  KeptOf<O, Access::Strided> kept;
  Sink<Acc> sink;
  ReducedOf<O, Access::Strided> reduced;
};

template <class O, class In, class Acc, int Elements, int Rows>
__global__ void __launch_bounds__(tuning::kShortRowsWarps* kWarp)
    scattered_rows(const __grid_constant__ ScatteredRowsArgs<O, Acc> a) {
  const int log_lanes = Elements == tuning::kShortRowsElements ? a.log_lanes : 0;
  const int lane = threadIdx.x % kWarp, rows_per_warp = kWarp >> log_lanes;
  const int in_group = lane & ((1 << log_lanes) - 1);
  const int64_t warp = static_cast<int64_t>(blockIdx.x) * tuning::kShortRowsWarps + threadIdx.x / kWarp;
  const int64_t row0 = warp * (Rows * rows_per_warp) + (lane >> log_lanes);

  // In the place of elements and rows that do not exist, a row that is alone has some that do: the least code.
  constexpr bool kClamped = Rows == 1;
  const int first = in_group * Elements, count = static_cast<int>(a.n) - first;
  Place<O> of_element[Elements];
  a.reduced.with_place([&](auto at) {
#pragma unroll
    for (int e = 0; e < Elements; ++e) {
      of_element[e] = at(Place<O>{}, kClamped ? max(min(first + e, static_cast<int>(a.n) - 1), 0) : first + e);
    }
  });
  std::decay_t<decltype(a.kept.at(0))> place[Rows];
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const int64_t row = row0 + r * rows_per_warp;
    place[r] = a.kept.at(kClamped ? min(row, a.outputs - 1) : row);
    place[r].in = place[r].in + address_of(a.source);
  }
  wait_for_previous_kernel();
  ElementOf<O, In, Acc> v[Rows][Elements];
  if constexpr (kClamped) {
    if (a.n > 0) {
#pragma unroll
      for (int e = 0; e < Elements; ++e) v[0][e].load(a.source, place[0].in + of_element[e]);
    }
  } else {
#pragma unroll
    for (int r = 0; r < Rows; ++r) {
      const bool exists = row0 + r * rows_per_warp < a.outputs;
#pragma unroll
      for (int e = 0; e < Elements; ++e) v[r][e].load_if(exists && e < count, a.source, place[r].in + of_element[e]);
    }
  }
  allow_next_kernel_if_small();
#pragma unroll
  for (int r = 0; r < Rows; ++r) {
    const Acc leaf = tree_of_elements<O, Acc, Elements>([&](auto& how, auto& x) {
      using Value = std::decay_t<decltype(x[0])>;
#pragma unroll
      for (int e = 0; e < Elements; ++e) {
        x[e] = kClamped && e >= count ? how.template identity<Value>()
                                      : v[r][e].template value<Value>(how, a.source, first + e, a.n);
      }
    });
    const Acc row = tree_across_lanes<O>(leaf, 1, 1 << log_lanes);
    if (in_group == 0 && row0 + r * rows_per_warp < a.outputs) {
      write<O, LikelyOut<O, In, Acc>>(a.sink, place[r].out, row);
    }
  }
}

}  // namespace torch_reduce::cuda
