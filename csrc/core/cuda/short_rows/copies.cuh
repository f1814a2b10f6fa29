// Outputs of one element, which is all there is to do: a copy, with a conversion, between layouts.
//
// A CTA has a tile: lanes walk along the kept dim that lies innermost in the input, and rows are steps along another
// one. Where results lie innermost along the latter, the tile is exchanged in shared memory, so that both sides are
// read and written along memory; else a lane writes what it has read.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/block/sink.cuh"
#include "core/cuda/lane/index.cuh"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::cuda {

template <class Acc>
struct CopiesArgs {
  Source source;
  KeptDim lanes, rows;           // input strides in bytes
  FastDivisor across, in_layer;  // tiles along the lanes' dim, and those along both
  bool exchanged;
  KeptIndex<Access::Strided> outer;  // the other kept dims
  Sink<Acc> sink;
};

template <class O, class In, class Acc>
__global__ void __launch_bounds__(tuning::kCopiesWarps* kWarp) copies(const __grid_constant__ CopiesArgs<Acc> a) {
  constexpr int kRows = tuning::kCopiesRows, kEach = kRows / tuning::kCopiesWarps;
  __shared__ Element<O, In, Acc> tile[kRows][kWarp + 1];  // lanes of a column meet in no bank
  const int lane = threadIdx.x % kWarp, warp = warp_of_cta();
  const uint32_t layer = a.in_layer.quotient(blockIdx.x), in_layer = blockIdx.x - layer * a.in_layer.divisor;
  const uint32_t down = a.across.quotient(in_layer);
  const int64_t lane0 = static_cast<int64_t>(in_layer - down * a.across.divisor) * kWarp;
  const int64_t row0 = static_cast<int64_t>(down) * kRows;
  const Places place = a.outer.at(layer);
  const int lanes = static_cast<int>(min(a.lanes.size - lane0, static_cast<int64_t>(kWarp)));
  const int rows = static_cast<int>(min(a.rows.size - row0, static_cast<int64_t>(kRows)));

  const int64_t from =
      address_of(a.source) + place.in + (lane0 + lane) * a.lanes.in_stride + (row0 + warp) * a.rows.in_stride;
  wait_for_previous_kernel();
  O op;
  Element<O, In, Acc> x[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int row = warp + i * tuning::kCopiesWarps;
    x[i].load_if(lane < lanes && row < rows, a.source, from + i * tuning::kCopiesWarps * a.rows.in_stride);
  }
  allow_next_kernel_if_small();
  const auto send = [&](int64_t l, int64_t r, const Element<O, In, Acc>& element) {
    const Acc v = element.template value<Acc>(op, a.source, 0, 1);
    const int64_t to = place.out + (lane0 + l) * a.lanes.out_stride + (row0 + r) * a.rows.out_stride;
    write<O, LikelyOut<O, In, Acc>>(a.sink, to, v);
  };
  if (!a.exchanged) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = warp + i * tuning::kCopiesWarps;
      if (lane < lanes && row < rows) send(lane, row, x[i]);
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < kEach; ++i) tile[warp + i * tuning::kCopiesWarps][lane] = x[i];
  __syncthreads();
#pragma unroll 1
  for (int l = warp; l < lanes; l += tuning::kCopiesWarps) {
#pragma unroll
    for (int r = lane; r < kRows; r += kWarp) {
      if (r < rows) send(l, r, tile[r][l]);
    }
  }
}

}  // namespace torch_reduce::cuda
