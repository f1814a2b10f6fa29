#include "core/plan/cpu/partner.h"

#include <algorithm>
#include <cstdlib>

#include "core/contract/integers.h"
#include "core/contract/order.h"

namespace torch_reduce::cpu {
namespace {

// Elements of a block, which stay in the first cache with those that they are made of. Across the outputs more, for
// longer lines.
constexpr int64_t kBlock = 2048, kBlockAcross = 8192;
constexpr int64_t kAlone = 1 << 15;  // elements that wake no thread

bool lies_across(const Layout& l) {
  if (l.kept_dims == 0) return false;
  if (l.reduced_dims == 0) return true;
  const KeptDim& kept = l.kept[l.kept_dims - 1];
  return kept.size >= kMostWidthOfPieces / 4 &&
         std::abs(kept.in_stride) < std::abs(l.reduced[l.reduced_dims - 1].stride);
}

}  // namespace

bool is_pair_for_one_thread(const Layout& l) { return l.n < kAlone && l.outputs < kAlone && l.n * l.outputs < kAlone; }

PartnerPlan make_partner_plan(const Problem& p, int threads) {
  const Layout& l = p.layout;
  PartnerPlan plan;
  plan.type = multiplies(p.partner.role) ? p.compute : p.in;
  plan.alone = threads <= 1 || is_pair_for_one_thread(l);
  plan.length = l.n;
  if (is_empty(p)) return plan;
  plan.across = lies_across(l);
  if (plan.across) {
    const int64_t columns = l.kept[l.kept_dims - 1].size;
    if (l.n > kChunk) plan.length = kChunk;
    plan.width = std::min(columns, std::max(kBlockAcross / std::max<int64_t>(plan.length, 1), kMostWidthOfPieces));
    plan.groups = l.outputs / columns * ceil_div(columns, plan.width);
  } else {
    if (l.n > kBlock) plan.length = kBlock;
    plan.width = std::min(l.outputs, std::max<int64_t>(kBlock / std::max<int64_t>(l.n, 1), 1));
    plan.groups = ceil_div(l.outputs, plan.width);
  }
  plan.pieces = std::max<int64_t>(ceil_div(l.n, std::max<int64_t>(plan.length, 1)), 1);
  return plan;
}

Problem block_of(const Problem& p, const PartnerPlan& plan, int64_t width, int64_t length, int64_t words) {
  Layout l;
  l.outputs = width;
  l.n = length;
  if (width > 1) l.kept[l.kept_dims++] = {width, plan.across ? 1 : length, words};
  if (length > 1) l.reduced[l.reduced_dims++] = {length, plan.across ? width : 1};
  const bool is_factor = multiplies(p.partner.role);
  return {is_factor ? kAddition : p.op,
          p.mode,
          plan.type,
          p.compute,
          p.compute,
          p.tested && !is_factor,
          16,
          1,
          0,
          {},
          l,
          Partner{}};
}

}  // namespace torch_reduce::cpu
