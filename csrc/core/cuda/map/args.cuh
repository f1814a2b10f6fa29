// What the kernel of maps is told.
#pragma once

#include "core/cuda/map/places.cuh"
#include "core/plan/gpu/map.h"
#include "core/plan/tuning/map.h"

namespace torch_reduce::cuda {

template <class M, class Word>
constexpr MapTypes map_types{M::reduces, M::reads_weight, M::writes_values, M::keeps_lifted, sizeof(Word)};

// How the CTAs of a row meet: there is one; by a cluster; or by two kernels, of which the first leaves a value of each
// CTA in scratch and the second has them.
enum class Meets : uint8_t { Alone, Cluster, LeavesPartials, HasPartials };

template <class Word>
struct MapArgs {
  const void *x, *second, *weight, *bias, *read;
  const bool* mask;
  void *out, *written, *sum, *partials;
  DType parameters, out_type;
  int64_t n, rows;
  double share;  // of an element: 1 / n
  Word epsilon, scale;
  int64_t channel, groups, channels_of_row;
  FastDivisor by_channel;  // of places in whole vectors, which number less than 2^31
  MapStrides along;
  MapIndex index;
  int log_lanes, log_warps, warp_rows, warp_chunks, rows_per_cta;
  int loads;  // of a lane and a piece
  FastDivisor units;
  Meets meets;
  bool reads_vectors, writes_vectors, masks_vectors, fetches_parameters;
};

}  // namespace torch_reduce::cuda
