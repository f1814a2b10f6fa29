#include "core/plan/gpu/detail.h"
#include "core/plan/gpu/plan.h"

namespace torch_reduce {
namespace {

using namespace tuning;
using namespace planning;

constexpr int64_t kColumnsMost = int64_t{1} << 33;  // columns number leaves with 32 bits

// Whether the reduced dims are segments that may be read unaligned, in any order. What 16 bytes hold beside the end of
// one is read too, but for the last one: so another must end at least as far behind it. Kernels walk the others by
// numbers of 32 bits.
bool has_unordered(const Problem& p) {
  const Layout& l = p.layout;
  const int64_t element = static_cast<int64_t>(size_of(p.in)), v = 16 / element;
  const bool free = is_order_free(p.op, p.compute) || p.mode == Mode::Atomic;
  if (!free || !kernels::have_rows(kernels::types_of(p), Access::Unordered)) return false;
  if (l.reduced_dims < 2 || l.reduced_dims > kFewDims + 1 || l.n >= kSmallNumbers) return false;
  for (int d = 0; d + 1 < l.reduced_dims; ++d) {
    const int64_t stride = l.reduced[d].stride, bytes = stride * element;
    if (stride < v || bytes >= kSmallNumbers || (d > 0 && bytes * l.reduced[d].size >= kSmallNumbers)) return false;
  }
  const ReducedDim& run = l.reduced[l.reduced_dims - 1];
  return run.stride == 1 && run.size >= v;
}

bool unordered_is_worth_it(const Problem& p) {
  const Layout& l = p.layout;
  const auto element = static_cast<int64_t>(size_of(p.in));
  return l.reduced[l.reduced_dims - 1].size >= unordered_segment_least(element) && l.n >= kUnorderedOutputLeast;
}

Shape inspect(const Problem& p) {
  const Layout& l = p.layout;
  const kernels::Types types = kernels::types_of(p);
  Shape s{};
  s.v = 16 / static_cast<int64_t>(size_of(p.in));
  s.aligned = kernels::are_typed(types) && p.in_alignment == 16 && l.kept_dims <= kFewDims;

  const int64_t inner_reduced = l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 1;
  bool kept_multiple = true;
  for (int d = 0; d < l.kept_dims; ++d) kept_multiple &= l.kept[d].in_stride % s.v == 0;
  const bool rows_aligned = s.aligned && kept_multiple && inner_reduced == 1;
  const bool small_numbers = l.n < kSmallNumbers && l.outputs < kSmallNumbers;
  s.row_vector = rows_aligned && l.reduced_dims <= 1 && l.kept_dims <= 1;
  s.row_segmented =
      rows_aligned && small_numbers && l.n > 0 &&
      (l.reduced_dims <= 1 ? l.n % s.v == 0
                           : l.reduced_dims == 2 && l.reduced[1].size % s.v == 0 && l.reduced[0].stride % s.v == 0);
  // Loads of 16 bytes that begin at any element. A chunk that lies in two segments is read by elements.
  const bool unaligned = kernels::are_typed(types) && l.kept_dims <= kFewDims && l.outputs < kSmallNumbers;
  s.row_unaligned = unaligned && inner_reduced == 1 && kernels::have_rows(types, Access::Unaligned) &&
                    (l.reduced_dims <= 1 ||
                     (l.reduced_dims == 2 && l.reduced[1].size >= kRowsUnalignedSegment && l.n < kSmallNumbers));
  s.row_unordered = unaligned && has_unordered(p);
  s.short_vector = rows_aligned && l.reduced_dims <= 1 && l.n <= kWarp * s.v && l.n % s.v == 0 &&
                   (l.kept_dims <= 1 || small_numbers);
  s.short_scalar = l.n <= kWarp * kShortRowsElements;
  s.short_staged = kernels::have_short_rows(types, Access::Unaligned) && s.short_scalar && l.n > 0 &&
                   inner_reduced == 1 && l.reduced_dims == 1 && l.kept_dims == 1 && l.kept[0].in_stride >= l.n &&
                   2 * l.kept[0].in_stride <= 3 * l.n;

  s.columns = l.kept_dims > 0 && l.n < kColumnsMost;
  if (s.columns) {
    const KeptDim& inner = l.kept[l.kept_dims - 1];
    bool multiple = inner.in_stride == 1 && inner.size % s.v == 0;
    for (int d = 0; d + 1 < l.kept_dims; ++d) multiple &= l.kept[d].in_stride % s.v == 0;
    for (int d = 0; d < l.reduced_dims; ++d) multiple &= l.reduced[d].stride % s.v == 0;
    s.column_vector = s.aligned && multiple && l.reduced_dims <= 1 && l.kept_dims <= 2;
    s.column_segmented = s.aligned && multiple && l.reduced_dims <= 2 && small_numbers;
    // Behind every row but the last two, a load's width of the tensor follows, and another.
    s.column_unaligned = unaligned && l.n > 1 && l.reduced_dims == 1 && l.reduced[0].stride >= s.v &&
                         inner.in_stride == 1 && inner.size >= 2 * s.v &&
                         kernels::have_columns(types, Access::Unaligned);
    bool even = inner.in_stride == 1 && inner.size % 2 == 0;
    for (int d = 0; d + 1 < l.kept_dims; ++d) even &= l.kept[d].in_stride % 2 == 0;
    for (int d = 0; d < l.reduced_dims; ++d) even &= l.reduced[d].stride % 2 == 0;
    s.column_pairs =
        kernels::have_columns(types, Access::Pairs) && even && p.in_alignment >= 2 * static_cast<int>(size_of(p.in));
  }
  return s;
}

struct Choice {
  Family family;
  bool vector;
};

Choice choose(const Problem& p, const Shape& s, const Constraint& c) {
  const Layout& l = p.layout;
  const bool vector_allowed = c.vector != 0;
  if (c.family == static_cast<int>(Family::Tiles) && !tiles_are_legal(p)) {
    refuse("tiles take several dims of floating elements, in their order");
  }
  auto vector_of = [&](Family f) {
    switch (f) {
      case Family::Rows:
        return s.row_vector || s.row_segmented || s.row_unaligned ||
               (s.row_unordered && (c.vector == 1 || unordered_is_worth_it(p)));
      case Family::ShortRows:
        return s.short_vector || s.short_staged;
      case Family::Tiles:  // plan_tiles finds out
        return true;
      default:
        return s.column_vector || s.column_segmented || s.column_unaligned;
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

  const Family across_memory = family_across_memory(p);
  if (across_memory != Family::Empty) return pick(across_memory);
  // Columns would write across memory what they read along it.
  if (c.vector < 0 && copied_rows(l) >= 0 && innermost_of_results(l) != l.kept_dims - 1) {
    return {Family::ShortRows, false};
  }
  const int64_t element = static_cast<int64_t>(size_of(p.in));
  const int64_t kept_stride = l.kept_dims ? l.kept[l.kept_dims - 1].in_stride : 0;
  const int64_t reduced_stride = l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 0;
  const bool beside = s.columns && (l.reduced_dims == 0 || kept_stride < reduced_stride);
  const bool tiny = l.outputs > 1 && l.n * l.outputs < kScatteredTiny;
  const bool tiny_columns = beside && s.column_vector && element <= kTinyColumnsElement &&
                            (l.n <= kTinyColumnsShort || l.n > kTinyColumnsLong);
  if (tiny && s.short_scalar && c.vector < 0 && !s.short_vector && !tiny_columns) return {Family::ShortRows, false};
  if (s.short_vector && vector_allowed && l.reduced_dims) return pick(Family::ShortRows);
  const bool part_of_chunk = kLeaves < l.n && l.n < kChunk;
  const bool column_unaligned =
      s.column_unaligned && l.n > kShortRowsElements &&
      l.n * l.outputs >= (part_of_chunk ? s.column_pairs ? kColumnsUnalignedPairsLeast : kColumnsUnalignedPartLeast
                                        : kColumnsUnalignedLeast) &&
      l.kept[l.kept_dims - 1].size >= kColumnsUnalignedVectors * s.v;
  const bool column_vector = vector_allowed && (s.column_vector || s.column_segmented || column_unaligned);
  // Few outputs side by side, in very many places: a CTA for each place would be idle. Nor have lanes much to do that
  // read a few elements one at a time.
  const int64_t side_by_side = beside && l.kept_dims > 1 ? l.kept[l.kept_dims - 1].size : kScattered;
  const bool scattered =
      side_by_side * element < kSector || (!column_vector && (side_by_side < kScattered || l.n <= kShortRowsElements));
  // What columns read an element at a time is under way sooner as short rows, or rows, where it is not much.
  const int64_t elements = l.n * l.outputs;
  const bool unaligned = c.vector < 0 && c.split <= 1 && !s.column_vector && !s.column_segmented;
  const bool short_column =
      beside && l.n <= kWarp && (scattered || (unaligned && elements <= short_columns_most(element)));
  const bool half_chunk = unaligned && !column_unaligned && element <= kHalfChunkElement && kLeaves < l.n &&
                          l.n <= kHalfChunk && l.outputs >= kHalfChunkOutputs && elements < kColumnsUnalignedPartLeast;
  // Of a few neighbours most lanes of columns would be idle; lanes along the rows share their sectors as well. A whole
  // sector of them are columns, where they are many elements.
  const int64_t neighbours = l.kept_dims ? l.kept[l.kept_dims - 1].size : 0;
  const bool share_sectors = neighbours * element <= kSector && reduced_stride * element <= kSector;
  const bool many_pairs = s.column_pairs && (l.n > kChunk || elements < kSlenderPairsLeast);
  const bool slender = elements >= kScatteredTiny && !column_vector && !many_pairs && element < kNotSlenderElement &&
                       share_sectors && neighbours * element < kSector;
  // Where they are few elements in all, of more than a chunk, a CTA has a row for itself; columns would be cut.
  const bool few = c.vector < 0 && elements < kScatteredTiny && l.n > kChunk && share_sectors;
  // Many outputs whose runs of a few elements follow one another.
  const int64_t run = l.reduced_dims > 1 ? l.reduced[l.reduced_dims - 1].size : 0;
  const bool short_runs = s.columns && 0 < run && run <= kShortRun && neighbours >= kShortRunNeighbours &&
                          reduced_stride == 1 && kept_stride == run && c.vector < 0;
  const bool aligned_row = vector_allowed && (s.row_vector || s.row_segmented);
  const bool short_row = !beside && l.outputs > 1 && s.short_scalar && (l.n <= kWarp || !aligned_row);
  // Of a few elements, pairs of columns side by side are a thread's own.
  const bool stacked_pairs = c.vector <= 0 && beside && s.column_pairs && !column_vector && pairs_are_stacked(l) &&
                             elements >= kColumnsPairsLeast && neighbours * element >= kLine;
  if (stacked_pairs) return {Family::Columns, false};
  if (l.n == 0 || short_column || short_row) return pick(Family::ShortRows);
  if (short_runs) return pick(Family::Columns);
  if (!beside || slender || few || half_chunk) return pick(Family::Rows);
  if (!column_vector && c.vector < 0) return {Family::Columns, false};
  return pick(Family::Columns);
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
  const Layout& l = p.layout;
  Plan plan;
  if (l.outputs == 0) return plan;
  if (std::max(l.kept_dims, l.reduced_dims) > kMaxKernelDims) {
    throw std::invalid_argument("reduce: a tensor of over " + std::to_string(kMaxKernelDims) +
                                " dims that do not merge is not supported");
  }
  const Shape s = inspect(p);
  const Choice choice = choose(p, s, c);
  switch (choice.family) {
    case Family::Rows:
      plan_rows(plan, choice.vector, p, s, gpu, c);
      break;
    case Family::ShortRows:
      if (c.split > 1) refuse("short_rows are not split");
      plan_short_rows(plan, choice.vector, p, s, gpu);
      break;
    case Family::Tiles:
      plan_tiles(plan, choice.vector, p, gpu, c);
      break;
    default:
      plan_columns(plan, choice.vector, p, s, gpu, c);
  }
  if (plan.grid > kMaxGrid) {
    throw std::invalid_argument("reduce: " + std::to_string(l.outputs) + " outputs are more than one launch can hold");
  }
  plan_finish(plan, p, gpu);
  const int64_t out_bytes = l.outputs * static_cast<int64_t>(size_of(p.out));
  plan.expected_bytes = l.outputs * l.n * static_cast<int64_t>(size_of(p.in)) + out_bytes + 2 * plan.scratch_bytes +
                        (plan.finish == Finish::Atomic ? out_bytes : 0);  // zeroed before
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
