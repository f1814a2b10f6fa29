// Plans of the families that walk along rows.
#include "plan_detail.h"

namespace torch_reduce::planning {

using namespace tuning;

void plan_rows(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const Tuning& t = gpu.tuning;
  plan.segmented = plan.vector && !s.row_vector;
  const int64_t chunks = std::max<int64_t>(chunk_count(l.n), 1), padded = power_of_two_above(chunks);
  const int64_t at_once = plan.vector ? std::max<int64_t>(kLoadsInFlight * kWarp * s.v / kChunk, 1) : 1;
  const int64_t cta_slots = kRowsWarps * at_once;
  plan.block = kRowsWarps * kWarp;

  if ((padded <= cta_slots || (l.outputs == 1 && padded <= 2 * kRowsWarps)) && c.split <= 1) {
    plan.log_slots = log2_above(padded);
    int64_t slots = std::max(cta_slots, padded);  // two rounds are still faster than a second pass
    // Few rows: smaller CTAs, so that every SM gets one.
    while (slots > padded && ceil_div(l.outputs * padded, slots) < t.rows_least_ctas_per_sm * gpu.sms) slots /= 2;
    plan.rows_per_cta = static_cast<int>(slots / padded);
    plan.block = static_cast<int>(std::min<int64_t>(ceil_div(slots, at_once), kRowsWarps)) * kWarp;
  } else {
    const bool whole = l.outputs >= t.rows_split_below_per_sm * gpu.sms;
    // A CTA that takes a ticket waits for it, so atomics into scratch want fewer CTAs.
    const bool takes_ticket = p.mode == Mode::Atomic && p.out != p.compute;
    const int64_t most_ctas = on_all_sms(gpu, takes_ticket ? t.rows_ticket_ctas_per_sm : t.rows_ctas_per_sm);
    const int64_t most_slots = takes_ticket ? kRowsMostSlots : t.rows_split_slots;
    int64_t slots = cta_slots;
    while (slots < most_slots && l.outputs * ceil_div(chunks, slots) > most_ctas) slots *= 2;
    const int64_t per_unit = steps_per_unit(p, chunks, whole ? std::min(chunks, kRowsMostSlots) : slots, c, l.outputs);
    plan.log_slots = log2_above(per_unit);
    plan.units = ceil_div(chunks, per_unit);
  }
  plan.tiles = ceil_div(l.outputs, plan.rows_per_cta);
  plan.grid = plan.tiles * plan.units;
  const int64_t values = std::max<int64_t>((static_cast<int64_t>(plan.rows_per_cta) << plan.log_slots), 1);
  plan.shared_bytes = values * static_cast<int64_t>(size_of(p.compute));
  if (values > kRowsMostSlots) {
    if (c.split) refuse("rows of so many elements need more units");
    throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs of " + std::to_string(l.n) +
                                " elements are more than one launch can hold");
  }
}

void plan_short_rows(Plan& plan, const Problem& p, const Shape& s) {
  plan.lane_elements = plan.vector ? static_cast<int>(s.v) : p.layout.n > kWarp ? kShortRowsElements : 1;
  plan.log_lanes = log2_above(ceil_div(p.layout.n, plan.lane_elements));
  plan.segmented = plan.vector && p.layout.kept_dims > 1;
  plan.block = kShortRowsWarps * kWarp;
  plan.rows_per_cta = kShortRowsWarps * kShortRowsUnroll * (kWarp >> plan.log_lanes);
  plan.tiles = plan.grid = ceil_div(p.layout.outputs, plan.rows_per_cta);
}

}  // namespace torch_reduce::planning
