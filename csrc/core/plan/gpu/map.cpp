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

}  // namespace

MapPlan make_map_plan(const MapProblem& p, const Gpu& gpu) {
  MapPlan plan;
  const int64_t v = kVectorBytes / static_cast<int64_t>(size_of(p.in)), chunks = chunk_count(p.n);
  plan.reads_vectors =
      are_vectors(p, &MapStrides::x, p.in, p.alignment, v) && are_vectors(p, &MapStrides::second, p.in, p.alignment, v);
  plan.writes_vectors = are_vectors(p, &MapStrides::out, p.out, p.out_alignment, v);
  plan.log_lanes = std::min(log2_above(ceil_div(p.n, v)), 5);
  plan.log_warps = log2_above(std::min<int64_t>(chunks, tuning::kMapWarps));
  const int warps = std::max(1 << plan.log_warps, tuning::kMapLeastWarps);
  plan.rows_per_cta = (warps >> plan.log_warps) * (kWarp >> plan.log_lanes);
  plan.units = ceil_div(chunks, tuning::kMapWarps);
  const int words = traits_of(p.map).total_words;  // none: CTAs do not meet
  plan.in_cluster = words > 0 && plan.units > 1 && plan.units <= gpu.cluster_ctas;
  plan.grid = ceil_div(p.rows, plan.rows_per_cta) * plan.units;
  plan.block = warps * kWarp;
  if (words > 0 && plan.units > 1 && !plan.in_cluster) {
    plan.launches = 2;
    plan.scratch_bytes = p.rows * plan.units * words * static_cast<int64_t>(size_of(p.compute));
  }
  return plan;
}

}  // namespace torch_reduce
