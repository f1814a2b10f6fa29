// Boxes of elements in memory: their sectors, and how long their runs are.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "core/contract/integers.h"
#include "core/plan/gpu/plan.h"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::planning {

// What a warp or a CTA reads at a time: so many elements along each dim.
struct Box {
  struct Side {
    int64_t stride, extent;
  };
  Side side[2 * kMaxKernelDims];
  int sides = 0;
  uint64_t distances = 0;  // of all distances to boxes like this one: their bits, of which the lowest says how aligned

  // `extent` elements of a dim that has `size` of them.
  void add(int64_t stride, int64_t extent, int64_t size) {
    stride = std::abs(stride);
    if (extent < size) distances |= static_cast<uint64_t>(stride) * static_cast<uint64_t>(extent);
    add(stride, extent);
  }
  void add(int64_t stride, int64_t extent) {
    if (extent <= 1) return;
    stride = std::abs(stride);
    int at = sides++;
    for (; at > 0 && side[at - 1].stride > stride; --at) side[at] = side[at - 1];
    side[at] = {stride, extent};
  }
  // Pieces of memory of so many bytes that the box lies in, of elements of so many bytes: what lies within a piece of
  // one another, or with small gaps, is read as one stretch. Stretches that begin anywhere in a piece lie in as many of
  // them as on average.
  double pieces(int64_t piece, int64_t element) const {
    int64_t places = 1, span = 1;
    uint64_t starts = distances;  // of stretches
    for (int d = 0; d < sides; ++d) {
      if (places == 1 && (side[d].stride * element < piece || 2 * side[d].stride <= 3 * span)) {
        span += (side[d].extent - 1) * side[d].stride;
      } else {
        places *= side[d].extent;
        starts |= static_cast<uint64_t>(side[d].stride);
      }
    }
    const bool aligned = starts * static_cast<uint64_t>(element) % static_cast<uint64_t>(piece) == 0;
    if (aligned) return static_cast<double>(places * ceil_div(span * element, piece));
    return static_cast<double>(places) * (1 + static_cast<double>((span - 1) * element) / static_cast<double>(piece));
  }
  double sectors(int64_t element) const { return pieces(tuning::kSector, element); }
  // Elements in the longest stretch of memory that the box covers, but for small gaps.
  int64_t run() const {
    int64_t elements = 1, span = 1;
    for (int d = 0; d < sides && 2 * side[d].stride <= 3 * span; ++d) {
      span += (side[d].extent - 1) * side[d].stride;
      elements *= side[d].extent;
    }
    return elements;
  }
};

// `count` logically consecutive elements of the dims before `end`.
inline void add_consecutive(Box& box, const Layout& l, int begin, int end, int64_t count) {
  for (int d = end - 1; d >= begin; --d) {
    box.add(l.reduced[d].stride, std::min(l.reduced[d].size, count), l.reduced[d].size);
    count = ceil_div(count, l.reduced[d].size);
  }
}

// The first `count` places of the kept dims and the first `outer` reduced ones, in the order of their strides.
inline void add_rows(Box& box, const Layout& l, int outer, int64_t count) {
  Box all;
  for (int d = 0; d < l.kept_dims; ++d) all.add(l.kept[d].in_stride, l.kept[d].size);
  for (int d = 0; d < outer; ++d) all.add(l.reduced[d].stride, l.reduced[d].size);
  for (int d = 0; d < all.sides; ++d) {
    box.add(all.side[d].stride, std::min(all.side[d].extent, count), all.side[d].extent);
    count = ceil_div(count, all.side[d].extent);
  }
}

}  // namespace torch_reduce::planning
