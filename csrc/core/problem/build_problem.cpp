#include "core/problem/build_problem.h"

#include <limits>

namespace torch_reduce {
namespace {

// Beyond int64 there is no tensor, but an empty one may have sizes whose product gets there on the way.
void multiply(int64_t& product, int64_t size) {
  if (__builtin_mul_overflow(product, size, &product)) product = std::numeric_limits<int64_t>::max();
}

// Stable, by insertion: there are a few dims, and std::stable_sort would allocate a buffer for them.
template <class Dim, class Before>
void sort(Dim* dims, int count, Before before) {
  for (int i = 1; i < count; ++i) {
    const Dim dim = dims[i];
    int place = i;
    for (; place > 0 && before(dim, dims[place - 1]); --place) dims[place] = dims[place - 1];
    dims[place] = dim;
  }
}

// Merges neighbours (outer, inner) that walk memory like one dim; order is kept.
template <class Dim, class Mergeable>
int merge(Dim* dims, int count, Mergeable mergeable) {
  int last = -1;
  for (int d = 0; d < count; ++d) {
    if (last >= 0 && mergeable(dims[last], dims[d])) {
      dims[d].size *= dims[last].size;
      dims[last] = dims[d];
    } else {
      dims[++last] = dims[d];
    }
  }
  return last + 1;
}

}  // namespace

Layout make_layout(int ndim, const int64_t* sizes, const int64_t* strides, const bool* reduced,
                   const int64_t* out_strides, Order order) {
  Layout l;
  for (int d = 0; d < ndim; ++d) {
    multiply(reduced[d] ? l.n : l.outputs, sizes[d]);
    if (sizes[d] == 1) continue;
    if (reduced[d]) {
      l.reduced[l.reduced_dims++] = {sizes[d], strides[d]};
    } else {
      l.kept[l.kept_dims++] = {sizes[d], strides[d], out_strides[d]};
    }
  }
  sort(l.kept, l.kept_dims, [](const KeptDim& a, const KeptDim& b) { return a.in_stride > b.in_stride; });
  if (order == Order::Any) {
    sort(l.reduced, l.reduced_dims, [](const ReducedDim& a, const ReducedDim& b) { return a.stride > b.stride; });
  }
  l.kept_dims = merge(l.kept, l.kept_dims, [](const KeptDim& outer, const KeptDim& inner) {
    return outer.in_stride == inner.in_stride * inner.size && outer.out_stride == inner.out_stride * inner.size;
  });
  l.reduced_dims = merge(l.reduced, l.reduced_dims, [](const ReducedDim& outer, const ReducedDim& inner) {
    return outer.stride == inner.stride * inner.size;
  });
  return l;
}

int alignment_of(uintptr_t address) {
  int alignment = 16;
  while (address % static_cast<uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

Problem build_problem(const Description& d) {
  const DType compute = compute_type(d.op, d.in, d.out);
  const TraitsOf op = traits_of(d.op);
  const bool tested = (op.tests || (!op.selects && d.out == DType::Bool)) && d.in != DType::Bool;
  const bool free = (is_order_free(d.op, compute) || d.mode != Mode::Deterministic) && !traits_of(d.op).needs_index;
  // The layout is made in its place: it has 2.5 KiB, whose copy a small call would notice.
  Problem p{d.op,
            d.mode,
            d.in,
            d.out,
            compute,
            tested,
            d.in_alignment,
            d.correction,
            d.second,
            d.scan_stride,
            make_layout(d.ndim, d.sizes, d.strides, d.reduced, d.out_strides, free ? Order::Any : Order::Logical)};
  // A word of fp32 has no room for the number of an element.
  if (traits_of(d.op).needs_index && compute == DType::Float32 && p.layout.n >= int64_t{1} << 32) {
    p.compute = DType::Float64;
  }
  return p;
}

}  // namespace torch_reduce
