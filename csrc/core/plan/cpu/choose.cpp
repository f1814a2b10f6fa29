#include <algorithm>
#include <stdexcept>
#include <string>

#include "core/contract/order.h"
#include "core/plan/cpu/chunk_columns.h"
#include "core/plan/cpu/detail.h"
#include "core/plan/cpu/plan.h"
#include "core/plan/cpu/rows.h"

namespace torch_reduce::cpu {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("reduce: the constraint on the plan is not legal for this tensor: " + what);
}

// Columns where neighbouring outputs lie closer together in memory than neighbours in the order.
bool prefers_columns(const Layout& l) {
  if (l.kept_dims == 0 || l.reduced_dims == 0) return false;
  const KeptDim& kept = l.kept[l.kept_dims - 1];
  const int64_t reduced_stride = l.reduced[l.reduced_dims - 1].stride;
  const bool beside =
      kept.in_stride != 0 && reduced_stride != 1 && (reduced_stride == 0 || kept.in_stride < reduced_stride);
  return beside && (l.n > kLeaves || kept.size >= kNarrowColumns);
}

Family choose(const Layout& l, const Constraint& c) {
  if (l.outputs == 0) return Family::Empty;
  if (c.family >= 0) {
    const auto family = static_cast<Family>(c.family);
    if (family == Family::Empty) refuse("the tensor has outputs");
    if (family == Family::ShortRows && l.n > kLeaves) refuse("short_rows take at most 256 elements per output");
    if (family == Family::Columns && l.kept_dims == 0) refuse("columns need more than one output");
    if (family == Family::Tiles) refuse("tiles are the GPU's");
    return family;
  }
  if (prefers_columns(l)) return Family::Columns;
  return l.n <= kLeaves ? Family::ShortRows : Family::Rows;
}

// Elements that differ in address; an expanded dim is read from memory once.
int64_t distinct_elements(const Layout& l) {
  int64_t count = l.n != 0 && l.outputs != 0;
  for (int d = 0; d < l.kept_dims; ++d) count *= l.kept[d].in_stride ? l.kept[d].size : 1;
  for (int d = 0; d < l.reduced_dims; ++d) count *= l.reduced[d].stride ? l.reduced[d].size : 1;
  return count;
}

// What waits of a strip's trees over `chunks` chunks: a row at each level, and the one that is to come.
int64_t column_stack_bytes(const Problem& p, int64_t strip, int64_t chunks) {
  return (log2_above(chunks * kLeaves) + 2) * strip * accumulator_bytes(p);
}

// How many pieces, a power of two, an output is cut into, so that every thread has its share of `units` outputs or
// strips of them, and no task is smaller than a grain.
int64_t pieces_for(int threads, int64_t units, int64_t elements, int64_t padded_chunks) {
  int64_t pieces = 1;
  while (threads > 1 && pieces < padded_chunks && units * pieces < threads * kTasksPerThread &&
         elements / (units * pieces * 2) >= kGrain) {
    pieces *= 2;
  }
  return pieces;
}

// As wide as is good for the first caches; narrower where there are too few strips for the threads and too few chunks
// to share out instead, or where all of them would hold too much.
int64_t strip_of_columns(const Problem& p, int threads, int64_t padded_chunks) {
  const Layout& l = p.layout;
  const int64_t columns = l.kept[l.kept_dims - 1].size;
  int64_t strip = std::min(columns, kColumnStripBytes / accumulator_bytes(p));
  if (threads == 1) return strip;
  const auto units = [&] { return l.outputs / columns * ceil_div(columns, strip); };
  const auto too_few = [&] { return units() * padded_chunks < threads; };
  const auto too_much = [&] {
    const int64_t pieces = pieces_for(threads, units(), l.n * l.outputs, padded_chunks);
    return threads * column_stack_bytes(p, strip, padded_chunks / pieces) > kAllHeldBytes;
  };
  while (strip >= 2 * kManyColumns && (too_few() || too_much())) strip = ceil_div(strip, 2);
  return strip;
}

// CpuPlan::block_rows. Integers have no blocks, and of extremes only those with ExtremeVectors have.
int64_t block_rows(const Problem& p, int vectors, const CpuPlan& plan) {
  const Layout& l = p.layout;
  if (l.reduced_dims == 0 || l.kept[l.kept_dims - 1].in_stride != 1) return 0;
  if (!is_floating(p.compute) || !is_floating(p.in) || !is_read_directly(p, vectors) || !takes_elements(p)) return 0;
  const auto size = static_cast<int64_t>(size_of(p.in));
  const bool is_extreme = traits_of(p.op).selects;
  if (is_extreme && (size == 8 || vectors == 16)) return 0;
  const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
  const int64_t fewest =
      fewest_block_rows(inner.stride * size, plan.strip * size, size, is_extreme, plan.expected_bytes);
  return inner.size < fewest ? 0 : fewest;
}

// Every chunk is an output of another problem, whose results are partials.
CpuPlan plan_chunks(const Problem& p, int threads, int vectors, int64_t expected_bytes) {
  Constraint columns;
  columns.family = static_cast<int>(Family::Columns);
  CpuPlan plan = make_plan(chunk_columns(p), threads, columns, vectors);
  plan.access = Access::Chunks;
  plan.split = p.layout.n / kChunk;
  plan.partial_bytes = p.layout.outputs * plan.split * accumulator_bytes(p);
  plan.expected_bytes = expected_bytes + 2 * plan.partial_bytes;
  return plan;
}

}  // namespace

const char* name(Access access) {
  constexpr const char* names[] = {"straight", "segments", "tiles", "chunks", "bundles", "strips"};
  return names[static_cast<int>(access)];
}

bool is_for_one_thread(const Layout& l) {
  return l.n <= kParallelAbove && l.outputs <= kParallelAbove && l.n * l.outputs <= kParallelAbove;
}

bool is_read_directly(const Problem& p, int vectors) {
  const TraitsOf op = traits_of(p.op);
  if (vectors == 0 && !is_order_free(p.op, p.compute)) return false;
  if (p.tested) return op.adds && !op.lifts_integers;
  if (is_float8(p.in)) return false;
  const bool fits = p.compute == DType::Float64 ? op.fits_vectors_of_doubles : op.fits_vectors;
  if (!fits || (!is_floating(p.compute) && op.lifts_integers)) return false;
  if (!is_floating(p.in)) return p.compute == DType::Int64;
  if (op.has_wider_kernels && (p.in != DType::Float64 || p.compute == DType::Endless)) return is_floating(p.compute);
  return is_floating(p.compute) && (p.in == DType::Float64) == (p.compute == DType::Float64);
}

bool takes_elements(const Problem& p) { return !traits_of(p.op).lifts && has_scalars(traits_of(p.op), p.compute); }

void share_out(int threads, int64_t least, CpuPlan& plan) {
  plan.workers = std::min<int64_t>(threads, ceil_div(plan.tasks, least));
  if (plan.held_bytes > 0) plan.workers = std::min(plan.workers, kAllHeldBytes / plan.held_bytes);
  plan.workers = std::max<int64_t>(plan.workers, 1);
}

CpuPlan make_plan(const Problem& p, int threads, const Constraint& constraint, int vectors) {
  const Layout& l = p.layout;
  if (is_for_one_thread(l)) threads = 1;
  CpuPlan plan;
  plan.family = choose(l, constraint);
  plan.expected_bytes =
      distinct_elements(l) * static_cast<int64_t>(size_of(p.in)) + l.outputs * static_cast<int64_t>(size_of(p.out));
  if (plan.family == Family::Empty) return plan;
  if (plan.family == Family::Rows) {
    if (constraint.family < 0 && constraint.split == 0) {
      if (has_chunk_columns(p)) return plan_chunks(p, threads, vectors, plan.expected_bytes);
      if (plan_bundles(p, threads, vectors, plan) || plan_strips(p, threads, vectors, plan)) return plan;
    }
    plan_tiles(p, threads, vectors, plan);
  }

  const int64_t chunks = std::max<int64_t>(chunk_count(l.n), 1), padded = power_of_two_above(chunks);
  int64_t units = l.outputs;  // what can be shared out without cutting an output
  if (plan.family == Family::Columns) {
    const int64_t columns = l.kept[l.kept_dims - 1].size;
    plan.strip = strip_of_columns(p, threads, padded);
    plan.strips = ceil_div(columns, plan.strip);
    units = l.outputs / columns * plan.strips;
  }

  const int64_t elements = l.n * l.outputs;
  int64_t pieces = constraint.split;
  if (pieces == 0) {
    pieces = pieces_for(threads, units, elements, padded);
  } else if (pieces != power_of_two_above(pieces) || pieces > padded) {
    refuse("split is a power of two, at most one piece per chunk of 1024");
  }
  plan.piece_chunks = padded;
  if (pieces > 1) {  // a small call would notice the divisions
    plan.piece_chunks /= pieces;
    plan.split = ceil_div(chunks, plan.piece_chunks);
    plan.partial_bytes = l.outputs * plan.split * accumulator_bytes(p);
    plan.expected_bytes += 2 * plan.partial_bytes;
  }
  plan.tasks = units * plan.split;

  if (plan.family == Family::Columns) {
    plan.held_bytes = whole_lines(column_stack_bytes(p, plan.strip, plan.piece_chunks));
    plan.block_rows = block_rows(p, vectors, plan);
  } else if (plan.family == Family::Rows && plan.access == Access::Straight && plan.split == 1) {
    plan_segments(p, threads, vectors, plan);
  }
  if (threads > 1) share_out(threads, ceil_div(kGrain, std::max<int64_t>(elements / plan.tasks, 1)), plan);
  return plan;
}

}  // namespace torch_reduce::cpu
