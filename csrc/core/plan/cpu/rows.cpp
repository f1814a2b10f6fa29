#include "core/plan/cpu/rows.h"

#include <algorithm>

#include "core/contract/order.h"
#include "core/plan/cpu/bundle.h"
#include "core/plan/cpu/detail.h"
#include "core/plan/cpu/strip_rows.h"

namespace torch_reduce::cpu {
namespace {

// Whether chunks may be reduced many at a time, each into a partial. Where results do not depend on the order there are
// better ways.
bool reduces_chunks(const Problem& p, int vectors) {
  if (is_order_free(p.op, p.compute) || !is_read_directly(p, vectors) || !takes_elements(p)) return false;
  return p.layout.n > 0 && p.layout.outputs * chunk_count(p.layout.n) <= kMostChunkColumns;
}

bool has_bundles(const Problem& p, int vectors) {
  const Bundle b = bundle_of(p.layout);
  if (b.columns < 2 || b.columns > kMostBundleColumns || b.columns * b.steps > kMostBundleElements) return false;
  return bundles_in_line(p.layout, b) >= kFewestBundles && reduces_chunks(p, vectors);
}

// Where tiles would have `lines` lines.
bool has_strips(const Problem& p, int64_t lines, int vectors) {
  const Layout& l = p.layout;
  const int dim = strip_dim(l);
  if (dim < 0 || l.reduced[dim].size < kFewestStripRows || !reduces_chunks(p, vectors)) return false;
  const int64_t length = strip_row_length(l), read = strip_lines(l);
  if (length < kFewestStripElements) return false;
  if (lines == 0 || dim != l.reduced_dims - 2) return true;  // the other way is element by element
  const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
  if (inner.size % kFewestStripGroup != 0 || inner.stride * element_bytes(p) >= kFarStripStride) return false;
  return static_cast<double>(read) <= most_strip_reads(vectors == 64, read) * static_cast<double>(length);
}

// plan.strip rows or bundles of `elements` each are a task, for which a worker holds `held` bytes.
void finish(const Problem& p, int threads, int64_t elements, int64_t held, CpuPlan& plan) {
  plan.split = chunk_count(p.layout.n);
  plan.piece_chunks = 1;
  plan.partial_bytes = p.layout.outputs * plan.split * accumulator_bytes(p);
  plan.expected_bytes += 2 * plan.partial_bytes;
  plan.held_bytes = whole_lines(held);
  share_out(threads, ceil_div(kGrain, plan.strip * elements), plan);
}

// How many lines of the innermost reduced dim are copied at a time into their logical order; 0 if they lie in memory in
// that order, or are too long.
int64_t lines_of_tile(const Problem& p, int threads) {
  const Layout& l = p.layout;
  if (l.reduced_dims < 2 || l.n <= kChunk) return 0;
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  if (outer.stride == 0 || outer.stride >= inner.stride) return 0;
  const int64_t line = inner.size * element_bytes(p);
  const int64_t share = kAllHeldBytes / threads - kChunk * element_bytes(p);  // a tile comes with a chunk
  const int64_t most = std::min(kMostTileBytes, std::max(kTileBytes, share));
  int64_t lines = std::min(std::max(kTileBytes / line, std::min(kEnoughTileLines, most / line)), outer.size);
  const int64_t whole = kCacheLine / element_bytes(p);  // in squares, but for what is left of the dim
  if (lines > whole) lines -= lines % whole;
  return lines < kFewestTileLines ? 0 : lines;
}

}  // namespace

bool plan_bundles(const Problem& p, int threads, int vectors, CpuPlan& plan) {
  if (!has_bundles(p, vectors)) return false;
  const Layout& l = p.layout;
  const Bundle b = bundle_of(l);
  const int64_t in_line = bundles_in_line(l, b), bytes = b.chunks * b.parts * accumulator_bytes(p);
  const int64_t lines = l.outputs * (l.n / (l.reduced[l.reduced_dims - 1].size * l.reduced[l.reduced_dims - 2].size));
  const int64_t fitting = std::min(kBundleBytes, kAllHeldBytes / threads / kBundleRows) / bytes;
  const int64_t most = std::max(fitting / kFewestBundles, int64_t{1}) * kFewestBundles;
  // As few strips as there may be, and one for every thread.
  const int64_t strips = std::max(ceil_div(in_line, most), ceil_div(threads, lines));
  const int64_t strip = ceil_div(ceil_div(in_line, strips), kFewestBundles) * kFewestBundles;
  plan.access = Access::Bundles;
  plan.strip = std::min(strip, in_line);
  plan.strips = ceil_div(in_line, plan.strip);
  plan.tasks = lines * plan.strips;
  finish(p, threads, b.chunks * kChunk, plan.strip * bytes * kBundleRows, plan);
  return true;
}

bool plan_strips(const Problem& p, int threads, int vectors, CpuPlan& plan) {
  if (!has_strips(p, lines_of_tile(p, threads), vectors)) return false;
  const Layout& l = p.layout;
  const int64_t rows = l.reduced[strip_dim(l)].size, length = strip_row_length(l);
  plan.access = Access::Strips;
  plan.strip = std::min(kStripRows, rows / kFewestStripRows * kFewestStripRows);
  const auto held = [&] { return strip_bytes(l, plan.strip, accumulator_bytes(p), element_bytes(p)); };
  while (plan.strip > kFewestStripRows && threads * held() > kAllHeldBytes) plan.strip -= kFewestStripRows;
  plan.strips = ceil_div(rows, plan.strip);
  plan.tasks = l.outputs * (l.n / (rows * length)) * plan.strips;
  finish(p, threads, length, held(), plan);
  return true;
}

void plan_tiles(const Problem& p, int threads, int vectors, CpuPlan& plan) {
  if (!is_read_directly(p, vectors)) return;
  plan.tile_lines = lines_of_tile(p, threads);
  if (plan.tile_lines == 0) return;
  plan.access = Access::Tiles;
  // And the chunk that the tile before it has begun.
  const int64_t elements = plan.tile_lines * p.layout.reduced[p.layout.reduced_dims - 1].size + kChunk;
  plan.held_bytes = whole_lines(elements * element_bytes(p));
}

void plan_segments(const Problem& p, int threads, int vectors, CpuPlan& plan) {
  const Layout& l = p.layout;
  if (!is_read_directly(p, vectors) || l.n == 0 || l.kept_dims == 0 || l.reduced_dims < 2) return;
  const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
  if (inner.stride != 1 || l.kept[l.kept_dims - 1].in_stride >= l.reduced[l.reduced_dims - 2].stride) return;
  plan.access = Access::Segments;
  const int64_t held = segment_held_bytes(element_bytes(p)), share = kAllHeldBytes / threads / held;
  const int64_t wanted = segments_at_once(inner.size, element_bytes(p));
  plan.strip = std::min({wanted, std::max(share, kFewestSegmentsAtOnce), l.outputs});
  plan.held_bytes = whole_lines(plan.strip * held);
}

}  // namespace torch_reduce::cpu
