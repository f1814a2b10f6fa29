#include "core/plan/gpu/exact/products.h"

#include "core/contract/integers.h"
#include "core/plan/gpu/detail.h"
#include "core/plan/tuning/exact.h"

namespace torch_reduce::exact {
namespace {

// Whether the rows of both tensors lie at the same place between two multiples of 16 bytes, so that loads of 16 bytes
// meet their partners.
bool rows_are_side_by_side(const Problem& p) {
  const Layout& l = p.layout;
  const Layout factors = layout_of_factors(p);
  if (l.reduced_dims != 1 || l.reduced[0].stride != 1 || factors.reduced[0].stride != 1) return false;
  if (!is_of_two(p)) return true;
  bool same = p.in_alignment == 16 && p.partner.alignment == 16;
  for (int d = 0; d < l.kept_dims; ++d) {
    const int64_t apart = l.kept[d].in_stride - factors.kept[d].in_stride;
    same &= apart * static_cast<int64_t>(size_of(p.in)) % 16 == 0;
  }
  return same;
}

// Whether there are kernels for short rows of these products, which are side by side: of whole 16-byte loads.
bool are_short_vectors(const Problem& p) {
  const Layout& l = p.layout;
  return have_short_products(p.in) && l.n > 0 && l.n <= kShortRowsMost && l.kept_dims <= 1 && rows_are_aligned(p) &&
         l.n * static_cast<int64_t>(size_of(p.in)) % 16 == 0;
}

}  // namespace

bool rows_are_aligned(const Problem& p) {
  const Layout& l = p.layout;
  bool aligned = p.in_alignment == 16;
  for (int d = 0; d < l.kept_dims; ++d) {
    aligned &= l.kept[d].in_stride * static_cast<int64_t>(size_of(p.in)) % 16 == 0;
  }
  return aligned;
}

std::optional<Family> vectors_of_products(const Problem& p, const Constraint& c) {
  const auto asks_for = [&](Family family) { return c.family == static_cast<int>(family); };
  const bool any = c.family < 0;
  if (!any && !asks_for(Family::Rows) && !asks_for(Family::ShortRows)) planning::refuse("products have rows alone");
  const bool meet = !has_wide_products(p) && p.layout.outputs < kMostNumbered && rows_are_side_by_side(p);
  if (c.vector == 1 && !meet) planning::refuse("no 16-byte loads of these products");
  const bool vectors = meet && c.vector != 0, may_be_short = vectors && are_short_vectors(p);
  if (asks_for(Family::ShortRows) && !may_be_short) planning::refuse("these products are no short rows");
  if (may_be_short && !asks_for(Family::Rows)) return Family::ShortRows;
  if (vectors && (c.vector == 1 || p.layout.n > kElementProductsOfFour)) return Family::Rows;
  return std::nullopt;
}

}  // namespace torch_reduce::exact
