// Plans of the family that walks down columns.
#include "core/plan/gpu/columns_cut.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Columns cut as said; but if that leaves some CTAs to run when the others have ended, in units of half the size where
// that fills the last wave better, or else in CTAs of half as many warps, twice as many of which run at once. Where
// four of an SM do, only the latter, and only if those left are few.
Plan columns_at_once(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, const Constraint& c,
                     Cut cut) {
  const Plan whole = columns_cut(plan, p, lanes, gpu, c, cut);
  const int64_t of_sm = columns_batch(plan, p).ctas_at_once, at_once = of_sm * gpu.sms;
  const bool has_few = of_sm < kColumnsCtasAtOnce;
  const int64_t most = has_few ? 2 * at_once : at_once * 7 / 5;
  if (whole.grid <= at_once || whole.grid > most || columns(whole).log_warps_along == 0) return whole;
  if (has_few && whole.units > 1) {
    const auto in_waves = [&](int64_t grid) { return ceil_div(grid, at_once) * at_once; };
    Cut finer = cut;
    finer.wanted = 2 * whole.grid;
    const Plan twice = columns_cut(plan, p, lanes, gpu, c, finer);
    if (twice.grid * in_waves(whole.grid) > whole.grid * in_waves(twice.grid)) return twice;
  }
  cut.warps = kColumnsWarps / 2;
  cut.wanted = whole.units > 1 ? whole.grid : 0;
  const Plan halved = columns_cut(plan, p, lanes, gpu, c, cut);
  return halved.grid == whole.grid ? halved : whole;
}

// Whether all CTAs run at once, and leave few places empty: each lives as long as the kernel, so less of it is start
// and end. Batches of several words, which meet for long, are better spread over more waves; tiles that take much
// shared memory leave less of it to the caches.
bool is_one_wave(const Plan& plan, const Problem& p, const Gpu& gpu) {
  const kernels::Types types = kernels::types_of(p);
  if (p.layout.n <= kLeaves || !(kernels::are_scalar(types) || kernels::have_plain_columns(types, plan.access)))
    return false;
  if (2 * plan.shared_bytes > gpu.tuning.columns_shared) return false;
  const int64_t at_once = columns_batch(plan, p).ctas_at_once * kColumnsWarps * kWarp / plan.block * gpu.sms;
  return plan.grid <= at_once && 10 * plan.grid >= 9 * at_once;
}

// Columns of a few elements: a thread for each load's width of them, or for a pair.
bool plan_stacked(Plan& plan, const Problem& p, const Lanes& lanes, const Constraint& c) {
  const Layout& l = p.layout;
  const int64_t threads = l.outputs / lanes.v;
  if (!kernels::have_stacked_columns(kernels::types_of(p), plan.access)) return false;
  if (plan.access == Access::Pairs && (l.reduced_dims > 1 || l.kept_dims > 2)) return false;
  if (c.split) return false;
  if (l.n == 0 || l.n > kStackedLeaves || threads >= kMaxGrid) return false;
  plan.kernel = StackedPlan{threads, lanes.v};
  plan.block = kStackedThreads;
  plan.grid = ceil_div(threads, kStackedThreads);
  return true;
}

}  // namespace

int64_t cluster_bytes(const Plan& plan, const Problem& p) {
  return plan.units * columns(plan).tile_columns * accumulator_bytes(p);
}

bool columns_meet_in_clusters(const Plan& plan, const Problem& p) {
  constexpr int64_t kMostShared = int64_t{47} << 10;  // of a CTA, without the kernel's consent, but for its variables
  const bool has_code = columns_cluster_code(plan) != kernels::ClusterCode::None;
  return has_code && plan.shared_bytes + cluster_bytes(plan, p) <= kMostShared;
}

// Not many bytes are best done in one launch (columns_once.cpp). Of more, uncut columns need no second pass
// either, so they are taken where tiles of at least a cache line fill the GPU. Otherwise the tile is a compromise: wide
// ones suit the memory, narrow ones leave fewer partials. Where the whole problem is small, it is as narrow as it must
// be for there to be none.
void plan_columns(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  const int64_t element = static_cast<int64_t>(size_of(p.in));
  // Segmented columns have no kernel for leaves of one element, and would leave most of their loads without any.
  const bool one_element = l.n <= kLeaves && s.column_unaligned;
  plan.kernel.emplace<ColumnsPlan>();
  plan.access = !vector                              ? (s.column_pairs ? Access::Pairs : Access::Strided)
                : s.column_vector                    ? Access::Contiguous
                : s.column_segmented && !one_element ? Access::Segmented
                                                     : Access::Unaligned;
  columns(plan).steps = kernels::columns_steps(kernels::types_of(p), plan.access, l.n);
  const bool unaligned = plan.access == Access::Unaligned;
  const Lanes lanes = lanes_of(plan, p, s);
  if (plan_stacked(plan, p, lanes, c)) return;

  const auto lanes_for = [&](int64_t bytes) {
    return std::min(lanes.widest, std::max(bytes / (lanes.v * element), lanes.narrowest));
  };
  bool lines = true;  // rows start at cache lines, else the edges of narrow tiles would be read twice
  for (int d = 0; d < l.reduced_dims; ++d) lines &= l.reduced[d].stride * element % kLine == 0;
  const int64_t bytes = l.outputs * l.n * element, small_bytes = on_all_sms(gpu, t.columns_small_per_sm);
  const bool small = bytes <= small_bytes, large = bytes > kColumnsLarge * small_bytes;
  int64_t per_sm = std::min<int64_t>(columns_batch(plan, p).ctas_at_once, t.columns_ctas_per_sm);
  if (unaligned && !large) per_sm = std::min(per_sm, kColumnsUnalignedCtasPerSm);
  if (!vector && large) per_sm *= kColumnsWaves;
  const int64_t wanted = per_sm * gpu.sms;

  if (!c.split && vector && l.n > kLeaves && bytes <= kColumnsOnceMost * small_bytes) {
    const Plan once = columns_in_one_launch(plan, p, lanes, gpu, lanes_for(kSector));
    if (once.grid > 0) {
      plan = once;
      return;
    }
  }
  if (!c.split && !small) {
    // The widest tile that is good enough, by what is wanted first.
    const auto take = [&](auto is_good) {
      for (int64_t across = lanes.widest; across >= lanes_for(lines ? kLine : kWarp * 16); across /= 2) {
        const Plan uncut = columns_at_once(plan, p, lanes, gpu, c, {across, 0});
        if (uncut.units > 1 || uncut.shared_bytes > t.columns_shared || !is_good(uncut)) continue;
        plan = uncut;
        return true;
      }
      return false;
    };
    const auto has = [&](int64_t tiles) { return [=](const Plan& uncut) { return columns(uncut).tiles >= tiles; }; };
    const auto fills_one_wave = [&](const Plan& uncut) { return is_one_wave(uncut, p, gpu); };
    const int64_t least = gpu.sms * t.columns_least_ctas_per_two_sms / 2;
    if (take(fills_one_wave) || take(has(enough_uncut(gpu))) || take(has(least))) return;
  }
  int64_t across = small ? lanes.widest : lanes_for(lines ? t.columns_tile : kWarp * 16);
  across = std::min(across, std::max(power_of_two_below(std::max<int64_t>(kColumnsPartialRow / lanes.partial_bytes, 1)),
                                     lanes.narrowest));
  Plan cut = columns_at_once(plan, p, lanes, gpu, c, {across, wanted});
  while (across > 1 + lanes.helpers &&
         (cut.shared_bytes > t.columns_shared || (small && !c.split && cut.units > 1 && across > lanes_for(kSector)))) {
    across /= 2;
    cut = columns_at_once(plan, p, lanes, gpu, c, {across, wanted});
  }
  // Narrow tiles were for sparing the second pass. Where there is one anyway, few partials are better.
  if (small && unaligned && cut.units > 1 && !c.split) {
    const Plan wide = columns_at_once(plan, p, lanes, gpu, c, {lanes.widest, gpu.sms * 2 / 3});
    if (wide.shared_bytes <= t.columns_shared) cut = wide;
  }
  const bool in_clusters = fits_clusters(cut, gpu) && columns_meet_in_clusters(cut, p);
  if (cut.units > 1 && !c.split && !unaligned && !in_clusters) {
    const Plan uncut = columns_cut(plan, p, lanes, gpu, c, {across, 0});
    if (columns(uncut).log_batches <= uncut_log_batches(vector, element) && uncut.shared_bytes <= t.columns_shared)
      cut = uncut;
  }
  plan = cut;
}

}  // namespace torch_reduce::planning
