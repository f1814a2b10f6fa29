// Plans of the family that walks down columns.
#include "plan_detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// The lanes that a plan's warps may have side by side.
struct Lanes {
  int64_t v;              // columns of each
  int64_t vectors;        // of so many columns in the innermost kept dim
  int64_t widest;         // most lanes side by side
  int64_t narrowest = 1;  // where memory alone would have fewer
  int64_t helpers = 0;    // of those side by side, the last ones, which have no columns of their own
  bool idle_warps = true;
};

struct Cut {
  int64_t across;                 // lanes side by side
  int64_t wanted;                 // CTAs, until there are so many columns are cut; 0: they are not
  int64_t warps = kColumnsWarps;  // of a CTA, at most
};

constexpr int64_t kLeastLanesAnywhere = 8;
constexpr int64_t kLeastLanesOfRows = 16;  // fewer read too much beside what they need

// Lanes of columns that begin anywhere, of which the last one only reads for the one before: as few side by side as
// leave a tenth more of them busy. Idle warps would hold too many registers.
Lanes lanes_anywhere(int64_t v, int64_t vectors) {
  Lanes lanes{v, vectors, std::min<int64_t>(kWarp, power_of_two_above(vectors + 1))};
  lanes.helpers = 1;
  lanes.idle_warps = false;
  const auto busy = [&](int64_t across) { return ceil_div(vectors, across - 1) * across; };
  for (int64_t across = lanes.widest / 2; across >= kLeastLanesOfRows; across /= 2) {
    if (busy(across) * 11 <= busy(lanes.widest) * 10) lanes.widest = across;
  }
  lanes.narrowest = std::min(lanes.widest, kLeastLanesAnywhere);
  return lanes;
}

Lanes lanes_of(const Plan& plan, const Problem& p, const Shape& s) {
  const int64_t v = plan.vector  ? s.v
                    : plan.pairs ? 2
                                 : 1,
                vectors = ceil_div(p.layout.kept[p.layout.kept_dims - 1].size, v);
  if (plan.anywhere) return lanes_anywhere(v, vectors);
  return {v, vectors, std::min<int64_t>(kWarp, power_of_two_above(vectors))};
}

// CTAs that are enough for columns not to be cut.
int64_t enough_uncut(const Gpu& gpu) { return gpu.tuning.columns_uncut_ctas_per_sm * gpu.sms; }

// Whether a thread adds up its columns two to a register (packed_columns.cuh).
bool packed(const Plan& plan, const Problem& p) {
  return plan.vector && size_of(p.in) == 1 && (p.op == Op::Sum || p.op == Op::Mean);
}

// Of an SM, as the kernels are compiled.
int64_t ctas_at_once(const Plan& plan, const Problem& p, const Lanes& lanes) {
  const int64_t column_bytes = lanes.v * (packed(plan, p) ? 2 : static_cast<int64_t>(size_of(p.compute)));
  return columns_ctas_at_once(plan.anywhere, column_bytes, plan.vector ? kLoadsInFlight : kColumnsElementwiseLoads);
}

Plan columns_across(Plan plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, const Constraint& c,
                    const Cut& cut) {
  const Layout& l = p.layout;
  const int64_t outer = l.outputs / l.kept[l.kept_dims - 1].size;
  const int64_t owners = cut.across - lanes.helpers, needed = ceil_div(lanes.vectors, owners);
  plan.log_across = log2_above(cut.across);

  // Outputs of at most 256 elements have one step; then a batch has more leaves, so that as many loads are in flight.
  const bool one_step = !plan.segmented && l.n <= kLeaves;
  const int loads = plan.vector ? kLoadsInFlight : kColumnsElementwiseLoads;
  plan.batch_leaves = one_step ? kLoadsInFlight : loads / kSteps;
  const int64_t warp_leaves = kWarp / cut.across * plan.batch_leaves;
  const int64_t warps = ceil_div(std::max<int64_t>(leaf_count(l.n), 1), warp_leaves);  // if each took one batch
  int64_t warps_along = std::min(cut.warps, power_of_two_above(warps));
  // A warp that takes its columns' every batch has a longer life than one of several along them, and less of it is
  // start and end. Where the tensor's rows are wide, CTAs are many and long anyway.
  const bool many = ceil_div(lanes.vectors, owners * cut.warps) * outer >= enough_uncut(gpu);
  if ((plan.anywhere || outer > 1) && one_step && many) warps_along = 1;
  int64_t warps_across = std::min(cut.warps / warps_along, power_of_two_above(needed));
  const auto mostly_idle = [&] { return ceil_div(needed, warps_across) * warps_across * 10 > needed * 11; };
  while (!lanes.idle_warps && warps_across > 1 && mostly_idle()) warps_across /= 2;
  plan.log_warps_along = log2_above(warps_along);
  plan.log_warps_across = log2_above(warps_across);
  plan.block = static_cast<int>(warps_along * warps_across) * kWarp;
  plan.tile_columns = owners * warps_across * lanes.v;
  plan.tiles = ceil_div(l.kept[l.kept_dims - 1].size, plan.tile_columns) * outer;

  const int64_t steps = ceil_div(warps, warps_along);
  int64_t batches = power_of_two_above(steps);
  // With a batch each, all of a wave's CTAs ask for everything at once, and then nothing is under way any more: better
  // half as many, as long as every SM has one. (8192, 768) over 0 of bf16 took 7.5 us with 384 and 6.4 with 192.
  const int64_t least = plan.vector && plan.tiles * ceil_div(steps, 2) >= gpu.sms ? 2 : 1;
  while (batches > least && plan.tiles * ceil_div(steps, batches) < cut.wanted) batches /= 2;
  batches = steps_per_unit(p, steps, batches, c, plan.tiles);
  plan.log_batches = log2_above(batches);
  plan.units = ceil_div(steps, batches);
  plan.grid = plan.tiles * plan.units;
  const int64_t row_bytes = plan.tile_columns * static_cast<int64_t>(size_of(p.compute));
  const bool in_registers = batches * warps_along == 1 && !packed(plan, p);
  plan.shared_bytes = in_registers ? 0 : warps_along * (plan.log_batches + 1) * row_bytes;
  return plan;
}

// Columns cut as said; but if that leaves some CTAs to run when the others have ended, in CTAs of half as many warps,
// twice as many of which run at once. Where four of an SM do, only if those left are few: (128, 1024, 512) over 1 of
// fp32, with 1024 CTAs for 528, took 61 us by eight warps each and 67 by four.
Plan columns_at_once(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, const Constraint& c,
                     Cut cut) {
  const Plan whole = columns_across(plan, p, lanes, gpu, c, cut);
  const int64_t of_sm = ctas_at_once(plan, p, lanes), at_once = of_sm * gpu.sms;
  const int64_t most = of_sm < kColumnsCtasAtOnce ? 2 * at_once : at_once * 7 / 5;
  if (whole.grid <= at_once || whole.grid > most || whole.log_warps_along == 0) return whole;
  cut.warps = kColumnsWarps / 2;
  cut.wanted = whole.units > 1 ? whole.grid : 0;
  const Plan halved = columns_across(plan, p, lanes, gpu, c, cut);
  return halved.grid == whole.grid ? halved : whole;
}

// Columns of a few elements: a thread for each load's width of them, or for a pair.
bool plan_stacked(Plan& plan, const Problem& p, const Lanes& lanes, const Constraint& c) {
  const Layout& l = p.layout;
  const int64_t threads = l.outputs / lanes.v;
  if (plan.vector ? plan.segmented || plan.anywhere : !plan.pairs || !pairs_are_stacked(l)) return false;
  if (c.split) return false;
  if (l.n == 0 || l.n > kStackedLeaves || threads >= kMaxGrid) return false;
  plan.stacked = true;
  plan.tiles = threads;
  plan.tile_columns = lanes.v;
  plan.block = kStackedThreads;
  plan.grid = ceil_div(threads, kStackedThreads);
  return true;
}

}  // namespace

int64_t cluster_bytes(const Plan& plan, const Problem& p) {
  return plan.units * plan.tile_columns * static_cast<int64_t>(size_of(p.compute));
}

bool columns_meet_in_clusters(const Plan& plan, const Problem& p) {
  constexpr int64_t kMostShared = int64_t{47} << 10;  // of a CTA, without the kernel's consent, but for its variables
  const bool has_code = !plan.vector || plan.segmented || plan.anywhere;
  return has_code && plan.shared_bytes + cluster_bytes(plan, p) <= kMostShared;
}

// Uncut columns need no second pass, so they are taken where tiles of at least a cache line fill the GPU. Otherwise the
// tile is a compromise: wide ones suit the memory, narrow ones leave fewer partials. Where the whole problem is small,
// it is as narrow as it must be for there to be none.
void plan_columns(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  const int64_t element = static_cast<int64_t>(size_of(p.in));
  // Segmented columns have no kernel for leaves of one element, and 71 elements of four steps left three of four loads
  // without any: (1240, 71, 184, 4) over 1, sliced, of bf16 took 138 us, 90 % of the SMs' slots.
  const bool one_element = l.n <= kLeaves && s.column_anywhere;
  plan.segmented = plan.vector && !s.column_vector && s.column_segmented && !one_element;
  plan.anywhere = plan.vector && !s.column_vector && !plan.segmented;
  plan.pairs = !plan.vector && s.column_pairs && (c.vector == 0 || l.n * l.outputs >= kColumnsPairsLeast);
  const Lanes lanes = lanes_of(plan, p, s);
  if (plan_stacked(plan, p, lanes, c)) return;

  const auto lanes_for = [&](int64_t bytes) {
    return std::min(lanes.widest, std::max(bytes / (lanes.v * element), lanes.narrowest));
  };
  bool lines = true;  // rows start at cache lines, else the edges of narrow tiles would be read twice
  for (int d = 0; d < l.reduced_dims; ++d) lines &= l.reduced[d].stride * element % kLine == 0;
  const int64_t bytes = l.outputs * l.n * element, small_bytes = on_all_sms(gpu, t.columns_small_per_sm);
  const bool small = bytes <= small_bytes, large = bytes > kColumnsLarge * small_bytes,
             huge = bytes > kColumnsHuge * small_bytes;
  int64_t per_sm = std::min(ctas_at_once(plan, p, lanes), t.columns_ctas_per_sm);
  if (plan.anywhere && !large) per_sm = std::min(per_sm, kColumnsAnywhereCtasPerSm);
  if ((!plan.vector && large) || (plan.anywhere && huge)) per_sm *= kColumnsWaves;
  const int64_t wanted = per_sm * gpu.sms;

  if (!c.split && !small) {
    const int64_t least = gpu.sms * t.columns_least_ctas_per_two_sms / 2;
    for (const int64_t enough : {enough_uncut(gpu), least}) {
      for (int64_t across = lanes.widest; across >= lanes_for(lines ? kLine : kWarp * 16); across /= 2) {
        const Plan uncut = columns_at_once(plan, p, lanes, gpu, c, {across, 0});
        if (uncut.units == 1 && uncut.tiles >= enough && uncut.shared_bytes <= t.columns_shared) {
          plan = uncut;
          return;
        }
      }
    }
  }
  int64_t across = small ? lanes.widest : lanes_for(lines ? t.columns_tile : kWarp * 16);
  Plan cut = columns_at_once(plan, p, lanes, gpu, c, {across, wanted});
  while (across > 1 + lanes.helpers &&
         (cut.shared_bytes > t.columns_shared || (small && !c.split && cut.units > 1 && across > lanes_for(kSector)))) {
    across /= 2;
    cut = columns_at_once(plan, p, lanes, gpu, c, {across, wanted});
  }
  // Narrow tiles were for sparing the second pass. Where there is one anyway, few partials are better: (1, 1, 2846,
  // 654) over 3 of bf16 took 6.2 us with 192 CTAs and 5.1 with 96.
  if (small && plan.anywhere && cut.units > 1 && !c.split) {
    const Plan wide = columns_at_once(plan, p, lanes, gpu, c, {lanes.widest, gpu.sms * 2 / 3});
    if (wide.shared_bytes <= t.columns_shared) cut = wide;
  }
  const bool in_clusters = fits_clusters(cut, gpu) && columns_meet_in_clusters(cut, p);
  if (cut.units > 1 && !c.split && !plan.anywhere && !in_clusters) {
    const Plan uncut = columns_across(plan, p, lanes, gpu, c, {across, 0});
    if (uncut.log_batches <= uncut_log_batches(plan.vector, element) && uncut.shared_bytes <= t.columns_shared)
      cut = uncut;
  }
  plan = cut;
}

}  // namespace torch_reduce::planning
