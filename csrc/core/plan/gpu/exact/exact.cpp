#include "core/plan/gpu/exact.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "core/contract/integers.h"
#include "core/plan/gpu/detail.h"
#include "core/plan/gpu/exact/element_products.h"
#include "core/plan/gpu/exact/products.h"
#include "core/plan/tuning/exact.h"
#include "core/plan/tuning/kernels.h"

namespace torch_reduce::exact {
namespace {

using planning::kMaxGrid;
using planning::kWarp;

// In what kernels of rows of sums and of products differ, beside how they read: the type of the numbers that are added
// up, and loads of a lane.
struct Kernels {
  DType number;
  int loads, most_loads;

  int words() const { return words_of(number); }
};
Kernels kernels_for(const Problem& p) {
  const DType number = accumulated_type(p);
  if (multiplies(p)) return {number, kProductLoads, product_most_loads(p.in)};
  return {number, kRowsLoads, kRowsMostLoads};
}

// Whether lanes side by side should have an output each. These have to be many, and nearer in memory than the elements
// of one, unless those are too few for a warp.
bool outputs_are_near(const Layout& l, DType in) {
  const bool small = l.outputs * l.n * static_cast<int64_t>(size_of(in)) < kColumnsLeastBytes;
  if (small || l.kept_dims == 0 || l.reduced_dims == 0) return false;
  const KeptDim& kept = l.kept[l.kept_dims - 1];
  const ReducedDim& reduced = l.reduced[l.reduced_dims - 1];
  const bool fills_warp = reduced.stride == 1 && reduced.size >= kWarp;
  return kept.size >= kWarp / 4 && (kept.in_stride < reduced.stride || !fills_warp);
}

// No order is kept, so that the layout decides: 16 bytes at a time where lanes stay busy, and else what is near.
Constraint choose(const planning::Shape& s, const Problem& p, bool vectors, bool of_any_place) {
  const Layout& l = p.layout;
  const auto say = [](Family family, bool vector) { return Constraint{static_cast<int>(family), vector, 0}; };
  const bool is_short = l.n <= kShortRowsMost, aligned = s.row_vector || s.row_segmented;
  if (vectors && (s.column_vector || s.column_segmented)) return say(Family::Columns, true);
  if (vectors && s.short_vector) return say(Family::ShortRows, true);
  if (vectors && !is_short && (aligned || of_any_place)) return say(Family::Rows, aligned);
  if (s.columns && outputs_are_near(l, p.in)) return say(Family::Columns, false);
  return say(is_short ? Family::ShortRows : Family::Rows, false);
}

// What is asked of the plan of an ordered sum, of which only the family and the loads are taken; and whether rows at
// any place in memory are read 16 bytes at a time. `numbered`: 32 bits number the outputs, as kernels need that do so.
struct Asked {
  Constraint constraint;
  bool of_any_place;
};

Asked ask_for_sums(const Problem& p, const Problem& ordered, bool numbered, const Constraint& c) {
  const Layout& l = p.layout;
  const int vector = numbered ? c.vector : 0;
  const bool contiguous = l.kept_dims <= 1 && l.reduced_dims == 1 && l.reduced[0].stride == 1 && vector != 0;
  const bool of_any_place = contiguous && (c.family < 0 || c.family == static_cast<int>(Family::Rows));
  if (c.family < 0 && c.vector < 0) {
    return {choose(planning::inspect(ordered), p, numbered, of_any_place), of_any_place};
  }
  return {{c.family, of_any_place ? -1 : vector, 0}, of_any_place};
}

void plan_rows(ExactPlan& plan, const Problem& p, int64_t span, const Gpu& gpu) {
  const Layout& l = p.layout;
  const bool vector = loads_vectors(plan.access);
  RowsPlan& rows = plan.kernel.emplace<RowsPlan>();
  rows.span = span;
  const Kernels kernels = kernels_for(p);
  const int64_t v = vector ? 16 / static_cast<int64_t>(size_of(p.in)) : 1;
  const auto tiles_of = [&](int64_t loads) { return std::max<int64_t>(ceil_div(span, v * loads * kWarp), 1); };
  rows.loads = vector ? kernels.loads : kRowsElements;
  const int64_t tiles = tiles_of(rows.loads);
  int warps = kWarps;
  rows.unit_tiles = tiles;
  if (l.outputs >= kRowsPerSm * gpu.sms || tiles == 1) {
    warps = kWarpRowsWarps;
    const int64_t at_once = std::max<int64_t>(gpu.sms, 1) * kWarpRowsCtasPerSm * warps;
    rows.warp_rows = std::clamp<int64_t>(l.outputs / (at_once * kWarpRowsRounds), 1, kMostWarpRows);
    plan.grid = ceil_div(l.outputs, warps * rows.warp_rows);
  } else {
    if (l.outputs <= kRowsMostWide * gpu.sms && tiles > kWarps) {  // all warps of a CTA, or of several, have a row
      const int64_t units = std::clamp<int64_t>(gpu.sms / l.outputs, 1, kMostUnits);
      warps = tiles >= units * kRowsWarps ? kRowsWarps : kWarps;
      const bool long_enough = tiles_of(kernels.most_loads) >= kRowsMostLoadsTiles * units * warps;
      if (plan.access == Access::Contiguous && long_enough) rows.loads = kernels.most_loads;
      rows.unit_tiles = std::max<int64_t>(ceil_div(tiles_of(rows.loads), units), warps);
      plan.units = ceil_div(tiles_of(rows.loads), rows.unit_tiles);
      rows.log_team = log2_above(warps);
    } else {
      rows.log_team = std::min(log2_above(kWarps), log2_above(tiles));
    }
    plan.grid = ceil_div(l.outputs, warps >> rows.log_team) * plan.units;
  }
  plan.block = warps * kWarp;
  plan.shared_bytes = int64_t{kernels.words()} * warps * copies_per_warp(kernels.number) * 8;
}

void plan_short_rows(ExactPlan& plan, const Problem& p) {
  const bool vector = loads_vectors(plan.access);
  ShortRowsPlan& rows = plan.kernel.emplace<ShortRowsPlan>();
  const int64_t v = vector ? 16 / static_cast<int64_t>(size_of(p.in)) : 1;
  rows.loads = vector || p.layout.n <= kWarp ? 1 : tuning::kShortRowsElements;
  rows.log_lanes = log2_above(ceil_div(std::max<int64_t>(p.layout.n, 1), v * rows.loads));
  const int side_by_side = multiplies(p) ? kShortProductsRows : short_rows_unroll(rows.loads);
  plan.block = kWarps * kWarp;
  plan.grid = ceil_div(p.layout.outputs, kWarps * side_by_side * (kWarp >> rows.log_lanes));
}

void plan_columns(ExactPlan& plan, const Problem& p, const Gpu& gpu) {
  const bool vector = loads_vectors(plan.access);
  const Layout& l = p.layout;
  const int words = words_of(p.in);
  const int64_t v = vector ? 16 / static_cast<int64_t>(size_of(p.in)) : 1;
  const int64_t columns = l.kept[l.kept_dims - 1].size, batch = l.outputs / columns, vectors = ceil_div(columns, v);
  const int64_t lanes = vectors * batch;
  ColumnsPlan c;
  c.log_across = std::min(5, log2_above(vectors));
  const int64_t lanes_wanted = l.n <= kDirectRows       ? 0
                               : l.n <= kDirectSomeRows ? kDirectSomeLanesPerSm
                                                        : kDirectLanesPerSm;
  const bool direct = c.log_across == 5 && l.n <= kDirectMostRows && lanes >= lanes_wanted * gpu.sms;
  int log_warps = log2_above(kWarps);
  if (direct) {
    while (log_warps > 0 && (int64_t{kWarp} << log_warps) > vectors) --log_warps;
    while (log_warps > 1 && ceil_div(vectors, int64_t{kWarp} << log_warps) * batch < 2 * gpu.sms) --log_warps;
    plan.block = kWarp << log_warps;
    plan.grid = ceil_div(vectors, plan.block) * batch;
    plan.kernel = ShortColumnsPlan{plan.grid};
    return;
  }
  const int64_t loads = kColumnsLoads;
  const bool small = l.outputs * l.n * static_cast<int64_t>(size_of(p.in)) <=
                     planning::on_all_sms(gpu, gpu.tuning.columns_small_per_sm);
  if (small) {  // tiles narrow enough that no column is split, down to a memory sector
    const int64_t narrowest = std::min<int64_t>(c.log_across, 1);
    while (c.log_across > narrowest && l.n > (kWarps * loads * kWarp >> c.log_across)) --c.log_across;
  } else if (c.log_across == 5 && v > 4) {  // half a tile's partials: so twice as many CTAs find room for theirs
    c.log_across = 4;
  }
  const int64_t lanes_along = kWarp >> c.log_across;
  while (log_warps > 0 && (lanes_along << (log_warps - 1)) * loads >= l.n) --log_warps;
  plan.block = kWarp << log_warps;
  c.tiles = ceil_div(vectors, int64_t{1} << c.log_across) * batch;
  const int64_t width = v << c.log_across, slices = size_of(p.in) > 2 || !vector ? 2 : 1;
  plan.shared_bytes = (words + (slices << log_warps)) * width * 8;
  c.unit_rows = std::max<int64_t>(l.n, 1);
  const int64_t step = (lanes_along << log_warps) * loads;  // rows that a CTA takes at once
  const int64_t wanted = std::max<int64_t>(kColumnsCtasPerSm * gpu.sms / c.tiles, 1);
  const int64_t room = kMaxScratch / (l.outputs * (words + 2) * 8 + c.tiles * 8);
  const int64_t steps = ceil_div(l.n, step);
  const int64_t units =
      small && steps <= 4 ? 1 : std::max<int64_t>(std::min({wanted, steps, room, kMostColumnUnits}), 1);
  c.unit_rows = std::max<int64_t>(ceil_div(steps, units) * step, 1);
  plan.units = std::max<int64_t>(ceil_div(l.n, c.unit_rows), 1);
  plan.grid = c.tiles * plan.units;
  c.finish_log_across = std::min(5, log2_above(width));
  const auto groups = [&] { return kFinishColumnsThreads >> c.finish_log_across; };
  while (c.finish_log_across > kFinishColumnsLeastLogAcross && groups() < plan.units) {
    --c.finish_log_across;
  }
  const int64_t wanted_groups = std::min<int64_t>(groups(), power_of_two_above(plan.units));
  c.finish_block = std::max(kWarp, static_cast<int>(wanted_groups << c.finish_log_across));
  plan.kernel = c;
}

void plan_sums(ExactPlan& plan, const Problem& p, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  if (c.family == static_cast<int>(Family::Tiles)) planning::refuse("exact sums have no order for tiles to keep");
  Problem ordered = p;  // which family, and which loads, are legal is a matter of the layout alone
  ordered.op = kAccumulated;
  ordered.mode = Mode::Deterministic;
  ordered.compute = ordered.out = p.in == DType::Float64 ? DType::Float64 : DType::Float32;
  const Asked asked = ask_for_sums(p, ordered, l.outputs < kMostNumbered, c);
  const Plan found = make_plan(ordered, gpu, asked.constraint);
  const Family family = family_of(found);
  const bool aligned = found.access == Access::Contiguous || found.access == Access::Segmented;
  plan.access = aligned ? found.access : Access::Strided;
  int64_t span = l.n;
  if (asked.of_any_place && family == Family::Rows && !aligned) {
    plan.access = Access::Contiguous;
    span += 16 / static_cast<int64_t>(size_of(p.in)) - 1;
  }
  if (c.vector == 1 && !loads_vectors(plan.access)) {
    planning::refuse(std::string("no 16-byte loads in ") + name(family));
  }
  switch (family) {
    case Family::Rows:
      plan_rows(plan, p, span, gpu);
      break;
    case Family::ShortRows:
      plan_short_rows(plan, p);
      break;
    default:
      plan_columns(plan, p, gpu);
  }
}

void check_grid(const ExactPlan& plan, const Layout& l) {
  if (plan.grid <= kMaxGrid) return;
  throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs are more than one launch can hold");
}

}  // namespace

Family family_of(const ExactPlan& plan) {
  struct {
    Family operator()(std::monostate) const { return Family::Empty; }
    Family operator()(const RowsPlan&) const { return Family::Rows; }
    Family operator()(const ShortRowsPlan&) const { return Family::ShortRows; }
    Family operator()(const ShortColumnsPlan&) const { return Family::Columns; }
    Family operator()(const ColumnsPlan&) const { return Family::Columns; }
    Family operator()(const ElementProductsPlan&) const { return Family::Rows; }
  } family;
  return std::visit(family, plan.kernel);
}

ExactPlan make_exact_plan(const Problem& p, bool words, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  ExactPlan plan;
  if (l.outputs == 0) return plan;
  plan.words = words;
  if (!multiplies(p)) {
    plan_sums(plan, p, gpu, c);
  } else if (const std::optional<Family> family = vectors_of_products(p, c); !family) {
    plan = plan_element_products(p, outputs_are_near(l, p.in), gpu);
    check_grid(plan, l);
    return plan;
  } else {
    plan.access = Access::Contiguous;
    if (*family == Family::ShortRows) {
      plan_short_rows(plan, p);
    } else {
      const int64_t most_before = rows_are_aligned(p) ? 0 : 16 / static_cast<int64_t>(size_of(p.in)) - 1;
      plan_rows(plan, p, l.n + most_before, gpu);
    }
  }
  check_grid(plan, l);
  const int of_accumulator = kernels_for(p).words();
  const int64_t out_bytes = words ? of_accumulator * 8 : static_cast<int64_t>(size_of(p.out));
  plan.launches = 1;
  if (plan.units > 1) {
    const auto* columns = std::get_if<ColumnsPlan>(&plan.kernel);
    const int64_t partial = l.outputs * (of_accumulator + (columns ? 2 : 4)) * 8 + (columns ? columns->tiles * 8 : 0);
    plan.scratch_bytes = ceil_div(plan.units * partial, 16) * 16;
    plan.launches = 2;
  }
  const int64_t in_bytes = static_cast<int64_t>(size_of(p.in)) * (is_of_two(p) ? 2 : 1);
  plan.expected_bytes = l.outputs * (l.n * in_bytes + out_bytes) + 2 * plan.scratch_bytes;
  return plan;
}

}  // namespace torch_reduce::exact
