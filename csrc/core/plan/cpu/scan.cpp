#include "core/plan/cpu/scan.h"

#include <algorithm>
#include <cstdlib>

#include "core/contract/integers.h"
#include "core/contract/order.h"

namespace torch_reduce::cpu {
namespace {

constexpr int64_t kFew = 32;         // elements, of rows that are read side by side wherever they lie
constexpr int64_t kAlone = 1 << 15;  // elements, of all rows, that wake no thread
constexpr int64_t kPiecesPerThread = 4, kLeastPiece = 16;

}  // namespace

bool is_scan_for_one_thread(const Layout& l) { return l.n < kAlone && l.outputs < kAlone && l.n * l.outputs < kAlone; }

ScanPlan make_scan_plan(const Problem& p, int threads) {
  const Layout& l = p.layout;
  ScanPlan plan;
  const int64_t chunks = chunk_count(l.n);
  plan.piece_chunks = power_of_two_above(std::max<int64_t>(chunks, 1));
  if (is_empty(p)) return plan;
  const KeptDim inner = l.kept_dims > 0 ? l.kept[l.kept_dims - 1] : KeptDim{1, 0, 0};
  plan.across = l.kept_dims > 0 && (l.n <= kFew || std::abs(inner.in_stride) < std::abs(scanned_stride(p)));
  plan.alone = threads <= 1 || is_scan_for_one_thread(l);
  const int64_t wanted = ceil_div(threads * kPiecesPerThread, l.outputs);
  if (!plan.alone && wanted > 1 && chunks > kLeastPiece) {
    plan.piece_chunks = std::max(kLeastPiece, power_of_two_above(ceil_div(chunks, wanted)));
    plan.pieces = ceil_div(chunks, plan.piece_chunks);
  }
  return plan;
}

}  // namespace torch_reduce::cpu
