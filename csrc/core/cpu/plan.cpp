#include "plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "../integers.h"
#include "../order.h"
#include "chunk_columns.h"
#include "plan_across.h"
#include "tuning.h"

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

}  // namespace

bool is_for_one_thread(const Layout& l) {
  return l.n <= kParallelAbove && l.outputs <= kParallelAbove && l.n * l.outputs <= kParallelAbove;
}

CpuPlan make_plan(const Problem& p, int threads, const Constraint& constraint, bool wide) {
  const Layout& l = p.layout;
  const auto acc = static_cast<int64_t>(size_of(p.compute));
  const bool many = !is_for_one_thread(l);
  if (!many) threads = 1;
  CpuPlan plan;
  plan.family = choose(l, constraint);
  plan.expected_bytes =
      distinct_elements(l) * static_cast<int64_t>(size_of(p.in)) + l.outputs * static_cast<int64_t>(size_of(p.out));
  if (plan.family == Family::Empty) return plan;
  if (plan.family == Family::Rows && constraint.family < 0 && constraint.split == 0 && has_chunk_columns(p)) {
    Constraint columns;
    columns.family = static_cast<int>(Family::Columns);
    plan = make_plan(chunk_columns(p), threads, columns, wide);
    plan.across = Across::Chunks;
    plan.split = l.n / kChunk;
    plan.scratch_bytes = l.outputs * plan.split * acc;
    plan.expected_bytes += plan.scratch_bytes + l.outputs * static_cast<int64_t>(size_of(p.out));
    return plan;
  }

  if (plan.family == Family::Rows) {
    const bool is_free = constraint.family < 0 && constraint.split == 0;
    if (is_free && (plan_bundles(p, threads, plan) || plan_strips(p, threads, wide, plan))) return plan;
    plan.tile_lines = tile_lines(p, threads);
  }

  const int64_t elements = l.n * l.outputs;
  const int64_t chunks = std::max<int64_t>(chunk_count(l.n), 1), padded = power_of_two_above(chunks);
  int64_t units = l.outputs;  // what can be shared out without cutting an output
  if (plan.family == Family::Columns) {
    const int64_t columns = l.kept[l.kept_dims - 1].size;
    plan.strip = std::min(columns, kStripBytes / acc);
    // Narrower strips where there are too few of them for the threads, and too few chunks to share out instead.
    const int64_t others = l.outputs / columns * padded;
    while (others * ceil_div(columns, plan.strip) < threads && many && plan.strip >= 2 * kManyColumns) {
      plan.strip = ceil_div(plan.strip, 2);
    }
    plan.strips = ceil_div(columns, plan.strip);
    units = l.outputs / columns * plan.strips;
  }

  if (!many && constraint.split == 0) {  // without the divisions below, which a small call would notice
    plan.piece_chunks = padded;
    plan.tasks = plan.grain = units;
    plan.scratch_bytes = tile_bytes(p, plan.tile_lines);
    return plan;
  }
  int64_t wanted = 1;
  if (constraint.split) {
    wanted = constraint.split;
    if (wanted != power_of_two_above(wanted) || wanted > padded) {
      refuse("split is a power of two, at most one piece per chunk of 1024");
    }
  } else if (threads > 1) {
    // Enough tasks that every thread has its share, none of them smaller than a grain.
    while (wanted < padded && units * wanted < threads * kTasksPerThread && elements / (units * wanted * 2) >= kGrain) {
      wanted *= 2;
    }
  }
  plan.piece_chunks = padded / wanted;
  plan.split = ceil_div(chunks, plan.piece_chunks);
  plan.tasks = units * plan.split;
  plan.grain = ceil_div(many ? kGrain : elements, std::max<int64_t>(elements / plan.tasks, 1));
  plan.grain = std::max<int64_t>(plan.grain, 1);
  if (plan.split > 1) plan.scratch_bytes = l.outputs * plan.split * acc;
  plan.expected_bytes += 2 * plan.scratch_bytes;
  plan.scratch_bytes += std::min<int64_t>(threads, plan.tasks) * tile_bytes(p, plan.tile_lines);
  return plan;
}

}  // namespace torch_reduce::cpu
