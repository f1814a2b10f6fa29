#include "plan_across.h"

#include <algorithm>

#include "../integers.h"
#include "../order.h"
#include "bundle.h"
#include "strip_rows.h"
#include "tuning.h"

namespace torch_reduce::cpu {
namespace {

int64_t element_bytes(const Problem& p) { return static_cast<int64_t>(size_of(p.in)); }
int64_t acc_bytes(const Problem& p) { return static_cast<int64_t>(size_of(p.compute)); }

// Whether chunks may be reduced many at a time, each into a partial. Where results do not depend on the order there are
// better ways, and elements of some types are converted first.
bool reduces_chunks(const Problem& p) {
  if (is_order_free(p.op, p.compute) || !is_floating(p.in)) return false;
  if ((p.in == DType::Float64) != (p.compute == DType::Float64)) return false;
  return p.layout.n > 0 && p.layout.outputs * chunk_count(p.layout.n) <= kMostChunkColumns;
}

bool has_bundles(const Problem& p) {
  const Bundle b = bundle_of(p.layout);
  if (b.columns < 2 || b.columns > kMostBundleColumns || b.columns * b.steps > kMostBundleElements) return false;
  return bundles_in_line(p.layout, b) >= kFewestBundles && reduces_chunks(p);
}

// Where tiles would have `lines` lines.
bool has_strips(const Problem& p, int64_t lines, bool wide) {
  const Layout& l = p.layout;
  const int dim = strip_dim(l);
  if (dim < 0 || l.reduced[dim].size < kFewestStripRows || !reduces_chunks(p)) return false;
  const int64_t length = strip_row_length(l), read = strip_lines(l);
  if (length < kFewestStripElements) return false;
  if (lines == 0 || dim != l.reduced_dims - 2) return true;  // the other way is element by element
  const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
  if (inner.size % kFewestStripGroup != 0 || inner.stride * element_bytes(p) >= kPage) return false;
  return static_cast<double>(read) <= most_strip_reads(wide, read) * static_cast<double>(length);
}

// plan.strip rows or bundles of `elements` each are a task. A thread holds `held` bytes for it: where those of all
// would be too many, fewer threads work.
void finish(const Problem& p, int threads, int64_t elements, int64_t held, CpuPlan& plan) {
  const int64_t working = std::min({int64_t{threads}, plan.tasks, std::max<int64_t>(kAllTilesBytes / held, 1)});
  plan.grain = std::max(ceil_div(kGrain, plan.strip * elements), ceil_div(plan.tasks, working));
  plan.split = chunk_count(p.layout.n);
  plan.piece_chunks = 1;
  const int64_t partials = p.layout.outputs * plan.split * acc_bytes(p);
  plan.expected_bytes += 2 * partials;
  plan.scratch_bytes = partials + working * held;
}

}  // namespace

bool plan_bundles(const Problem& p, int threads, CpuPlan& plan) {
  if (!has_bundles(p)) return false;
  const Layout& l = p.layout;
  const Bundle b = bundle_of(l);
  const int64_t in_line = bundles_in_line(l, b), bytes = b.chunks * b.parts * acc_bytes(p);
  const int64_t lines = l.outputs * (l.n / (l.reduced[l.reduced_dims - 1].size * l.reduced[l.reduced_dims - 2].size));
  const int64_t fitting = std::min(kBundleBytes, kAllTilesBytes / threads / kBundleRows) / bytes;
  const int64_t most = std::max(fitting / kFewestBundles, int64_t{1}) * kFewestBundles;
  // As few strips as there may be, and one for every thread.
  const int64_t strips = std::max(ceil_div(in_line, most), ceil_div(threads, lines));
  const int64_t strip = ceil_div(ceil_div(in_line, strips), kFewestBundles) * kFewestBundles;
  plan.across = Across::Bundles;
  plan.strip = std::min(strip, in_line);
  plan.strips = ceil_div(in_line, plan.strip);
  plan.tasks = lines * plan.strips;
  finish(p, threads, b.chunks * kChunk, plan.strip * bytes * kBundleRows, plan);
  return true;
}

bool plan_strips(const Problem& p, int threads, bool wide, CpuPlan& plan) {
  if (!has_strips(p, tile_lines(p, threads), wide)) return false;
  const Layout& l = p.layout;
  const int64_t rows = l.reduced[strip_dim(l)].size, length = strip_row_length(l);
  plan.across = Across::Strips;
  plan.strip = std::min(kStripRows, rows / kFewestStripRows * kFewestStripRows);
  const auto held = [&] { return strip_bytes(l, plan.strip, acc_bytes(p), element_bytes(p)); };
  while (plan.strip > kFewestStripRows && threads * held() > kAllTilesBytes) plan.strip -= kFewestStripRows;
  plan.strips = ceil_div(rows, plan.strip);
  plan.tasks = l.outputs * (l.n / (rows * length)) * plan.strips;
  finish(p, threads, length, held(), plan);
  return true;
}

int64_t tile_lines(const Problem& p, int threads) {
  const Layout& l = p.layout;
  if (l.reduced_dims < 2 || l.n <= kChunk) return 0;
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  if (outer.stride == 0 || outer.stride >= inner.stride) return 0;
  const int64_t line = inner.size * element_bytes(p);
  const int64_t share = kAllTilesBytes / threads - kChunk * element_bytes(p);  // a tile comes with a chunk
  const int64_t most = std::min(kMostTileBytes, std::max(kTileBytes, share));
  int64_t lines = std::min(std::max(kTileBytes / line, std::min(kEnoughTileLines, most / line)), outer.size);
  const int64_t whole = kCacheLine / element_bytes(p);  // in squares, but for what is left of the dim
  if (lines > whole) lines -= lines % whole;
  return lines < kFewestTileLines ? 0 : lines;
}

int64_t tile_bytes(const Problem& p, int64_t lines) {
  if (lines == 0) return 0;
  return (lines * p.layout.reduced[p.layout.reduced_dims - 1].size + kChunk) * element_bytes(p);
}

}  // namespace torch_reduce::cpu
