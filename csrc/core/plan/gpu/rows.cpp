// Plans of rows.
#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

// Rows whose steps leave warps idle in a CTA's last round come several to a CTA, where that keeps its warps busier by a
// tenth.
void share_out_steps(RowsPlan& plan, int64_t warps, int64_t outputs, int64_t steps, int64_t at_once, const Gpu& gpu) {
  const int64_t slots = int64_t{1} << plan.log_slots;
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

Access access_of_rows(bool vector, const Layout& l, const Shape& s) {
  if (!vector) return Access::Strided;
  if (s.row_vector) return Access::Contiguous;
  if (s.row_segmented) return Access::Segmented;
  if (!s.row_unaligned) return Access::Unordered;
  return l.reduced_dims == 2 ? Access::UnalignedSegmented : Access::Unaligned;
}

// Chunks of each CTA where as many as there may be of a cluster share a row, and each CTA has an SM of its own.
int64_t cluster_slots(int64_t outputs, int64_t padded, const Gpu& gpu) {
  int64_t units = gpu.cluster_ctas;
  while (units > 1 && units * outputs > gpu.sms) units /= 2;
  return units == 1 ? padded : std::max<int64_t>(padded / units, 1);
}

}  // namespace

void plan_rows(Plan& plan, bool vector, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  RowsPlan& rows = plan.kernel.emplace<RowsPlan>();
  plan.access = access_of_rows(vector, l, s);
  rows.places = l.n;
  if (plan.access == Access::Unordered) {  // as many loads as a segment needs wherever it begins
    const int64_t segment = l.reduced[l.reduced_dims - 1].size;
    rows.segment_vectors = (segment + 2 * s.v - 2) / s.v;
    rows.places = l.n / segment * rows.segment_vectors * s.v;
  }
  const int64_t chunks = std::max<int64_t>(chunk_count(rows.places), 1), padded = power_of_two_above(chunks);
  const kernels::Types types = kernels::types_of(p);
  int64_t at_once = kernels::rows_chunks_at_once(types, plan.access);
  // Unaligned rows of a few chunks, of which some read at once would not exist.
  if (plan.access == Access::Unaligned && 10 * ceil_div(chunks, at_once) * at_once > 11 * chunks) at_once = 1;
  rows.chunks_at_once = static_cast<int>(at_once);
  const int64_t cta_slots = kRowsWarps * at_once;
  plan.block = kRowsWarps * kWarp;

  // A cluster reads a row's chunks from several SMs; without one, two rounds are still faster than a second pass.
  // Elements at any stride share few sectors, of which an SM loads one at a time, so these go to more SMs than that,
  // unless they are neighbours.
  const int64_t most_warps = kernels::rows_most_warps(types, plan.access);
  const bool neighbours = l.reduced_dims > 0 && l.reduced[l.reduced_dims - 1].stride == 1;
  const int64_t most_slots = vector ? most_warps * at_once : neighbours ? kRowsWarps : kRowsWarps / 2;
  const bool in_cluster = padded > cta_slots && cluster_slots(l.outputs, padded, gpu) <= most_slots;
  // Outputs between one another in memory: the same unit of all of them comes before the next one, and units are short,
  // so that what one leaves of a line is in the L2 for the others.
  const bool segments = plan.access == Access::Segmented && l.reduced_dims > 1;
  const int64_t segment = segments ? l.reduced[1].size * static_cast<int64_t>(size_of(p.in)) : 0;
  const bool interleaves = (!vector || rows.segment_vectors || (segments && segment < kInterleavedSegment)) &&
                           l.outputs > 1 && l.reduced_dims > 0 &&
                           l.kept[l.kept_dims - 1].in_stride < l.reduced[0].stride;
  if ((padded <= cta_slots || (l.outputs == 1 && padded <= 2 * kRowsWarps && !in_cluster)) && c.split <= 1) {
    rows.log_slots = log2_above(padded);
    int64_t slots = std::max(cta_slots, padded);
    // Few rows: smaller CTAs, so that every SM gets one.
    while (slots > padded && ceil_div(l.outputs * padded, slots) < t.rows_least_ctas_per_sm * gpu.sms) slots /= 2;
    rows.rows_per_cta = static_cast<int>(slots / padded);
    plan.block = static_cast<int>(std::min<int64_t>(ceil_div(slots, at_once), kRowsWarps)) * kWarp;
  } else {
    const int64_t most = rows_most_slots(accumulator_bytes(p));
    const bool whole = l.outputs >= t.rows_split_below_per_sm * gpu.sms;
    const int64_t most_ctas = on_all_sms(gpu, t.rows_ctas_per_sm);
    int64_t slots = cta_slots;
    while (slots < t.rows_split_slots && !interleaves && l.outputs * ceil_div(chunks, slots) > most_ctas) slots *= 2;
    // Twice the CTAs where each still has an SM of its own.
    if (vector && !in_cluster && slots > at_once && 2 * l.outputs * ceil_div(chunks, slots) <= gpu.sms) slots /= 2;
    if (in_cluster && !c.split) slots = std::max(cluster_slots(l.outputs, padded, gpu), at_once);
    while (!vector && !in_cluster && slots > 1 && 2 * l.outputs * ceil_div(chunks, slots) <= gpu.sms) slots /= 2;
    const int64_t per_unit = steps_per_unit(p, chunks, whole ? std::min(chunks, most) : slots, c, l.outputs);
    rows.log_slots = log2_above(per_unit);
    plan.units = ceil_div(chunks, per_unit);
    plan.block = static_cast<int>(std::min(ceil_div(per_unit, at_once), in_cluster ? most_warps : kRowsWarps)) * kWarp;
  }
  if (plan.units == 1 && !c.split)
    share_out_steps(rows, plan.block / kWarp, l.outputs, ceil_div(chunks, at_once), at_once, gpu);
  rows.steps = ceil_div(std::min(int64_t{1} << rows.log_slots, chunks), at_once);
  plan.grid = ceil_div(l.outputs, rows.rows_per_cta) * plan.units;
  rows.interleaved = interleaves && plan.units > 1;
  const int64_t values = std::max<int64_t>((static_cast<int64_t>(rows.rows_per_cta) << rows.log_slots), 1);
  plan.shared_bytes = values * accumulator_bytes(p);
  if (values > rows_most_slots(accumulator_bytes(p))) {
    if (c.split) refuse("rows of so many elements need more units");
    throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs of " + std::to_string(l.n) +
                                " elements are more than one launch can hold");
  }
}

}  // namespace torch_reduce::planning
