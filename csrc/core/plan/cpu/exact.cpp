#include "core/plan/cpu/exact.h"

#include <algorithm>
#include <cstdlib>

#include "core/contract/exact/format.h"
#include "core/contract/integers.h"

namespace torch_reduce::cpu {
namespace {

constexpr int64_t kPiece = 1 << 16;      // elements; what a thread is woken for
constexpr int64_t kPiecesPerThread = 4;  // so that a thread that is held up does not hold up the others for long

// Outputs of so few elements are summed side by side wherever they lie: what is done once for an output costs more than
// copies of elements that are no neighbours. As those share cache lines, the lines of one group stay in the first
// cache.
constexpr int64_t kFew = 128, kCopied = 64;

// Rows of so many elements, or a multiple, are whole steps of vectors (Sums::add_lines). Each is read in one piece, in
// the order of memory, and adding up its lanes afterwards takes less than copying its elements, unless these are
// narrow.
constexpr int64_t kRowStep = 64;

struct How {
  ExactReading reading;
  int64_t group;
};

// Products are made in memory first, so that those of neighbouring outputs are neighbours wherever their factors lie.
How how_to_read_products(const Layout& l) {
  if (l.kept_dims == 0 || l.n == 0) return {ExactReading::Runs, 1};
  const KeptDim& kept = l.kept[l.kept_dims - 1];
  const int64_t stride = l.reduced_dims > 0 ? std::abs(l.reduced[l.reduced_dims - 1].stride) : 0;
  if (l.n > kFew && std::abs(kept.in_stride) >= stride) return {ExactReading::Runs, 1};
  return {ExactReading::Columns, std::min(kept.in_stride == 1 ? kMostSums : kCopied, kept.size)};
}

How how_to_read(const Layout& l, int64_t element_size) {
  if (l.kept_dims == 0 || l.n == 0) return {ExactReading::Runs, 1};
  const KeptDim& kept = l.kept[l.kept_dims - 1];
  const int64_t stride = l.reduced_dims > 0 ? std::abs(l.reduced[l.reduced_dims - 1].stride) : 0;
  const bool neighbours = kept.in_stride == 1;
  if (neighbours && l.reduced_dims == 1 && l.reduced[0].stride == kept.size && kept.size <= kMostTurns) {
    return {ExactReading::Runs, kept.size};
  }
  if (l.n <= kFew || std::abs(kept.in_stride) < stride) {
    if (neighbours) return {ExactReading::Columns, std::min(kMostSums, kept.size)};
    if (stride == 1 && l.reduced_dims == 1 && l.n % kRowStep == 0 && element_size >= kLeastOfRow) {
      return {ExactReading::Rows, std::min(kMostRows, kept.size)};
    }
    return {ExactReading::Apart, std::min(kCopied, kept.size)};
  }
  return {ExactReading::Runs, 1};
}

}  // namespace

ExactPlan make_exact_plan(const Problem& p, bool words, int threads) {
  const Layout& l = p.layout;
  ExactPlan plan;
  plan.words = words;
  if (l.outputs == 0) return plan;
  const auto [reading, group] =
      multiplies(p) ? how_to_read_products(l) : how_to_read(l, static_cast<int64_t>(size_of(p.in)));
  plan.reading = reading;
  plan.group = group;
  const int64_t inner = l.kept_dims > 0 ? l.kept[l.kept_dims - 1].size : 1;
  plan.groups = l.outputs / inner * ceil_div(inner, group);
  plan.piece = std::max<int64_t>(l.n, 1);
  if (threads > 1 && plan.groups < threads * kPiecesPerThread) {
    const int64_t pieces = std::min(ceil_div(threads * kPiecesPerThread, plan.groups), ceil_div(l.n, kPiece));
    if (pieces > 1) plan.piece = ceil_div(l.n, pieces);
  }
  plan.split = std::max<int64_t>(ceil_div(l.n, plan.piece), 1);
  if (plan.split > 1) plan.scratch_bytes = l.outputs * plan.split * exact::words_of(accumulated_type(p)) * 8;
  return plan;
}

}  // namespace torch_reduce::cpu
