#include "core/plan/gpu/gradients/norm_gradients.h"

#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/plan/gpu/detail.h"
#include "core/plan/tuning/norm_gradients.h"

namespace torch_reduce {
namespace {

constexpr int64_t kVectorBytes = 16;

bool is_legal(const MapProblem& p) {
  const auto bytes = static_cast<int64_t>(size_of(p.in)), v = kVectorBytes / bytes;
  const bool are_together = p.along.x == 1 && p.along.second == 1 && p.along.out == 1;
  const bool are_vectors =
      std::min({p.alignment, p.out_alignment, p.parameter_alignment}) == kVectorBytes && p.n % v == 0;
  if (p.compute != DType::Float32 || p.out != p.in || p.parameters != p.in || !are_together || !are_vectors)
    return false;
  if (p.dims > 1) return false;
  for (int d = 0; d < p.dims; ++d) {
    const MapStrides& s = p.dim[d].stride;
    if (s.x % v != 0 || s.second % v != 0 || s.out % v != 0) return false;
  }
  return p.n <= tuning::kGradientWarps * kChunk;
}

}  // namespace

std::optional<NormGradientsPlan> make_norm_gradients_plan(const MapProblem& p, const Gpu& gpu) {
  if (!is_legal(p)) return std::nullopt;
  NormGradientsPlan plan;
  using planning::kWarp;
  const auto bytes = static_cast<int64_t>(size_of(p.in)), word = static_cast<int64_t>(size_of(p.compute));
  const int64_t v = kVectorBytes / bytes, leaves = leaf_count(p.rows);
  plan.sums = traits_of(p.map).parameters;
  plan.is_short = p.n <= kLeaves;
  if (plan.is_short) plan.log_lanes = log2_above(ceil_div(p.n, v * kLoadsOfShort));
  plan.log_warps = log2_above(ceil_div(p.n, kChunk));
  plan.block = plan.is_short ? tuning::kGradientWarpsOfShort * kWarp : kWarp << plan.log_warps;
  const int64_t rows_at_once = plan.is_short ? plan.block >> plan.log_lanes : 1;
  plan.log_leaves = tuning::log_gradient_leaves(bytes);
  while (plan.log_leaves > 0 && leaves >> plan.log_leaves < gpu.sms * tuning::kGradientCtasPerSm * rows_at_once) {
    --plan.log_leaves;
  }
  plan.units = ceil_div(leaves, rows_at_once << plan.log_leaves);
  const int64_t places = plan.is_short ? kLoadsOfShort * v : kChunk / kWarp;  // of a lane
  plan.shared_bytes = plan.block * places * (tuning::kGradientStages * 2 * bytes + plan.log_leaves * plan.sums * word);
  plan.most_shared_bytes = most_shared_bytes(gpu);
  if (plan.shared_bytes > plan.most_shared_bytes || plan.units > planning::kMostUnitsOfMany) return std::nullopt;
  plan.finish = planning::finish_of_many(plan.sums * p.n, plan.units);
  plan.scratch_bytes = plan.units * plan.sums * p.n * word;
  return plan;
}

}  // namespace torch_reduce
