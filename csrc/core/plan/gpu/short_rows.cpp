// Plans of short rows: aligned, unaligned, read an element at a time, and copies of single elements.
#include <cstdlib>

#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Unaligned rows: a warp has as many as its shared memory holds, but few where there are few.
void plan_unaligned(Plan& plan, const Problem& p, const Gpu& gpu) {
  const Layout& l = p.layout;
  ShortRowsPlan& rows = plan.as<ShortRowsPlan>();
  const Tuning& t = gpu.tuning;
  const int64_t row_bytes = l.kept[0].in_stride * static_cast<int64_t>(size_of(p.in));
  // Eight elements a lane, and several rows at once; or two rows at once, whose neighbours are the lanes'.
  rows.log_lanes = l.n <= 8 * kShortRowsElements ? log2_above(ceil_div(l.n, kShortRowsElements)) : log2_above(kWarp);
  const int64_t group = kWarp >> rows.log_lanes;
  const int64_t together = group == 1 ? 2 : 1;
  const int64_t room = std::max<int64_t>(t.staged_warp_bytes / (group * row_bytes * together), 1) * together;
  const int64_t share =
      ceil_div(l.outputs, group * kShortRowsWarps * std::max<int64_t>(t.staged_ctas_per_sm * gpu.sms, 1));
  const int64_t of_warp = group * std::max<int64_t>(std::min(room, share), 1);
  rows.rows_per_cta = static_cast<int>(kShortRowsWarps * of_warp);
  plan.shared_bytes = kShortRowsWarps * (ceil_div(of_warp * row_bytes, 16) * 16 + 2 * 16);
}

// A lane's part of scattered rows of n elements: all of a row, if rows are many and that is not more than 8, or 8.
void share_scattered(ShortRowsPlan& rows, const kernels::Types& types, int64_t n, bool many) {
  if (many) {
    rows.lane_elements =
        static_cast<int>(std::min<int64_t>(power_of_two_above(std::max<int64_t>(n, 1)), kShortRowsElements));
    rows.lane_rows = scattered_rows_of_lane(rows.lane_elements);
  }
  if (kernels::have_scattered_rows(types, rows.lane_elements, rows.lane_rows)) return;
  rows.lane_elements = kShortRowsElements;
  rows.lane_rows = scattered_rows_of_lane(rows.lane_elements);
}

bool plan_copies(Plan& plan, const Layout& l) {
  const int rows = copied_rows(l);
  if (rows < 0) return false;
  const int64_t lanes = l.kept[l.kept_dims - 1].size, across = ceil_div(lanes, kWarp);
  const int64_t down = ceil_div(l.kept[rows].size, kCopiesRows);
  plan.kernel = CopiesPlan{rows, across, down};
  plan.block = kCopiesWarps * kWarp;
  plan.grid = across * down * (l.outputs / (lanes * l.kept[rows].size));
  return true;
}

}  // namespace

int copied_rows(const Layout& l) {
  const int lanes = l.kept_dims - 1;
  if (l.n != 1 || l.kept_dims < 2 || l.outputs < kCopiesLeast || l.outputs >= kSmallNumbers) return -1;
  const int innermost = innermost_of_results(l);
  int rows = 0;
  for (int d = 1; d < lanes; ++d) {
    if (l.kept[d].size > l.kept[rows].size) rows = d;
  }
  if (innermost != lanes) rows = innermost;
  const int64_t across = l.kept[lanes].size, down = l.kept[rows].size;
  const int64_t places = ceil_div(across, kWarp) * kWarp * ceil_div(down, kCopiesRows) * kCopiesRows;
  return 4 * across * down < places ? -1 : rows;
}

int innermost_of_results(const Layout& l) {
  int innermost = l.kept_dims - 1;
  for (int d = 0; d < l.kept_dims; ++d) {
    if (std::abs(l.kept[d].out_stride) < std::abs(l.kept[innermost].out_stride)) innermost = d;
  }
  return innermost;
}

void plan_short_rows(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu) {
  const kernels::Types types = kernels::types_of(p);
  if (!vector && kernels::have_copies(types) && plan_copies(plan, p.layout)) return;
  ShortRowsPlan& rows = plan.kernel.emplace<ShortRowsPlan>();
  plan.access = !vector                  ? Access::Strided
                : !s.short_vector        ? Access::Unaligned
                : p.layout.kept_dims > 1 ? Access::Segmented
                                         : Access::Contiguous;
  rows.lane_elements = vector ? static_cast<int>(s.v) : kShortRowsElements;
  rows.log_lanes = log2_above(ceil_div(p.layout.n, rows.lane_elements));
  rows.lane_rows = vector ? kShortRowsUnroll : 1;
  const int64_t rows_at_once = (gpu.sms * kShortRowsCtasPerSm * kShortRowsWarps * kWarp) >> rows.log_lanes;
  if (!vector) share_scattered(rows, types, p.layout.n, /*many=*/p.layout.outputs > rows_at_once);
  plan.block = kShortRowsWarps * kWarp;
  if (plan.access == Access::Unaligned) {
    plan_unaligned(plan, p, gpu);
  } else {
    rows.rows_per_cta = kShortRowsWarps * rows.lane_rows * (kWarp >> rows.log_lanes);
  }
  plan.grid = ceil_div(p.layout.outputs, rows.rows_per_cta);
}

}  // namespace torch_reduce::planning
