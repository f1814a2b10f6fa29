#include "core/plan/gpu/columns_cut.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

constexpr int64_t kLeastLanesUnaligned = 8;
constexpr int64_t kLeastLanesOfRows = 16;  // fewer read too much beside what they need

// Lanes of unaligned columns, of which the last one only reads for the one before: as few side by side as
// leave a tenth more of them busy. Idle warps would hold too many registers.
Lanes lanes_unaligned(int64_t v, int64_t partial_bytes, int64_t vectors) {
  Lanes lanes{v, partial_bytes, vectors, std::min<int64_t>(kWarp, power_of_two_above(vectors + 1))};
  lanes.helpers = 1;
  lanes.idle_warps = false;
  const auto busy = [&](int64_t across) { return ceil_div(vectors, across - 1) * across; };
  for (int64_t across = lanes.widest / 2; across >= kLeastLanesOfRows; across /= 2) {
    if (busy(across) * 11 <= busy(lanes.widest) * 10) lanes.widest = across;
  }
  lanes.narrowest = std::min(lanes.widest, kLeastLanesUnaligned);
  return lanes;
}

bool packed(const Plan& plan, const Problem& p) { return kernels::packs_columns(kernels::types_of(p), plan.access); }

// Rows of partials that a warp keeps in shared memory: a level for each power of two of its batches, but of those that
// packed columns add up in registers.
int64_t levels_of_warp(const Plan& plan, const Problem& p) {
  return std::max(columns(plan).log_batches - (packed(plan, p) ? columns(plan).log_across : 0), 0) + 1;
}

}  // namespace

Lanes lanes_of(const Plan& plan, const Problem& p, const Shape& s) {
  const int64_t v = loads_vectors(plan.access)     ? s.v
                    : plan.access == Access::Pairs ? 2
                                                   : 1,
                partial_bytes = v * accumulator_bytes(p),
                vectors = ceil_div(p.layout.kept[p.layout.kept_dims - 1].size, v);
  if (plan.access == Access::Unaligned) return lanes_unaligned(v, partial_bytes, vectors);
  return {v, partial_bytes, vectors, std::min<int64_t>(kWarp, power_of_two_above(vectors))};
}

kernels::ColumnsBatch columns_batch(const Plan& plan, const Problem& p) {
  return kernels::columns_batch(kernels::types_of(p), plan.access, columns(plan).steps);
}

Plan columns_cut(Plan plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, const Constraint& c, const Cut& cut) {
  const Layout& l = p.layout;
  const int64_t outer = l.outputs / l.kept[l.kept_dims - 1].size;
  const int64_t owners = cut.across - lanes.helpers, needed = ceil_div(lanes.vectors, owners);
  columns(plan).log_across = log2_above(cut.across);

  // Of fewer steps a batch has more leaves, so that as many loads are in flight.
  const int steps = columns(plan).steps;
  const bool vector = loads_vectors(plan.access);
  columns(plan).batch_leaves = columns_batch(plan, p).loads / steps;
  const int64_t warps =
      ceil_div(std::max<int64_t>(leaf_count(l.n), 1), leaves_of_warp(plan));  // if each took one batch
  int64_t warps_along = std::min(cut.warps, power_of_two_above(warps));
  // A warp that takes its columns' every batch has a longer life than one of several along them, and less of it is
  // start and end. Where the tensor's rows are wide, CTAs are many and long anyway.
  const bool many = ceil_div(lanes.vectors, owners * cut.warps) * outer >= enough_uncut(gpu);
  if ((plan.access == Access::Unaligned || outer > 1) && steps == 1 && many) warps_along = 1;
  int64_t warps_across = std::min(cut.warps / warps_along, power_of_two_above(needed));
  const auto mostly_idle = [&] { return ceil_div(needed, warps_across) * warps_across * 10 > needed * 11; };
  while (!lanes.idle_warps && warps_across > 1 && mostly_idle()) warps_across /= 2;
  columns(plan).log_warps_along = log2_above(warps_along);
  columns(plan).log_warps_across = log2_above(warps_across);
  plan.block = static_cast<int>(warps_along * warps_across) * kWarp;
  columns(plan).tile_columns = owners * warps_across * lanes.v;
  columns(plan).tiles = ceil_div(l.kept[l.kept_dims - 1].size, columns(plan).tile_columns) * outer;

  const int64_t batches_down = ceil_div(warps, warps_along);
  int64_t batches = power_of_two_above(batches_down);
  // With a batch each, all of a wave's CTAs ask for everything at once, and then nothing is under way any more: better
  // half as many, as long as every SM has one.
  const int64_t least = vector && columns(plan).tiles * ceil_div(batches_down, 2) >= gpu.sms ? 2 : 1;
  const auto may_be_halved = [&] {
    const int64_t units = ceil_div(batches_down, batches / 2);
    return units <= cut.units && columns(plan).tiles * units <= cut.ctas;
  };
  while (batches > least && columns(plan).tiles * ceil_div(batches_down, batches) < cut.wanted && may_be_halved())
    batches /= 2;
  batches = steps_per_unit(p, batches_down, batches, c, columns(plan).tiles);
  columns(plan).log_batches = log2_above(batches);
  plan.units = ceil_div(batches_down, batches);
  plan.grid = columns(plan).tiles * plan.units;
  const int64_t row_bytes = columns(plan).tile_columns * accumulator_bytes(p);
  plan.shared_bytes = warps_along * levels_of_warp(plan, p) * row_bytes;
  const int64_t ctas_at_once = int64_t{columns_batch(plan, p).ctas_at_once} * kColumnsWarps * kWarp / plan.block;
  columns(plan).shared_at_once = ctas_at_once * (plan.shared_bytes + kSharedReserved);
  return plan;
}

}  // namespace torch_reduce::planning
