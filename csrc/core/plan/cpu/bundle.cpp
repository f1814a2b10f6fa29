#include "core/plan/cpu/bundle.h"

#include <numeric>

#include "core/contract/order.h"

namespace torch_reduce::cpu {

Bundle bundle_of(const Layout& l) {
  Bundle b;
  if (l.reduced_dims < 2 || l.n <= kChunk) return b;
  const ReducedDim &inner = l.reduced[l.reduced_dims - 1], &outer = l.reduced[l.reduced_dims - 2];
  const int64_t columns = kChunk / std::gcd(inner.size, kChunk);
  if (outer.stride != 1 || (l.reduced_dims > 2 && outer.size % columns != 0)) return b;
  b.columns = columns;
  b.leaves = std::gcd(inner.size, kLeaves);
  b.parts = kLeaves / b.leaves;
  b.steps = inner.size / b.leaves;
  b.chunks = columns * inner.size / kChunk;
  return b;
}

int64_t bundles_in_line(const Layout& l, const Bundle& b) { return l.reduced[l.reduced_dims - 2].size / b.columns; }

}  // namespace torch_reduce::cpu
