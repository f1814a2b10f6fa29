#include "core/plan/gpu/exact/wide_products.h"

#include <algorithm>

#include "core/contract/exact/wide_products.h"
#include "core/contract/integers.h"
#include "core/plan/gpu/detail.h"
#include "core/plan/tuning/exact.h"

namespace torch_reduce::exact {

constexpr int kWarp = 32;

ExactPlan plan_wide_products(const Problem& p, const Gpu& gpu, const Constraint& c) {
  if (c.family >= 0 && c.family != static_cast<int>(Family::Rows)) planning::refuse("products of fp64 have rows alone");
  if (c.vector == 1) planning::refuse("products of fp64 are read by elements");
  const Layout& l = p.layout;
  ExactPlan plan;
  plan.block = kWideProductsWarps * kWarp;
  plan.launches = 1;
  const int64_t warps = std::max<int64_t>(gpu.sms, 1) * kWideProductsWarpsPerSm;
  const int64_t in_bytes = l.n * static_cast<int64_t>(sizeof(double)) * (is_of_two(p) ? 2 : 1);
  plan.expected_bytes = l.outputs * (in_bytes + static_cast<int64_t>(size_of(p.out)));
  if (l.n <= kWideProductsOfLane && l.outputs > warps) {
    plan.kernel = WideProductsPlan{};
    plan.grid = ceil_div(l.outputs, plan.block);
    return plan;
  }
  const int64_t most = ceil_div(std::max<int64_t>(l.n, 1), kWideProductsLeast);
  const int64_t units = std::clamp<int64_t>(warps / l.outputs, 1, most);
  const int64_t share = ceil_div(std::max<int64_t>(l.n, 1), units);
  WideProductsPlan products;
  products.unit_elements = std::min(ceil_div(share, kWarp) * kWarp, kWideProductsMost);
  plan.units = ceil_div(std::max<int64_t>(l.n, 1), products.unit_elements);
  plan.kernel = products;
  plan.grid = ceil_div(l.outputs * plan.units, kWideProductsWarps);
  if (plan.units > 1) {
    plan.launches = 2;
    plan.scratch_bytes = l.outputs * plan.units * Products::kWords * 8;
    plan.expected_bytes += 2 * plan.scratch_bytes;
  }
  return plan;
}

}  // namespace torch_reduce::exact
