// Columns in one launch: where all SMs together read the whole tensor in a few loads each, a second pass takes as long
// again.
#include "plan_columns_cut.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// What the busiest CTA reads.
int64_t bytes_of_cta(const Plan& plan, const Problem& p) {
  const int64_t leaves_of_batch = int64_t{kWarp >> plan.log_across} * plan.batch_leaves;
  const int64_t rows = kSteps * leaves_of_batch << (plan.log_batches + plan.log_warps_along);
  return std::min(rows, p.layout.n) * plan.tile_columns * static_cast<int64_t>(size_of(p.in));
}

// Whether it is done before a second pass would be: that begins when all SMs together have read the tensor, each its
// share, and takes as long as a CTA takes for some more.
bool is_sooner(const Plan& plan, const Problem& p, const Gpu& gpu) {
  const int64_t all = p.layout.outputs * p.layout.n * static_cast<int64_t>(size_of(p.in)), share = all / gpu.sms;
  const bool wide = plan.block > kColumnsWarps * kWarp;
  return bytes_of_cta(plan, p) <= (wide ? kColumnsOnceWide + share : kColumnsOnce + share / 2);
}

// Uncut, where a warp has a batch of a tile as narrow as a sector, or two of one of two sectors. Fewer CTAs of the
// latter than fill most SMs are slower than more of the former.
Plan uncut(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t narrow, int64_t wider) {
  const Plan two = columns_cut(plan, p, lanes, gpu, {}, {wider, 0});
  if (two.units == 1 && two.log_batches <= 1 && 3 * two.tiles >= 2 * gpu.sms) return two;
  const Plan one = columns_cut(plan, p, lanes, gpu, {}, {narrow, 0});
  return one.units == 1 && one.log_batches == 0 ? one : Plan{};
}

// Cut into units that meet in a cluster, on an SM each. Every two SMs can be a cluster, but of larger ones a GPU has
// places for fewer CTAs than it has SMs (an H200, of 132: 120 in clusters of 4 or 8, 112 of 16), and wide CTAs, which
// keep an SM busy by themselves, must not share one.
Plan in_clusters(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t wider) {
  constexpr int64_t kPair = 2;
  const auto cut = [&](int64_t across, int64_t warps, int64_t units) {
    const Plan found = columns_cut(plan, p, lanes, gpu, {}, {across, gpu.sms, warps, units, gpu.sms});
    const bool can = found.units > 1 && fits_clusters(found, gpu) && columns_meet_in_clusters(found, p);
    return can ? found : Plan{};
  };
  const auto most_sms = [&](const Plan& found) { return 4 * found.grid > 3 * gpu.sms; };
  const bool has_wide = columns_have_wide_ctas(plan);
  for (int64_t across = wider; has_wide && across <= std::min(2 * wider, lanes.widest); across *= 2) {
    const Plan pairs = cut(across, kColumnsWarpsInCluster, kPair);
    if (most_sms(pairs)) return pairs;
  }
  Plan best;
  for (int64_t across = wider; across <= lanes.widest && 2 * best.units <= kColumnsUnitsInCluster; across *= 2) {
    Plan found = cut(across, kColumnsWarps, gpu.cluster_ctas);
    if (has_wide && found.log_batches > 0 && !most_sms(found)) {
      const Plan wide = cut(across, kColumnsWarpsInCluster, gpu.cluster_ctas);
      if (wide.grid == found.grid) found = wide;
    }
    if (found.grid > 0 && found.grid >= best.grid) best = found;
  }
  return best;
}

}  // namespace

// Of the tiles that fill as many SMs, the narrowest of at least two sectors whose units are many: those of a wide tile
// read memory in longer runs, but leave more to one another.
Plan columns_in_one_launch(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t narrow) {
  const int64_t wider = std::min(2 * narrow, lanes.widest);
  Plan found = uncut(plan, p, lanes, gpu, narrow, wider);
  if (found.grid == 0 && gpu.cluster_ctas > 1) found = in_clusters(plan, p, lanes, gpu, wider);
  // Of columns that begin anywhere, a few CTAs read too much beside what they need.
  const bool enough = found.grid > 0 && (!plan.anywhere || 2 * found.grid >= gpu.sms);
  return enough && is_sooner(found, p, gpu) ? found : Plan{};
}

}  // namespace torch_reduce::planning
