// Plans of the family that walks down columns.
#include "plan_detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Columns with 2^log_across lanes side by side, cut until there are `wanted` CTAs; with 0 not cut at all. From
// `wide_enough` CTAs on, the GPU has them to spare.
Plan columns_across(const Problem& p, const Shape& s, const Constraint& c, Plan plan, int64_t across, int64_t wanted,
                    int64_t wide_enough) {
  const Layout& l = p.layout;
  const int64_t v = plan.vector ? s.v : 1;
  const int64_t columns = l.kept[l.kept_dims - 1].size, outer = l.outputs / columns;
  const int64_t vectors = ceil_div(columns, v);
  plan.log_across = log2_above(across);

  // Outputs of at most 256 elements have one step; then a batch has more leaves, so that as many loads are in flight.
  const bool one_step = !plan.segmented && l.n <= kLeaves;
  const bool few = plan.vector && !plan.anywhere && l.n <= kLoadsInFlight / 2;
  const int loads = plan.vector ? kLoadsInFlight : kColumnsElementwiseLoads;
  plan.batch_leaves = one_step ? kLoadsInFlight / (few ? 2 : 1) : loads / kSteps;
  const int64_t warp_leaves = kWarp / across * plan.batch_leaves;
  const int64_t warps = ceil_div(std::max<int64_t>(leaf_count(l.n), 1), warp_leaves);  // if each took one batch
  int64_t warps_along = std::min<int64_t>(kColumnsWarps, power_of_two_above(warps));
  // Few CTAs of loads that begin anywhere fit an SM, so they should not be short: a warp takes its columns' every
  // batch.
  if (plan.anywhere && one_step && ceil_div(vectors, across * kColumnsWarps) * outer >= wide_enough) warps_along = 1;
  const int64_t warps_across =
      std::min<int64_t>(kColumnsWarps / warps_along, power_of_two_above(ceil_div(vectors, across)));
  plan.log_warps_along = log2_above(warps_along);
  plan.log_warps_across = log2_above(warps_across);
  plan.block = static_cast<int>(warps_along * warps_across) * kWarp;
  plan.tiles = ceil_div(vectors, across * warps_across) * outer;

  const int64_t steps = ceil_div(warps, warps_along);
  int64_t batches = power_of_two_above(steps);
  while (batches > 1 && plan.tiles * ceil_div(steps, batches) < wanted) batches /= 2;
  batches = steps_per_unit(p, steps, batches, c, plan.tiles);
  plan.log_batches = log2_above(batches);
  plan.units = ceil_div(steps, batches);
  plan.grid = plan.tiles * plan.units;
  const int64_t row_bytes = warps_across * across * v * static_cast<int64_t>(size_of(p.compute));
  plan.shared_bytes = batches * warps_along == 1 ? 0 : warps_along * (plan.log_batches + 1) * row_bytes;
  return plan;
}

}  // namespace

// Uncut columns need no second pass, so they are taken where tiles of at least a cache line fill the GPU. Otherwise the
// tile is a compromise: wide ones suit the memory, narrow ones leave fewer partials. Where the whole problem is small,
// it is as narrow as it must be for there to be none.
void plan_columns(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  const int64_t v = plan.vector ? s.v : 1, element = static_cast<int64_t>(size_of(p.in));
  plan.segmented = plan.vector && !s.column_vector && s.column_segmented;
  plan.anywhere = plan.vector && !s.column_vector && !s.column_segmented;
  const int64_t widest = std::min<int64_t>(kWarp, power_of_two_above(ceil_div(l.kept[l.kept_dims - 1].size, v)));
  auto lanes = [&](int64_t bytes) { return std::min(widest, std::max<int64_t>(bytes / (v * element), 1)); };
  bool lines = true;  // rows start at cache lines, else the edges of narrow tiles would be read twice
  for (int d = 0; d < l.reduced_dims; ++d) lines &= l.reduced[d].stride * element % kLine == 0;
  const bool small = l.outputs * l.n * element <= on_all_sms(gpu, t.columns_small_per_sm);
  const int64_t at_once = plan.anywhere ? kColumnsAnywhereCtasAtOnce : t.columns_ctas_per_sm;
  const int64_t wanted = std::min(at_once, t.columns_ctas_per_sm) * gpu.sms;
  const int64_t wide_enough = t.columns_uncut_ctas_per_sm * gpu.sms;

  if (!c.split && !small) {
    const int64_t least = gpu.sms * t.columns_least_ctas_per_two_sms / 2;
    for (const int64_t enough : {wide_enough, least}) {
      for (int64_t across = widest; across >= lanes(lines ? kLine : kWarp * 16); across /= 2) {
        const Plan uncut = columns_across(p, s, c, plan, across, 0, wide_enough);
        if (uncut.units == 1 && uncut.tiles >= enough && uncut.shared_bytes <= t.columns_shared) {
          plan = uncut;
          return;
        }
      }
    }
  }
  int64_t across = small ? widest : lanes(lines ? t.columns_tile : kWarp * 16);
  Plan cut = columns_across(p, s, c, plan, across, wanted, wide_enough);
  while (across > 1 &&
         (cut.shared_bytes > t.columns_shared || (small && !c.split && cut.units > 1 && across > lanes(kSector)))) {
    across /= 2;
    cut = columns_across(p, s, c, plan, across, wanted, wide_enough);
  }
  plan = cut;
}

}  // namespace torch_reduce::planning
