// Plans of the families that walk along rows.
#include <cstdlib>

#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Rows whose steps leave warps idle in a CTA's last round come several to a CTA, where that keeps its warps busier by a
// tenth.
void share_out_steps(Plan& plan, int64_t outputs, int64_t steps, int64_t at_once, const Gpu& gpu) {
  const int64_t slots = int64_t{1} << plan.log_slots, warps = plan.block / kWarp;
  if (slots < at_once) return;  // steps have rows of their own
  constexpr double kWorthSharing = 1.1;
  const auto busy = [&](int64_t rows) {
    return static_cast<double>(rows * steps) / static_cast<double>(ceil_div(rows * steps, warps) * warps);
  };
  for (int64_t rows = 2 * plan.rows_per_cta; rows * slots / at_once <= kWarp; rows *= 2) {
    if (ceil_div(outputs, rows) < gpu.tuning.rows_shared_ctas_per_sm * gpu.sms) break;
    if (busy(rows) > kWorthSharing * busy(plan.rows_per_cta)) plan.rows_per_cta = static_cast<int>(rows);
  }
}

// Chunks of each CTA where as many as there may be of a cluster share a row, and each CTA has an SM of its own.
int64_t cluster_slots(int64_t outputs, int64_t padded, const Gpu& gpu) {
  int64_t units = gpu.cluster_ctas;
  while (units > 1 && units * outputs > gpu.sms) units /= 2;
  return units == 1 ? padded : std::max<int64_t>(padded / units, 1);
}

}  // namespace

void plan_rows(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  plan.segmented = plan.vector && !s.row_vector && s.row_segmented;
  plan.anywhere = plan.vector && !s.row_vector && !s.row_segmented;
  if (plan.anywhere && !s.row_anywhere) {  // as many loads as a run needs wherever it begins
    plan.run_vectors = (l.reduced[l.reduced_dims - 1].size + 2 * s.v - 2) / s.v;
  }
  const int64_t chunks = std::max<int64_t>(chunk_count(rows_places(plan, l, s.v)), 1),
                padded = power_of_two_above(chunks);
  int64_t at_once = plan.vector ? std::max<int64_t>(kLoadsInFlight * kWarp * s.v / kChunk, 1) : 1;
  // Rows of a few chunks that begin anywhere, of which some read at once would not exist.
  const bool one_run = plan.anywhere && !plan.run_vectors && l.reduced_dims <= 1;
  if (one_run && 10 * ceil_div(chunks, at_once) * at_once > 11 * chunks) at_once = 1;
  plan.chunks_at_once = static_cast<int>(at_once);
  const int64_t cta_slots = kRowsWarps * at_once;
  plan.block = kRowsWarps * kWarp;

  // A cluster reads a row's chunks from several SMs; without one, two rounds are still faster than a second pass.
  // Elements from anywhere share few sectors, of which an SM loads one at a time, so these go to more SMs than that,
  // unless they are neighbours: (10, 123, 102) in full, sliced, of bf16 took 3.8 us and takes 3.3.
  const bool wide_ctas = plan.vector && s.v > 2 && !plan.anywhere;
  const int64_t most_warps = wide_ctas ? kRowsWarpsInCluster : kRowsWarps;
  const bool neighbours = l.reduced_dims > 0 && l.reduced[l.reduced_dims - 1].stride == 1;
  const int64_t most_slots = plan.vector ? most_warps * at_once : neighbours ? kRowsWarps : kRowsWarps / 2;
  const bool in_cluster = padded > cta_slots && cluster_slots(l.outputs, padded, gpu) <= most_slots;
  // Outputs between one another in memory: the same unit of all of them comes before the next one, and units are short,
  // so that what one leaves of a line is in the L2 for the others.
  const bool segments = plan.segmented && l.reduced_dims > 1;
  const int64_t segment = segments ? l.reduced[1].size * static_cast<int64_t>(size_of(p.in)) : 0;
  const bool interleaves = (!plan.vector || plan.run_vectors || (segments && segment < kInterleavedSegment)) &&
                           l.outputs > 1 && l.reduced_dims > 0 &&
                           l.kept[l.kept_dims - 1].in_stride < l.reduced[0].stride;
  if ((padded <= cta_slots || (l.outputs == 1 && padded <= 2 * kRowsWarps && !in_cluster)) && c.split <= 1) {
    plan.log_slots = log2_above(padded);
    int64_t slots = std::max(cta_slots, padded);
    // Few rows: smaller CTAs, so that every SM gets one.
    while (slots > padded && ceil_div(l.outputs * padded, slots) < t.rows_least_ctas_per_sm * gpu.sms) slots /= 2;
    plan.rows_per_cta = static_cast<int>(slots / padded);
    plan.block = static_cast<int>(std::min<int64_t>(ceil_div(slots, at_once), kRowsWarps)) * kWarp;
  } else {
    const bool whole = l.outputs >= t.rows_split_below_per_sm * gpu.sms;
    const int64_t most_ctas = on_all_sms(gpu, t.rows_ctas_per_sm);
    int64_t slots = cta_slots;
    while (slots < t.rows_split_slots && !interleaves && l.outputs * ceil_div(chunks, slots) > most_ctas) slots *= 2;
    // Twice the CTAs where each still has an SM of its own: (7, 16705, 5) in full of bf16 took 3.04 us with 36 of them
    // and takes 2.88 with 72.
    if (plan.vector && !in_cluster && slots > at_once && 2 * l.outputs * ceil_div(chunks, slots) <= gpu.sms) slots /= 2;
    if (in_cluster && !c.split) slots = std::max(cluster_slots(l.outputs, padded, gpu), at_once);
    while (!plan.vector && !in_cluster && slots > 1 && 2 * l.outputs * ceil_div(chunks, slots) <= gpu.sms) slots /= 2;
    const int64_t per_unit = steps_per_unit(p, chunks, whole ? std::min(chunks, kRowsMostSlots) : slots, c, l.outputs);
    plan.log_slots = log2_above(per_unit);
    plan.units = ceil_div(chunks, per_unit);
    plan.block = static_cast<int>(std::min(ceil_div(per_unit, at_once), in_cluster ? most_warps : kRowsWarps)) * kWarp;
  }
  if (plan.units == 1 && !c.split) share_out_steps(plan, l.outputs, ceil_div(chunks, at_once), at_once, gpu);
  plan.tiles = ceil_div(l.outputs, plan.rows_per_cta);
  plan.grid = plan.tiles * plan.units;
  plan.interleaved = interleaves && plan.units > 1;
  const int64_t values = std::max<int64_t>((static_cast<int64_t>(plan.rows_per_cta) << plan.log_slots), 1);
  plan.shared_bytes = values * static_cast<int64_t>(size_of(p.compute));
  if (values > kRowsMostSlots) {
    if (c.split) refuse("rows of so many elements need more units");
    throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs of " + std::to_string(l.n) +
                                " elements are more than one launch can hold");
  }
}

namespace {

// Rows that begin anywhere: a warp has as many as its shared memory holds, but few where there are few.
void plan_staged_rows(Plan& plan, const Problem& p, const Gpu& gpu) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  const int64_t row_bytes = l.kept[0].in_stride * static_cast<int64_t>(size_of(p.in));
  // Eight elements a lane, and several rows at once; or two rows at once, whose neighbours are the lanes'.
  plan.log_lanes = l.n <= 8 * kShortRowsElements ? log2_above(ceil_div(l.n, kShortRowsElements)) : log2_above(kWarp);
  const int64_t group = kWarp >> plan.log_lanes;
  const int64_t room = std::max<int64_t>(t.staged_warp_bytes / (group * row_bytes), 1);
  const int64_t share =
      ceil_div(l.outputs, group * kShortRowsWarps * std::max<int64_t>(t.staged_ctas_per_sm * gpu.sms, 1));
  const int64_t rows = group * std::max<int64_t>(std::min(room, share), 1);
  plan.rows_per_cta = static_cast<int>(kShortRowsWarps * rows);
  plan.shared_bytes = kShortRowsWarps * (ceil_div(rows * row_bytes, 16) * 16 + 2 * 16);
}

bool plan_copies(Plan& plan, const Layout& l) {
  plan.copied_rows = copied_rows(l);
  if (plan.copied_rows < 0) return false;
  const int64_t across = l.kept[l.kept_dims - 1].size, down = l.kept[plan.copied_rows].size;
  plan.block = kCopiesWarps * kWarp;
  plan.tiles = plan.grid = ceil_div(across, kWarp) * ceil_div(down, kCopiesRows) * (l.outputs / (across * down));
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

void plan_short_rows(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu) {
  if (!plan.vector && plan_copies(plan, p.layout)) return;
  plan.lane_elements = plan.vector ? static_cast<int>(s.v) : kShortRowsElements;
  plan.log_lanes = log2_above(ceil_div(p.layout.n, plan.lane_elements));
  plan.lane_rows = plan.vector ? kShortRowsUnroll : 1;
  const int64_t rows_at_once = (gpu.sms * kShortRowsCtasPerSm * kShortRowsWarps * kWarp) >> plan.log_lanes;
  if (!plan.vector && p.layout.outputs > rows_at_once) {  // many
    const auto of_lane = std::min<int64_t>(power_of_two_above(std::max<int64_t>(p.layout.n, 1)), kShortRowsElements);
    plan.lane_elements = static_cast<int>(of_lane);
    plan.lane_rows = scattered_rows_of_lane(plan.lane_elements);
  }
  plan.block = kShortRowsWarps * kWarp;
  plan.anywhere = plan.vector && !s.short_vector;
  if (plan.anywhere) {
    plan_staged_rows(plan, p, gpu);
  } else {
    plan.segmented = plan.vector && p.layout.kept_dims > 1;
    plan.rows_per_cta = kShortRowsWarps * plan.lane_rows * (kWarp >> plan.log_lanes);
  }
  plan.tiles = plan.grid = ceil_div(p.layout.outputs, plan.rows_per_cta);
}

}  // namespace torch_reduce::planning
