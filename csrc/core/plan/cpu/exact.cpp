#include "core/plan/cpu/exact.h"

#include <algorithm>

#include "core/contract/exact/format.h"
#include "core/contract/integers.h"

namespace torch_reduce::cpu {
namespace {

constexpr int64_t kGroup = 32;           // columns: two to four cache lines of each row
constexpr int64_t kPiece = 1 << 16;      // elements; what a thread is woken for
constexpr int64_t kPiecesPerThread = 4;  // so that a thread that is held up does not hold up the others for long

// Whether sums of neighbouring outputs, element by element, take less time than superaccumulators, which are filled by
// blocks of 1024. Elements that are copied first, as outputs are no neighbours in memory, cost more.
constexpr int64_t kFewInColumns = 1024, kFewElsewhere = 128;

bool has_few(const Layout& l) {
  if (l.kept_dims == 0 || l.n == 0) return false;
  return l.n <= (l.kept[l.kept_dims - 1].in_stride == 1 ? kFewInColumns : kFewElsewhere);
}

}  // namespace

ExactPlan make_exact_plan(const Problem& p, bool words, int threads) {
  const Layout& l = p.layout;
  ExactPlan plan;
  plan.words = words;
  if (l.outputs == 0) return plan;
  plan.few = !words && has_few(l);
  if (plan.few) {
    plan.group = std::min(kFewOutputs, l.kept[l.kept_dims - 1].size);
    plan.groups = l.outputs / l.kept[l.kept_dims - 1].size * ceil_div(l.kept[l.kept_dims - 1].size, plan.group);
    plan.piece = l.n;
    return plan;
  }
  // Outputs that lie closer together than the elements of one share cache lines.
  if (l.kept_dims > 0 && l.reduced_dims > 0) {
    const KeptDim& kept = l.kept[l.kept_dims - 1];
    if (kept.in_stride < l.reduced[l.reduced_dims - 1].stride) plan.group = std::min(kGroup, kept.size);
  }
  plan.groups = ceil_div(l.outputs, plan.group);
  plan.piece = std::max<int64_t>(l.n, 1);
  if (threads > 1 && plan.groups > 0 && plan.groups < threads * kPiecesPerThread) {
    const int64_t pieces = std::min(ceil_div(threads * kPiecesPerThread, plan.groups), ceil_div(l.n, kPiece));
    if (pieces > 1) plan.piece = ceil_div(l.n, pieces);
  }
  plan.split = std::max<int64_t>(ceil_div(l.n, plan.piece), 1);
  if (plan.split > 1) plan.scratch_bytes = l.outputs * plan.split * exact::words_of(p.in) * 8;
  return plan;
}

}  // namespace torch_reduce::cpu
