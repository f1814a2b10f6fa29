#include "core/plan/cpu/chunk_columns.h"

#include "core/contract/order.h"
#include "core/plan/tuning/cpu.h"
#include "core/problem/build_problem.h"

namespace torch_reduce::cpu {

bool has_chunk_columns(const Problem& p) {
  const Layout& l = p.layout;
  if (!has_scalars(traits_of(p.op), p.compute)) return false;  // results of chunks are elements
  if (l.reduced_dims < 2 || l.kept_dims + l.reduced_dims >= kMaxDims || l.n == 0) return false;
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  if (inner.size % kChunk != 0 || outer.stride == 0 || outer.stride >= inner.stride) return false;
  return outer.size >= kNarrowColumns && l.outputs * (l.n / kChunk) <= kMostChunkColumns;
}

Problem chunk_columns(const Problem& p) {
  const Layout& l = p.layout;
  int64_t sizes[kMaxDims], strides[kMaxDims], out_strides[kMaxDims];
  bool reduced[kMaxDims] = {};
  int count = 0;
  const auto add = [&](int64_t size, int64_t stride, int64_t out_stride) {
    sizes[count] = size;
    strides[count] = stride;
    out_strides[count++] = out_stride;
  };
  // From the inside out, so that each dim's place in [output][chunk] follows from those before it.
  const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
  reduced[count] = true;
  add(kChunk, inner.stride, 0);
  int64_t place = inner.size / kChunk;
  add(place, inner.stride * kChunk, 1);
  for (int d = l.reduced_dims - 2; d >= 0; place *= l.reduced[d--].size) {
    add(l.reduced[d].size, l.reduced[d].stride, place);
  }
  for (int d = l.kept_dims - 1; d >= 0; place *= l.kept[d--].size) add(l.kept[d].size, l.kept[d].in_stride, place);

  Problem chunks = p;
  chunks.out = p.compute;
  chunks.layout = make_layout(count, sizes, strides, reduced, out_strides, Order::Logical);
  return chunks;
}

}  // namespace torch_reduce::cpu
