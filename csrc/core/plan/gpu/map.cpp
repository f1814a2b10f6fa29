#include "core/plan/gpu/map.h"

#include <algorithm>

#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/plan/tuning/map.h"

namespace torch_reduce {
namespace {

constexpr int kVectorBytes = 16, kWarp = 32;

// Whether V neighbours of every row lie at a multiple of their bytes, up to 16.
bool are_vectors(const MapProblem& p, int64_t MapStrides::* stride, DType type, int alignment, int64_t v) {
  const int64_t bytes = std::min<int64_t>(v * static_cast<int64_t>(size_of(type)), kVectorBytes);
  bool are = (p.along.*stride == 1 || p.n == 1) && alignment >= bytes;
  for (int d = 0; d < p.dims; ++d) are &= p.dim[d].stride.*stride % v == 0;
  return are;
}

// Of a CTA. An SM keeps 1 KiB for each, and static shared memory is beside it.
int64_t most_shared_bytes(const Gpu& gpu) { return std::max<int64_t>(gpu.shared_bytes, 64 << 10) - (8 << 10); }

}  // namespace

MapPlan make_map_plan(const MapProblem& p, const Gpu& gpu) {
  MapPlan plan;
  const TraitsOfMap map = traits_of(p.map);
  const int bytes = static_cast<int>(size_of(p.in)), word = static_cast<int>(size_of(p.compute));
  const int64_t v = kVectorBytes / bytes, chunks = chunk_count(p.n);
  plan.reads_vectors =
      are_vectors(p, &MapStrides::x, p.in, p.alignment, v) && are_vectors(p, &MapStrides::second, p.in, p.alignment, v);
  plan.writes_vectors = are_vectors(p, &MapStrides::out, p.out, p.out_alignment, v);
  plan.log_lanes = std::min(log2_above(ceil_div(p.n, v)), 5);
  plan.loads = static_cast<int>(ceil_div(std::min<int64_t>(p.n, kChunk), kWarp * v));
  const int piece = map_piece_bytes(map.reads_second, map.keeps_lifted && word == 4, plan.loads, bytes, word);

  // Few warps with much to do meet seldom; but all SMs are to have enough.
  const int64_t side_by_side = kWarp >> plan.log_lanes;
  int pieces = tuning::kMapMostChunks;
  const auto are_too_many = [&] {
    const int64_t warps = chunks > 1 ? p.rows * ceil_div(chunks, pieces) : ceil_div(p.rows, side_by_side * pieces);
    return pieces / 2 >= chunks && chunks > 1
               ? true
               : warps < gpu.sms * tuning::kMapWarpsPerSm || pieces * piece > tuning::kMapWarpBytes;
  };
  while (pieces > 1 && are_too_many()) pieces /= 2;
  (chunks > 1 ? plan.warp_chunks : plan.warp_rows) = pieces;
  const auto warps_for = [&](int most) {
    return log2_above(std::min<int64_t>(ceil_div(chunks, plan.warp_chunks), most));
  };
  plan.most_shared_bytes = most_shared_bytes(gpu);
  plan.log_warps = warps_for(tuning::kMapWarps);
  while ((int64_t{plan.warp_chunks} << plan.log_warps) * piece > plan.most_shared_bytes) --plan.log_warps;
  const auto count_units = [&] { return ceil_div(chunks, int64_t{plan.warp_chunks} << plan.log_warps); };
  // A cluster has room for long rows if its CTAs have.
  if (count_units() > gpu.cluster_ctas && tuning::kMapMostWarps * plan.warp_chunks * piece <= plan.most_shared_bytes) {
    plan.log_warps = warps_for(tuning::kMapMostWarps);
  }
  while (count_units() > gpu.cluster_ctas && plan.warp_chunks < tuning::kMapMostChunks &&
         (int64_t{2} * plan.warp_chunks << plan.log_warps) * piece <= plan.most_shared_bytes) {
    plan.warp_chunks *= 2;
  }
  plan.units = count_units();
  const int warps = std::max(1 << plan.log_warps, tuning::kMapLeastWarps);
  plan.rows_per_cta = (warps >> plan.log_warps) * plan.warp_rows * static_cast<int>(side_by_side);
  plan.in_cluster = map.total_words > 0 && plan.units > 1 && plan.units <= gpu.cluster_ctas;
  plan.grid = ceil_div(p.rows, plan.rows_per_cta) * plan.units;
  plan.block = warps * kWarp;
  plan.shared_bytes = int64_t{warps} * plan.warp_rows * plan.warp_chunks * piece;
  if (map.total_words > 0 && plan.units > 1 && !plan.in_cluster) {
    plan.launches = 2;
    plan.scratch_bytes = p.rows * plan.units * map.total_words * word;
  }
  return plan;
}

}  // namespace torch_reduce
