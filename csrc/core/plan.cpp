#include "plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "order.h"
#include "tuning.h"

namespace torch_reduce {
namespace {

using namespace tuning;

constexpr int64_t kMaxGrid = (int64_t{1} << 31) - 1;
constexpr int kWarp = 32;
constexpr int64_t kColumnsMost = int64_t{1} << 33;    // columns number leaves with 32 bits
constexpr int64_t kSegmentedMost = int64_t{1} << 30;  // divisions by a multiplication are exact to here, rounded up

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

int64_t power_of_two_above(int64_t x) {
  int64_t p = 1;
  while (p < x) p *= 2;
  return p;
}

int log2_of(int64_t power_of_two) {
  int l = 0;
  while ((int64_t{1} << l) < power_of_two) ++l;
  return l;
}

// What the families can do with a problem.
struct Shape {
  int64_t v;  // elements per 16 bytes; 1 for types that kernels read through a runtime switch
  bool aligned;
  bool row_vector, row_segmented, short_vector, short_scalar, column_vector, column_segmented, columns;
};

// The types each compute type reads at full width; others are rare and read an element at a time.
bool has_vector_loads(const Problem& p) {
  if (p.as_bool) return false;
  switch (p.compute) {
    case DType::Float32:
      return true;
    case DType::Float64:
      return p.in == DType::Float32 || p.in == DType::Float64;
    default:
      return p.in <= DType::Int64;
  }
}

Shape inspect(const Problem& p) {
  const Layout& l = p.layout;
  Shape s{};
  s.v = 16 / static_cast<int64_t>(size_of(p.in));
  s.aligned = has_vector_loads(p) && p.in_alignment == 16 && l.kept_dims <= kFewDims;

  const int64_t inner_reduced = l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 1;
  bool kept_multiple = true;
  for (int d = 0; d < l.kept_dims; ++d) kept_multiple &= l.kept[d].in_stride % s.v == 0;
  const bool rows_aligned = s.aligned && kept_multiple && inner_reduced == 1;
  s.row_vector = rows_aligned && l.reduced_dims <= 1;
  s.row_segmented = rows_aligned && l.reduced_dims == 2 && l.reduced[1].size % s.v == 0 &&
                    l.reduced[0].stride % s.v == 0 && l.n < kSegmentedMost;
  s.short_vector = s.row_vector && l.n <= kWarp * s.v && l.n % s.v == 0;
  s.short_scalar = l.n <= kWarp;

  s.columns = l.kept_dims > 0 && l.n < kColumnsMost;
  if (s.columns) {
    const KeptDim& inner = l.kept[l.kept_dims - 1];
    bool multiple = inner.in_stride == 1 && inner.size % s.v == 0;
    for (int d = 0; d + 1 < l.kept_dims; ++d) multiple &= l.kept[d].in_stride % s.v == 0;
    for (int d = 0; d < l.reduced_dims; ++d) multiple &= l.reduced[d].stride % s.v == 0;
    s.column_vector = s.aligned && multiple && l.reduced_dims <= 1;
    s.column_segmented = s.aligned && multiple && l.reduced_dims == 2 && l.n < kSegmentedMost;
  }
  return s;
}

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("reduce: the constraint on the plan is not legal for this tensor: " + what);
}

struct Choice {
  Family family;
  bool vector;
};

Choice choose(const Problem& p, const Shape& s, const Constraint& c) {
  const Layout& l = p.layout;
  const bool vector_allowed = c.vector != 0;
  auto vector_of = [&](Family f) {
    switch (f) {
      case Family::Rows:
        return s.row_vector || s.row_segmented;
      case Family::ShortRows:
        return s.short_vector;
      default:
        return s.column_vector || s.column_segmented;
    }
  };
  auto pick = [&](Family f) -> Choice {
    const bool vector = vector_allowed && vector_of(f);
    if (c.vector == 1 && !vector) refuse(std::string("no 16-byte loads in ") + name(f));
    return {f, vector};
  };
  if (c.family >= 0) {
    const auto f = static_cast<Family>(c.family);
    if (f == Family::Columns && !s.columns) refuse("columns need more than one output");
    if (f == Family::ShortRows && !s.short_scalar && !(vector_allowed && s.short_vector)) {
      refuse("short_rows take fewer elements per output");
    }
    return pick(f);
  }

  const int64_t kept_stride = l.kept_dims ? l.kept[l.kept_dims - 1].in_stride : 0;
  const int64_t reduced_stride = l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 0;
  const bool beside = s.columns && (l.reduced_dims == 0 || kept_stride < reduced_stride);
  if (s.short_vector && vector_allowed && l.reduced_dims) return pick(Family::ShortRows);
  // Too few outputs side by side to fill a memory sector, in very many places: a CTA for each place would be idle.
  const bool scattered =
      beside && l.kept_dims > 1 && l.kept[l.kept_dims - 1].size * static_cast<int64_t>(size_of(p.in)) < kSector;
  if (l.n == 0 || (s.short_scalar && (beside ? scattered : l.outputs > 1))) return pick(Family::ShortRows);
  return pick(beside ? Family::Columns : Family::Rows);
}

// Shares the leaves of an output among CTAs so that a power of two of `steps` go to each. A step is what a CTA does
// in one pass; `wanted` is how many steps a unit should have. Scratch is kept small by longer units.
void split(Plan& plan, const Problem& p, int64_t steps, int64_t wanted, const Constraint& c, int64_t ctas_per_unit) {
  const int64_t padded = power_of_two_above(steps);
  const int64_t acc = static_cast<int64_t>(size_of(p.compute));
  int64_t passes = std::min(power_of_two_above(std::max<int64_t>(wanted, 1)), padded);
  if (c.split) {
    if (c.split != power_of_two_above(c.split) || c.split > padded) refuse("split is a power of two of units");
    passes = padded / c.split;
  }
  auto too_many = [&](int64_t units) {
    return units > 1 && (units * p.layout.outputs > kMaxScratch / 2 / acc || units * ctas_per_unit > kMaxGrid);
  };
  while (passes < padded && too_many(ceil_div(steps, passes))) passes *= 2;
  plan.passes = passes;
  plan.units = std::max<int64_t>(ceil_div(steps, passes), 1);
}

// The tree over the passes stands in shared memory, a value per level.
int64_t pass_levels(const Plan& plan) { return plan.passes > 1 ? log2_of(plan.passes) + 1 : 0; }

void plan_rows(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  plan.segmented = plan.vector && !s.row_vector;
  const int64_t chunks = chunk_count(l.n), padded = power_of_two_above(chunks);
  const int64_t cta_slots =
      kRowsWarps * (plan.vector ? std::max<int64_t>(kLoadsInFlight * kWarp * s.v / kChunk, 1) : 1);
  plan.block = kRowsWarps * kWarp;

  if ((padded <= cta_slots || (l.outputs == 1 && padded <= 2 * kRowsWarps)) && c.split <= 1) {
    plan.log_slots = log2_of(padded);
    int64_t slots = std::max(cta_slots, padded);  // two rounds are still faster than a second pass
    // Few rows: smaller CTAs, so that every SM gets one.
    while (slots > padded && ceil_div(l.outputs * padded, slots) < 2 * gpu.sms) slots /= 2;
    plan.rows_per_cta = static_cast<int>(slots / padded);
    plan.block = static_cast<int>(std::min<int64_t>(slots, kRowsWarps)) * kWarp;
  } else {
    const bool whole = l.outputs >= kSplitBelowRowsPerSm * gpu.sms;
    // A CTA that takes a ticket waits for it, so atomics into scratch want fewer CTAs.
    const bool takes_ticket = p.mode == Mode::Atomic && p.out != p.compute;
    const int64_t most_ctas = takes_ticket ? kRowsTicketCtas : kRowsCtas;
    int64_t slots = cta_slots;
    while (slots < kRowsMaxSlots && l.outputs * ceil_div(chunks, slots) > most_ctas) slots *= 2;
    slots = std::min(padded, slots);
    if (c.split > 1) slots = std::min(slots, std::max<int64_t>(padded / c.split, 1));
    plan.log_slots = log2_of(slots);
    const int64_t steps = ceil_div(chunks, slots);
    split(plan, p, steps, whole ? steps : 1, c, l.outputs);
    // Slots are cheaper than passes: no barrier in between.
    while (plan.passes > 1 && plan.log_slots < 10) {
      plan.passes /= 2;
      ++plan.log_slots;
    }
  }
  plan.tiles = ceil_div(l.outputs, plan.rows_per_cta);
  plan.grid = plan.tiles * plan.units;
  plan.shared_bytes =
      ((static_cast<int64_t>(plan.rows_per_cta) << plan.log_slots) + pass_levels(plan)) * size_of(p.compute);
}

void plan_short_rows(Plan& plan, const Problem& p, const Shape& s) {
  const int64_t v = plan.vector ? s.v : 1;
  plan.log_lanes = log2_of(power_of_two_above(ceil_div(p.layout.n, v)));
  plan.block = kShortRowsWarps * kWarp;
  plan.rows_per_cta = kShortRowsWarps * kShortRowsUnroll * (kWarp >> plan.log_lanes);
  plan.tiles = plan.grid = ceil_div(p.layout.outputs, plan.rows_per_cta);
}

// Columns with 2^log_across lanes side by side.
Plan columns_across(const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c, Plan plan, int64_t across) {
  const Layout& l = p.layout;
  const int64_t v = plan.vector ? s.v : 1;
  const int64_t columns = l.kept[l.kept_dims - 1].size, batch = l.outputs / columns;
  const int64_t vectors = ceil_div(columns, v);
  const int64_t rows_per_warp = kWarp / across;
  plan.log_across = log2_of(across);

  // Outputs of at most 256 elements have one step; then a batch has more leaves, so that as many loads are in flight.
  const bool one_step = plan.vector && !plan.segmented && l.n <= kLeaves;
  plan.batch_leaves =
      one_step ? (l.n <= kLoadsInFlight / 2 ? kLoadsInFlight / 2 : kLoadsInFlight) : kLoadsInFlight / kSteps;
  const int64_t batch_leaves = rows_per_warp * plan.batch_leaves;                       // of a warp
  const int64_t warps = ceil_div(std::max<int64_t>(leaf_count(l.n), 1), batch_leaves);  // if each took one batch
  const int64_t warps_along = std::min<int64_t>(kColumnsWarps, power_of_two_above(warps));
  const int64_t warps_across =
      std::min<int64_t>(kColumnsWarps / warps_along, power_of_two_above(ceil_div(vectors, across)));
  plan.log_warps_along = log2_of(warps_along);
  plan.log_warps_across = log2_of(warps_across);
  plan.block = static_cast<int>(warps_along * warps_across) * kWarp;
  plan.tiles = ceil_div(vectors, across * warps_across) * batch;

  const int64_t steps = ceil_div(warps, warps_along), padded = power_of_two_above(steps);
  // A warp's leaves stay in one chunk, and the batches' results in shared memory.
  const int64_t row_bytes = warps_across * across * v * static_cast<int64_t>(size_of(p.compute));
  int64_t most = std::min<int64_t>(kColumnsMaxBatches, kLeaves / batch_leaves);
  while (most > 1 && most * warps_along * row_bytes > kColumnsShared) most /= 2;
  int64_t batches = std::min(padded, most);
  if (c.split) {
    if (c.split > padded) refuse("split is at most the number of batches a column needs");
    batches = std::min(batches, padded / c.split);
  } else if (batches < padded || plan.tiles < gpu.sms / 2) {  // split anyway, or too few CTAs: share evenly
    while (batches > 1 && plan.tiles * ceil_div(steps, batches) < kColumnsCtasPerSm * gpu.sms) batches /= 2;
  }
  plan.batches = static_cast<int>(batches);
  split(plan, p, ceil_div(steps, batches), 1, c, plan.tiles);
  while (plan.passes > 1 && plan.batches < most) {
    plan.passes /= 2;
    plan.batches *= 2;
  }
  plan.grid = plan.tiles * plan.units;
  plan.log_leaves = log2_of(plan.batches * batch_leaves);
  const int64_t slots = warps_along * plan.batches;
  plan.shared_bytes = slots * plan.passes == 1 ? 0 : (slots + pass_levels(plan)) * row_bytes;
  return plan;
}

// The widest tile whose partials are few, since wide tiles suit the memory and few partials the finish. Where the whole
// problem is small, a tile narrow enough that no second pass is needed.
void plan_columns(Plan& plan, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  const int64_t v = plan.vector ? s.v : 1;
  plan.segmented = plan.vector && !s.column_vector;
  const int64_t element = static_cast<int64_t>(size_of(p.in));
  const int64_t widest = std::min<int64_t>(kWarp, power_of_two_above(ceil_div(l.kept[l.kept_dims - 1].size, v)));
  const bool small = l.outputs * l.n * element <= kColumnsSmall;
  bool lines = true;  // rows start at cache lines, else the edges of narrow tiles would be read twice
  for (int d = 0; d < l.reduced_dims; ++d) lines &= l.reduced[d].stride * element % kLine == 0;
  const int64_t narrow = small ? kSector : lines ? kLine : kWarp * 16;
  const int64_t narrowest = std::min(widest, std::max<int64_t>(narrow / (v * element), 1));
  Plan wide = columns_across(p, s, gpu, c, plan, widest);
  for (int64_t across = widest; across >= narrowest; across /= 2) {
    const Plan candidate = columns_across(p, s, gpu, c, plan, across);
    if (candidate.units < wide.units) wide = candidate;
    if (wide.units <= (small ? 1 : kColumnsFewUnits)) break;
  }
  plan = wide;
}

// Whether the outputs fill memory without gaps from the output's address on, so that zeroing it is one memset.
bool dense(const Layout& l) {
  int64_t last = 0;
  for (int d = 0; d < l.kept_dims; ++d) {
    if (l.kept[d].out_stride <= 0) return false;
    last += (l.kept[d].size - 1) * l.kept[d].out_stride;
  }
  return last + 1 == l.outputs;
}

void plan_finish(Plan& plan, const Problem& p) {
  const int64_t acc = static_cast<int64_t>(size_of(p.compute));
  const int64_t outputs = p.layout.outputs;
  plan.launches = 1;
  if (plan.units == 1) return;
  if (p.mode == Mode::Atomic && (p.op == Op::Sum || p.op == Op::Mean)) {
    plan.finish = Finish::Atomic;
    plan.atomic_in_out = p.op == Op::Sum && p.out == p.compute && dense(p.layout);
    if (!plan.atomic_in_out) {
      plan.scratch_bytes = plan.zeroed_bytes = outputs * acc + plan.tiles * static_cast<int64_t>(sizeof(uint32_t));
    }
  } else {
    plan.finish = Finish::Partials;
    plan.few_outputs = plan.family == Family::Rows || outputs <= kFinishFewOutputs;
    plan.padded_units = plan.few_outputs ? ceil_div(plan.units, 16 / acc) * (16 / acc) : plan.units;
    plan.scratch_bytes = outputs * plan.padded_units * acc;
    plan.launches = 2;
  }
}

}  // namespace

Plan make_plan(const Problem& p, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  Plan plan;
  if (l.outputs == 0) return plan;
  if (std::max(l.kept_dims, l.reduced_dims) > kMaxKernelDims) {
    throw std::invalid_argument("reduce: a tensor of over " + std::to_string(kMaxKernelDims) +
                                " dims that do not merge is not supported");
  }
  const Shape s = inspect(p);
  const Choice choice = choose(p, s, c);
  plan.family = choice.family;
  plan.vector = choice.vector;
  switch (plan.family) {
    case Family::Rows:
      plan_rows(plan, p, s, gpu, c);
      break;
    case Family::ShortRows:
      if (c.split > 1) refuse("short_rows are not split");
      plan_short_rows(plan, p, s);
      break;
    default:
      plan_columns(plan, p, s, gpu, c);
  }
  if (plan.grid > kMaxGrid) {
    throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs are more than one launch can hold");
  }
  plan_finish(plan, p);
  plan.expected_bytes = l.outputs * l.n * static_cast<int64_t>(size_of(p.in)) +
                        l.outputs * static_cast<int64_t>(size_of(p.out)) + 2 * plan.scratch_bytes;
  return plan;
}

const char* name(Family family) {
  constexpr const char* names[] = {"empty", "rows", "short_rows", "columns"};
  return names[static_cast<int>(family)];
}

const char* name(Finish finish) {
  constexpr const char* names[] = {"direct", "partials", "atomic"};
  return names[static_cast<int>(finish)];
}

}  // namespace torch_reduce
