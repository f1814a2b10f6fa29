#include "core/plan/gpu/exact/element_products.h"

#include <algorithm>

#include "core/contract/exact/wide_products.h"
#include "core/contract/integers.h"
#include "core/plan/gpu/detail.h"
#include "core/plan/tuning/exact.h"

namespace torch_reduce::exact {

using planning::kWarp;

ExactPlan plan_element_products(const Problem& p, bool near, const Gpu& gpu) {
  const Layout& l = p.layout;
  ExactPlan plan;
  plan.block = kElementProductsWarps * kWarp;
  plan.launches = 1;
  const int64_t ctas = std::max<int64_t>(gpu.sms, 1) * kElementProductsCtasPerSm, warps = ctas * kElementProductsWarps;
  const int64_t in_bytes = l.n * static_cast<int64_t>(size_of(p.in)) * (is_of_two(p) ? 2 : 1);
  plan.expected_bytes = l.outputs * (in_bytes + static_cast<int64_t>(size_of(p.out)));
  if (l.n <= kElementProductsOfLane && l.outputs > warps) {
    plan.kernel = ElementProductsPlan{Worker::Lane, 1, l.n};
    plan.grid = ceil_div(l.outputs, plan.block);
    return plan;
  }
  const int across = near || l.n <= kElementProductsOfFour ? kElementProductsAcross : 1;
  const int64_t groups = ceil_div(l.outputs, across);
  if (l.n * across <= kElementProductsOfWarp || groups > warps) {
    plan.kernel = ElementProductsPlan{Worker::Warp, across, l.n};
    plan.grid = ceil_div(groups, kElementProductsWarps);
    return plan;
  }
  const int64_t tile = plan.block * element_products_loads(across, p.in) / across, tiles = ceil_div(l.n, tile);
  const int64_t most = std::max<int64_t>(l.n * across / kElementProductsOfCta, 1);
  const int64_t unit_tiles = ceil_div(tiles, std::clamp<int64_t>(ctas / groups, 1, most));
  plan.units = ceil_div(tiles, unit_tiles);
  plan.kernel = ElementProductsPlan{Worker::Cta, across, unit_tiles * tile};
  plan.grid = groups * plan.units;
  if (plan.units > 1) {
    plan.launches = 2;
    plan.scratch_bytes = l.outputs * plan.units * Products::kWords * 8;
    plan.expected_bytes += 2 * plan.scratch_bytes;
  }
  return plan;
}

}  // namespace torch_reduce::exact
