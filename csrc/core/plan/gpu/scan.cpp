#include "core/plan/gpu/scan.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "core/plan/gpu/detail.h"

namespace torch_reduce {

using planning::kWarp;

namespace {

constexpr size_t kVectorBytes = 16;

// Whether rows of that stride, between neighbours, fill the places of a warp and the next row follows at once.
bool are_packed(const Layout& l, int log_width, int64_t along, int64_t across) {
  return l.n == int64_t{1} << log_width && l.kept_dims <= 1 && (along == 1 || l.n == 1) &&
         (across == l.n || l.kept_dims == 0);
}

// Whether neighbours, which are of different rows, are whole vectors of 16 bytes where those of one element begin at a
// multiple of that.
bool are_vectors(const Layout& l, size_t size, int64_t along, int64_t across, int64_t rows_at_once) {
  const auto vector = static_cast<int64_t>(kVectorBytes / size);
  return l.kept_dims == 1 && across == 1 && along % vector == 0 && l.outputs % vector == 0 && vector > 1 &&
         vector <= 8 && rows_at_once % vector == 0;
}

}  // namespace

ScanPlan make_scan_plan(const Problem& p) {
  const Layout& l = p.layout;
  const int64_t in_stride = scanned_stride(p), out_stride = p.scan_stride.value();
  if (l.kept_dims > kMaxKernelDims) {
    throw std::invalid_argument("reduce: a tensor of over " + std::to_string(kMaxKernelDims) +
                                " dims that do not merge is not scanned on a GPU");
  }
  ScanPlan plan;
  const int64_t value = accumulator_bytes(p);
  plan.slot_bytes = static_cast<int>(std::max(size_of(p.in), size_of(p.out)));
  plan.log_width = l.n > kLeaves ? 10 : std::max(tuning::kLogScanLane, log2_above(l.n));
  plan.chunks = chunk_count(l.n);
  plan.log_warps =
      log2_above(std::min(tuning::kScanShared / (kChunk * plan.slot_bytes), int64_t{tuning::scan_warps(value)}));
  const KeptDim inner = l.kept_dims > 0 ? l.kept[l.kept_dims - 1] : KeptDim{1, 0, 0};
  const bool has_rows = l.outputs > 1 && l.n > 1;
  plan.reads_across = has_rows && std::abs(inner.in_stride) < std::abs(in_stride);
  plan.writes_across = has_rows && std::abs(inner.out_stride) < std::abs(out_stride);
  plan.reads_packed = are_packed(l, plan.log_width, in_stride, inner.in_stride);
  plan.writes_packed = are_packed(l, plan.log_width, out_stride, inner.out_stride);
  const bool is_across = plan.reads_across || plan.writes_across;
  plan.log_chunks = is_across ? 0 : std::min(plan.log_warps, log2_above(plan.chunks));
  plan.parts = ceil_div(plan.chunks, int64_t{1} << plan.log_chunks);
  plan.log_parts = log2_above(plan.parts);
  plan.reads_vectors = plan.reads_across && p.in_alignment == kVectorBytes &&
                       are_vectors(l, size_of(p.in), in_stride, inner.in_stride, plan.rows_per_cta());
  plan.writes_vectors =
      plan.writes_across && are_vectors(l, size_of(p.out), out_stride, inner.out_stride, plan.rows_per_cta());
  plan.tiles = ceil_div(l.outputs, plan.rows_per_cta());
  const int64_t rows = int64_t{1} << (plan.log_warps - plan.log_chunks), warps = int64_t{1} << plan.log_warps;
  plan.shared_bytes = warps * kChunk * plan.slot_bytes;
  if (plan.chunks > 1) plan.shared_bytes += (2 * warps + rows * plan.log_parts) * value;
  if (plan.parts > 1) {
    int64_t nodes = 0;  // of whole groups, too
    for (int64_t n = plan.parts; n > 0; n /= kWarp) nodes += n;
    plan.scratch_bytes = 8 + 2 * nodes * l.outputs * value;  // the ticket, and a flag for each word of a value
    plan.launches = 2;
  }
  plan.grid = plan.tiles * plan.parts;
  plan.block = kWarp << plan.log_warps;
  return plan;
}

}  // namespace torch_reduce
