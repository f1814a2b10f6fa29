// Columns in one launch: where all SMs together read the whole tensor in a few loads each, a second one takes as long
// again.
#include "core/plan/gpu/columns_cut.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Of no CTA.
Plan no_plan() {
  Plan plan;
  plan.kernel = ColumnsPlan{};
  return plan;
}

bool is_wide(const Plan& plan) { return plan.block > kColumnsWarps * kWarp; }

// What the busiest CTA reads.
int64_t bytes_of_cta(const Plan& plan, const Problem& p) {
  const int64_t rows = columns(plan).steps * leaves_of_warp(plan)
                       << (columns(plan).log_batches + columns(plan).log_warps_along);
  return std::min(rows, p.layout.n) * columns(plan).tile_columns * static_cast<int64_t>(size_of(p.in));
}

// Whether it is done before a second launch would be: that begins when all SMs together have read the tensor, each its
// share, and takes as long as a CTA takes to read some more; less where units are added to the output, as the other
// launch comes first then, and zeroes.
bool is_sooner(const Plan& plan, const Problem& p, const Gpu& gpu) {
  const int64_t all = p.layout.outputs * p.layout.n * static_cast<int64_t>(size_of(p.in)),
                share = all / std::max(gpu.sms, 1);
  const bool adds = adds_atomically(p);
  const int64_t more = is_wide(plan) ? adds ? kColumnsOnceWideOrAdds : kColumnsOnceWide
                       : adds        ? kColumnsOnceOrAdds
                                     : kColumnsOnce;
  return bytes_of_cta(plan, p) <= gpu.tuning.columns_small_per_sm * more / 4 + (is_wide(plan) ? share : share / 2);
}

// Uncut: a tile of two sectors where a warp has two batches of it at most, or of one where it has one. Tiles of two are
// faster where they are enough for two of three SMs.
Plan uncut(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t narrow, int64_t wider) {
  const Plan two = columns_cut(plan, p, lanes, gpu, {}, {wider, 0});
  if (columns(two).log_batches <= 1 && 3 * columns(two).tiles >= 2 * gpu.sms) return two;
  const Plan one = columns_cut(plan, p, lanes, gpu, {}, {narrow, 0});
  return columns(one).log_batches == 0 ? one : no_plan();
}

// Whether the CTAs of clusters may not find an SM each. Every two SMs can be a cluster, but of larger ones a GPU has
// places for fewer CTAs than SMs, as they lie in groups: an H200, of 132, for 120 in clusters of 4 or 8, 102 of 6, 112
// of 16; and as many clusters of 10 or 12 as of 16, for 70 or 84.
bool may_share_sms(const Plan& plan, const Gpu& gpu) {
  constexpr int64_t kMostOfHalfAGroup = 8;
  const int64_t of_cluster = plan.units > kMostOfHalfAGroup ? kMostUnitsOfCluster : plan.units;
  return 4 * columns(plan).tiles * of_cluster > 3 * gpu.sms;
}

// Cut into units that meet in a cluster, on an SM each: in pairs, where these fill the GPU. Else, of the tiles that
// fill as many SMs, the narrowest of at least two sectors whose units are many: wide ones read memory in longer runs,
// but leave more to one another. Wide CTAs, which keep an SM busy by themselves, must not share one.
Plan in_clusters(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t wider) {
  constexpr int64_t kPair = 2;
  const auto cut = [&](int64_t across, int64_t warps, int64_t units) {
    const Plan found = columns_cut(plan, p, lanes, gpu, {}, {across, gpu.sms, warps, units, gpu.sms});
    const bool can = found.units > 1 && fits_clusters(found, gpu) && columns_meet_in_clusters(found, p) &&
                     cluster_bytes(found, p) < kColumnsMeetingMost;
    return can ? found : no_plan();
  };
  const bool has_wide = columns_cluster_code(plan) == kernels::ClusterCode::Apart;
  for (int64_t across = wider; has_wide && across <= std::min(2 * wider, lanes.widest); across *= 2) {
    const Plan pairs = cut(across, kColumnsWarpsInCluster, kPair);
    if (4 * pairs.grid > 3 * gpu.sms) return pairs;
  }
  Plan best = no_plan();
  for (int64_t across = wider; across <= lanes.widest && 2 * best.units <= kColumnsUnitsInCluster; across *= 2) {
    Plan found = cut(across, kColumnsWarps, gpu.cluster_ctas);
    if (has_wide && columns(found).log_batches > 0 && !may_share_sms(found, gpu)) {
      const Plan wide = cut(across, kColumnsWarpsInCluster, gpu.cluster_ctas);
      if (wide.grid == found.grid) found = wide;
    }
    if (found.grid > 0 && found.grid >= best.grid) best = found;
  }
  return best;
}

}  // namespace

Plan columns_in_one_launch(const Plan& plan, const Problem& p, const Lanes& lanes, const Gpu& gpu, int64_t narrow) {
  const int64_t wider = std::min(2 * narrow, lanes.widest);
  Plan found = uncut(plan, p, lanes, gpu, narrow, wider);
  if (found.grid == 0 && gpu.cluster_ctas > 1) found = in_clusters(plan, p, lanes, gpu, wider);
  // Of unaligned columns, a few CTAs read too much beside what they need.
  const bool enough = found.grid > 0 && (plan.access != Access::Unaligned || 2 * found.grid >= gpu.sms);
  return enough && is_sooner(found, p, gpu) ? found : no_plan();
}

}  // namespace torch_reduce::planning
