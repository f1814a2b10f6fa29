// Columns of a few elements: a thread has the whole of its columns, 16 bytes of every row or a pair of elements, and
// writes them. There is no more to it, as such columns are slow for instructions.
#pragma once

#include "core/cuda/block/dependent_launch.cuh"
#include "core/cuda/columns/columns.cuh"

namespace torch_reduce::cuda {

// `tiles_across` are the threads side by side over a row. Raw: what a thread loads of one.
template <class O, class In, class Acc, class Raw>
__global__ void __launch_bounds__(tuning::kStackedThreads, tuning::kStackedCtasAtOnce)
    stacked_columns(const __grid_constant__ ColumnsArgs<O, Acc, Access::Contiguous> a) {
  constexpr int V = sizeof(Raw) / sizeof(In);
  const uint32_t index = blockIdx.x * tuning::kStackedThreads + threadIdx.x;
  const uint32_t outer = a.tiles_across.quotient(index);
  const int64_t column = static_cast<int64_t>(index - outer * a.tiles_across.divisor) * V;
  if (index >= a.tiles.divisor) return;
  const In* first = static_cast<const In*>(a.source.data) + a.outer.in(outer) + column;
  const int n = static_cast<int>(a.n);
  Raw raw[tuning::kStackedLeaves];
  wait_for_previous_kernel();
#pragma unroll
  for (int k = 0; k < tuning::kStackedLeaves; ++k) {
    if (k >= n) continue;
    if constexpr (is_pair<Raw>) {
      raw[k] = *reinterpret_cast<const Raw*>(first + k * a.next_row);
    } else {
      raw[k] = load16_kept(first + k * a.next_row);
    }
  }
  allow_next_kernel_if_small();
  // The tree, without its missing parts, as all threads miss the same.
  const auto leaf = [&](int k) {
    if constexpr (is_pair<Raw>) {
      O op;
      return widen_pair<Acc>(op, raw[k], a.source);
    } else {
      return widen_columns<O, In, Acc>(raw[k], a.source, k, a.n);
    }
  };
  auto c = leaf(0);
  if (n > 1) c = ByColumn<O>::combine(c, leaf(1));
  if (n > 2) {
    auto upper = leaf(2);
    if (n > 3) upper = ByColumn<O>::combine(upper, leaf(3));
    c = ByColumn<O>::combine(c, upper);
  }
  const int64_t place = outer * a.sink.output_stride;
  if constexpr (!is_tested<In>) {
    if (a.wide_store) return write_wide<O, In>(a.sink, place + column, c);
  }
#pragma unroll
  for (int e = 0; e < V; ++e) {
    deliver<O, LikelyOut<O, In, Acc>>(a.sink, place + (column + e) * a.to_stride, c.e[e]);
  }
}

}  // namespace torch_reduce::cuda
