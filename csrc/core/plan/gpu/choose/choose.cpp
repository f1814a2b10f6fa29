// A plan is chosen by what it is estimated to take: every family and kind of loads that is legal is planned, and the
// least estimate wins (cost.h).
#include <limits>

#include "core/plan/gpu/choose/cost.h"
#include "core/plan/gpu/choose/memo.h"
#include "core/plan/gpu/detail.h"

namespace torch_reduce {
namespace {

using namespace tuning;
using namespace planning;

struct Candidate {
  Family family;
  bool vector;  // 16-byte loads
};

struct Candidates {
  Candidate each[8];
  int count = 0;

  void add(Family family, bool vector) { each[count++] = {family, vector}; }
};

// Whether an outer reduced dim lies closer in memory than the inner one: what tiles are for.
bool is_across_memory(const Layout& l) {
  const int last = l.reduced_dims - 1;
  for (int d = 0; d < last; ++d) {
    if (l.reduced[d].stride < l.reduced[last].stride) return true;
  }
  return false;
}

bool has_vectors(Family family, const Shape& s) {
  switch (family) {
    case Family::Rows:
      return s.row_vector || s.row_segmented || s.row_unaligned || s.row_unordered;
    case Family::ShortRows:
      return s.short_vector || s.short_staged;
    case Family::Columns:
      return s.column_vector || s.column_segmented || s.column_unaligned;
    default:
      return true;  // plan_tiles finds out
  }
}

bool is_legal(Family family, const Problem& p, const Shape& s, const Constraint& c) {
  switch (family) {
    case Family::Rows:
      return true;
    case Family::ShortRows:
      return (s.short_scalar || (has_vectors(family, s) && c.vector != 0)) && c.split <= 1;
    case Family::Columns:
      return s.columns;
    default:
      return tiles_are_legal(p);
  }
}

[[noreturn]] void refuse_family(Family family, const Constraint& c) {
  if (family == Family::Tiles) refuse("tiles take several dims of floating elements, in their order");
  if (family == Family::Columns) refuse("columns need more than one output");
  if (c.split > 1) refuse("short_rows are not split");
  refuse("short_rows take fewer elements per output");
}

Candidates candidates(const Problem& p, const Shape& s, const Constraint& c) {
  Candidates found;
  const auto add = [&](Family family) {
    const bool vector = c.vector != 0 && has_vectors(family, s);
    if (vector) found.add(family, true);
    const bool elements = family == Family::ShortRows ? s.short_scalar : family != Family::Tiles || !vector;
    if (c.vector != 1 && elements) found.add(family, false);
  };
  if (c.family >= 0) {
    const auto family = static_cast<Family>(c.family);
    if (!is_legal(family, p, s, c)) refuse_family(family, c);
    add(family);
    if (found.count == 0) refuse(std::string("no 16-byte loads in ") + name(family));
    return found;
  }
  if (p.layout.n == 0) {  // nothing to read
    add(c.split > 1 ? Family::Rows : Family::ShortRows);
  } else {
    for (const Family family : {Family::Rows, Family::ShortRows, Family::Columns}) {
      if (is_legal(family, p, s, c)) add(family);
    }
    if (is_across_memory(p.layout) && is_legal(Family::Tiles, p, s, c)) add(Family::Tiles);
  }
  if (found.count == 0) refuse("no 16-byte loads in any family");
  return found;
}

Plan plan_of(const Candidate& candidate, const Problem& p, const Shape& s, const Gpu& gpu, const Constraint& c) {
  Plan plan;
  switch (candidate.family) {
    case Family::Rows:
      plan_rows(plan, candidate.vector, p, s, gpu, c);
      break;
    case Family::ShortRows:
      plan_short_rows(plan, candidate.vector, p, s, gpu);
      break;
    case Family::Tiles:
      plan_tiles(plan, candidate.vector, p, gpu, c);
      break;
    default:
      plan_columns(plan, candidate.vector, p, s, gpu, c);
  }
  if (plan.grid > kMaxGrid) {
    throw std::invalid_argument("reduce: " + std::to_string(p.layout.outputs) +
                                " outputs are more than one launch can hold");
  }
  plan_finish(plan, p, gpu);
  return plan;
}

Plan choose_plan(const Problem& p, const Gpu& gpu, const Constraint& c) {
  const Layout& l = p.layout;
  Plan best;
  if (l.outputs == 0) return best;
  if (std::max(l.kept_dims, l.reduced_dims) > kMaxKernelDims) {
    throw std::invalid_argument("reduce: a tensor of over " + std::to_string(kMaxKernelDims) +
                                " dims that do not merge is not supported");
  }
  const Shape s = inspect(p);
  const Candidates legal = candidates(p, s, c);
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < legal.count; ++i) {
    try {
      const Plan plan = plan_of(legal.each[i], p, s, gpu, c);
      const double us = legal.count == 1 ? 0 : estimated_us(effort_of(p, plan, gpu), plan.finish);
      if (best.grid == 0 || us < least) best = plan, least = us;
    } catch (const std::invalid_argument&) {
      // A split that this family does not have, or too much for one launch: for another family to do.
      if (i + 1 == legal.count && best.grid == 0) throw;
    }
  }
  const int64_t out_bytes = l.outputs * static_cast<int64_t>(size_of(p.out));
  best.expected_bytes = l.outputs * l.n * static_cast<int64_t>(size_of(p.in)) + out_bytes + 2 * best.scratch_bytes +
                        (best.finish == Finish::Atomic ? out_bytes : 0);  // zeroed before
  if (is_of_two(p)) best.expected_bytes += l.outputs * l.n * static_cast<int64_t>(size_of(p.partner.type));
  return best;
}

}  // namespace

int64_t planning::steps_per_unit(const Problem& p, int64_t steps, int64_t wanted, const Constraint& c,
                                 int64_t ctas_per_unit) {
  const int64_t padded = power_of_two_above(steps);
  const int64_t acc = accumulator_bytes(p);
  int64_t per_unit = std::min(power_of_two_above(std::max<int64_t>(wanted, 1)), padded);
  if (c.split) {
    if (c.split != power_of_two_above(c.split) || c.split > padded) refuse("split is a power of two of units");
    per_unit = padded / c.split;
  }
  auto too_many = [&](int64_t units) {
    return units > 1 && (units * p.layout.outputs > kMaxScratch / 2 / acc || units * ctas_per_unit > kMaxGrid);
  };
  while (per_unit < padded && too_many(ceil_div(steps, per_unit))) per_unit *= 2;
  return per_unit;
}

Plan make_plan(const Problem& p, const Gpu& gpu, const Constraint& c) {
  if (c.family >= 0 || c.vector >= 0 || c.split > 0) return choose_plan(p, gpu, c);
  thread_local Memo memo;
  if (const Plan* known = memo.find(p, gpu)) return *known;
  const Plan plan = choose_plan(p, gpu, c);
  memo.keep(plan);
  return plan;
}

Family family_of(const Plan& plan) {
  struct {
    Family operator()(std::monostate) const { return Family::Empty; }
    Family operator()(const RowsPlan&) const { return Family::Rows; }
    Family operator()(const ShortRowsPlan&) const { return Family::ShortRows; }
    Family operator()(const CopiesPlan&) const { return Family::ShortRows; }
    Family operator()(const ColumnsPlan&) const { return Family::Columns; }
    Family operator()(const StackedPlan&) const { return Family::Columns; }
    Family operator()(const TilesPlan&) const { return Family::Tiles; }
    Family operator()(const StripsPlan&) const { return Family::Tiles; }
  } family;
  return std::visit(family, plan.kernel);
}

const char* name(Finish finish) {
  constexpr const char* names[] = {"direct", "cluster", "partials", "atomic"};
  return names[static_cast<int>(finish)];
}

}  // namespace torch_reduce
