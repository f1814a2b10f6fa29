// Exact sums of products of 16-bit elements of short rows: a group of 2^log_lanes lanes has a row, and a lane a vector
// of each of some rows. Where two float slices hold all products of these, as they mostly do, their sums are the rows'.
// Other rows are summed again as those of short_rows.cuh.
#pragma once

#include "core/cuda/exact/products.cuh"
#include "core/cuda/exact/short_rows.cuh"

namespace torch_reduce::cuda {

struct ExactShortProductsArgs {
  const void *own, *other;  // the same where there is one tensor
  ExactSink sink;
  int64_t n, outputs;
  int log_lanes;
  int64_t own_stride, other_stride, out_stride;  // of rows
};

template <class In>
__global__ void __launch_bounds__(kExactThreads, exact::kShortProductsCtasPerSm)
    exact_short_products(const __grid_constant__ ExactShortProductsArgs a) {
  using Part = Tile<In, Access::Contiguous, 1>;
  using RowTile = ProductTile<In, Part>;
  constexpr int kRows = exact::kShortProductsRows;
  const int lane = threadIdx.x % kWarp, lanes = 1 << a.log_lanes, in_group = lane & (lanes - 1);
  const int groups = kWarp >> a.log_lanes, at = in_group * Part::V;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * exact::kWarps + warp_of_cta()) * (kRows * groups) + (lane >> a.log_lanes);
  const auto row_of = [&](int r) { return first + r * groups; };
  const auto row_at = [](const void* data, int64_t stride, int64_t row) {
    return static_cast<const In*>(data) + row * stride;
  };
  const bool squares = a.own == a.other && a.own_stride == a.other_stride;

  const auto load = [&](int r) {
    const int64_t row = row_of(r);
    RowTile part{};  // zeros
    if (row < a.outputs && at < a.n) {
      part.own.part[0] = load16(row_at(a.own, a.own_stride, row) + at);
      if (!squares) part.other.part[0] = load16(row_at(a.other, a.other_stride, row) + at);
    }
    return part;
  };

  RowTile part[kRows];
  wait_for_previous_kernel();
#pragma unroll
  for (int r = 0; r < kRows; ++r) part[r] = load(r);
  allow_next_kernel_if_small();
  Range<In> own, other;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    if (squares) part[r].other = part[r].own;  // not before, as all loads are to be on their way
    own.merge(part[r].own.template range<true>());
    other.merge(part[r].other.template range<true>());
  }
  merge_across_lanes(lanes, own, other);
  const Range<double> products = range_of_products<In>(own, other);
  const int top = above<double>(products.most);
  const bool by_floats = !a.sink.words && a.sink.divisor > 0 && FloatWindow::exists(top) &&
                         products.is_multiple(FloatWindow(top).unit - kFloatSliceBits);
  const FloatWindow window(by_floats ? top : 0);
  int64_t sum[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r) sum[r] = sum_in_floats(part[r], window);
  for (int mask = 1; mask < lanes; mask *= 2) {
#pragma unroll
    for (int64_t& s : sum) s += exchange(s, mask);
  }
  // Lanes finish rows side by side.
#pragma unroll 1
  for (int r = in_group; by_floats && r < kRows && row_of(r) < a.outputs; r += lanes) {
    int64_t of_row = 0;
#pragma unroll
    for (int k = 0; k < kRows; ++k) of_row = k == r ? sum[k] : of_row;
    finish_double<In>(a.sink, row_of(r) * a.out_stride, window.value_of(of_row));
  }
  if (__ballot_sync(kAllLanes, !by_floats) == 0) return;

#pragma unroll 1
  for (int r = 0; r < kRows; ++r) {
    const int64_t row = row_of(r);
    const bool writes = !by_floats && row < a.outputs;
    RowTile again = load(r);
    if (squares) again.other = again.own;
    const bool held = finish_in_slices<double>(a.sink, again, lanes, writes, writes ? row * a.out_stride : 0);
    if (held || !writes || in_group != 0) continue;
    finish_by_lane<double>(a.sink, a.n, row * a.out_stride, [&](int64_t i) {
      return product_of(row_at(a.own, a.own_stride, row)[i], row_at(a.other, a.other_stride, row)[i]);
    });
  }
}

}  // namespace torch_reduce::cuda
