#include "chunk_columns.h"

#include "../order.h"
#include "tuning.h"

namespace torch_reduce::cpu {

namespace {

// Lines of the innermost dim that one chunk has: one of several chunks, or several that make one.
int64_t lines_of_chunk(const ReducedDim& inner) { return inner.size < kChunk ? kChunk / inner.size : 1; }

}  // namespace

bool has_chunk_columns(const Problem& p) {
  const Layout& l = p.layout;
  if (l.reduced_dims < 2 || l.kept_dims + l.reduced_dims >= kMaxDims || l.n == 0) return false;
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  if (outer.stride == 0 || outer.stride >= inner.stride) return false;
  const int64_t lines = lines_of_chunk(inner);
  if (inner.size * lines % kChunk != 0 || outer.size % lines != 0) return false;
  return outer.size / lines >= kNarrowColumns && l.outputs * (l.n / kChunk) <= kMostChunkColumns;
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
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  const int64_t lines = lines_of_chunk(inner), per_line = lines > 1 ? 1 : inner.size / kChunk;
  reduced[0] = reduced[1] = true;
  add(lines, outer.stride, 0);
  add(inner.size / per_line, inner.stride, 0);
  // From the inside out, so that each dim's place in [output][chunk] follows from those before it.
  int64_t place = 1;
  const auto keep = [&](int64_t size, int64_t stride) {
    add(size, stride, place);
    place *= size;
  };
  keep(per_line, inner.stride * kChunk);
  keep(outer.size / lines, outer.stride * lines);
  for (int d = l.reduced_dims - 3; d >= 0; --d) keep(l.reduced[d].size, l.reduced[d].stride);
  for (int d = l.kept_dims - 1; d >= 0; --d) keep(l.kept[d].size, l.kept[d].in_stride);

  Problem chunks = p;
  chunks.out = p.compute;
  chunks.layout = make_layout(count, sizes, strides, reduced, out_strides, Order::Logical);
  return chunks;
}

}  // namespace torch_reduce::cpu
