// What the kernels of each family can read.
#include "core/plan/gpu/detail.h"

namespace torch_reduce::planning {

using namespace tuning;

namespace {

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

// Takes the 16-byte loads from what a partner's elements do not allow: they come as many at a time, and rows are whole
// loads.
void restrict_to_partner(Shape& s, const Problem& p) {
  const Layout l = layout_of(p.partner, p.layout);
  const bool aligned =
      p.partner.alignment >= std::min<int64_t>(s.v * static_cast<int64_t>(size_of(p.partner.type)), 16);
  const auto multiples = [&](int kept, int reduced) {  // of all dims but the innermost ones
    bool are = aligned;
    for (int d = 0; d < kept; ++d) are &= l.kept[d].in_stride % s.v == 0;
    for (int d = 0; d < reduced; ++d) are &= l.reduced[d].stride % s.v == 0;
    return are;
  };
  const bool rows = l.reduced_dims > 0 && l.reduced[l.reduced_dims - 1].stride == 1 && l.n % s.v == 0 &&
                    multiples(l.kept_dims, l.reduced_dims - 1);
  const bool columns =
      l.kept_dims > 0 && l.kept[l.kept_dims - 1].in_stride == 1 && multiples(l.kept_dims - 1, l.reduced_dims);
  s.row_vector &= rows;
  s.row_segmented &= rows;
  s.short_vector &= rows;
  s.column_vector &= columns;
  s.column_segmented &= columns;
}

}  // namespace

Shape inspect(const Problem& p) {
  const Layout& l = p.layout;
  const kernels::Types types = kernels::types_of(p);
  Shape s{};
  s.v = 16 / static_cast<int64_t>(size_of(p.in));
  s.aligned = kernels::are_typed(types) && p.in_alignment == 16 && l.kept_dims <= kFewDims;

  const int64_t inner_reduced = l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 1;
  bool kept_multiple = true;
  for (int d = 0; d < l.kept_dims; ++d) kept_multiple &= l.kept[d].in_stride % s.v == 0;
  const bool rows_aligned =
      s.aligned && kernels::have_rows(types, Access::Contiguous) && kept_multiple && inner_reduced == 1;
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
  s.short_staged = kernels::have_short_rows(types, Access::Unaligned) && l.n > 0 && inner_reduced == 1 &&
                   l.reduced_dims == 1 && l.kept_dims == 1 && l.kept[0].in_stride >= l.n &&
                   2 * l.kept[0].in_stride <= 3 * l.n && (s.short_scalar || !s.row_vector) && l.n <= kStagedElements &&
                   l.kept[0].in_stride * static_cast<int64_t>(size_of(p.in)) <= kStagedBytes;

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
  if (is_of_two(p)) restrict_to_partner(s, p);
  return s;
}

}  // namespace torch_reduce::planning
