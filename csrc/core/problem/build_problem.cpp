#include "core/problem/build_problem.h"

#include <limits>
#include <type_traits>

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

// A dim of two tensors.
template <class Dim>
struct WithOther : Dim {
  int64_t other;  // the second one's stride
};
template <class Dim>
bool walks_on(const Dim&, const Dim&) {
  return true;
}
template <class Dim>
bool walks_on(const WithOther<Dim>& outer, const WithOther<Dim>& inner) {
  return outer.other == inner.other * inner.size;
}

struct Dims {
  int count;
  const int64_t *sizes, *strides;
  const bool* reduced;
  const int64_t *out_strides, *other_strides;
};

// The nest's counts, and its dims.
template <class Kept, class Reduced>
void lay_out(Layout& l, Kept* kept, Reduced* reduced, const Dims& dims, Order order) {
  const auto add = [&](auto& dim, auto plain, int d) {
    using Dim = decltype(plain);
    static_cast<Dim&>(dim) = plain;
    if constexpr (!std::is_same<std::decay_t<decltype(dim)>, Dim>::value) dim.other = dims.other_strides[d];
  };
  for (int d = 0; d < dims.count; ++d) {
    multiply(dims.reduced[d] ? l.n : l.outputs, dims.sizes[d]);
    if (dims.sizes[d] == 1) continue;
    if (dims.reduced[d]) {
      add(reduced[l.reduced_dims++], ReducedDim{dims.sizes[d], dims.strides[d]}, d);
    } else {
      add(kept[l.kept_dims++], KeptDim{dims.sizes[d], dims.strides[d], dims.out_strides[d]}, d);
    }
  }
  sort(kept, l.kept_dims, [](const Kept& a, const Kept& b) { return a.in_stride > b.in_stride; });
  if (order == Order::Any) {
    sort(reduced, l.reduced_dims, [](const Reduced& a, const Reduced& b) { return a.stride > b.stride; });
  }
  l.kept_dims = merge(kept, l.kept_dims, [](const Kept& outer, const Kept& inner) {
    return outer.in_stride == inner.in_stride * inner.size && outer.out_stride == inner.out_stride * inner.size &&
           walks_on(outer, inner);
  });
  l.reduced_dims = merge(reduced, l.reduced_dims, [](const Reduced& outer, const Reduced& inner) {
    return outer.stride == inner.stride * inner.size && walks_on(outer, inner);
  });
}

// All but where it lies.
Partner partner_of(const Description& d) {
  Partner partner;  // 1 KiB, of which nothing need be written where there is none
  partner.role = d.role;
  partner.type = d.other_type;
  partner.alignment = d.other_alignment;
  partner.row_words = d.row_words;
  return partner;
}

}  // namespace

Layout make_layout(int ndim, const int64_t* sizes, const int64_t* strides, const bool* reduced,
                   const int64_t* out_strides, Order order, const Beside* beside) {
  Layout l;
  if (beside == nullptr) {  // in its place
    lay_out(l, l.kept, l.reduced, {ndim, sizes, strides, reduced, out_strides, nullptr}, order);
    return l;
  }
  WithOther<KeptDim> kept[kMaxDims];
  WithOther<ReducedDim> reduced_dims[kMaxDims];
  lay_out(l, kept, reduced_dims, {ndim, sizes, strides, reduced, out_strides, beside->strides}, order);
  for (int d = 0; d < l.kept_dims; ++d) {
    l.kept[d] = kept[d];
    beside->partner->kept[d] = kept[d].other;
  }
  for (int d = 0; d < l.reduced_dims; ++d) {
    l.reduced[d] = reduced_dims[d];
    beside->partner->reduced[d] = reduced_dims[d].other;
  }
  return l;
}

int alignment_of(uintptr_t address) {
  int alignment = 16;
  while (address % static_cast<uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

Problem build_problem(const Description& d) {
  const Op which = traits_of(d.op).has_order ? norm_of(d.correction) : is_floating(d.in) ? d.op : of_integers(d.op);
  const DType compute = compute_type(which, d.in, d.out, d.correction);
  const TraitsOf op = traits_of(which);
  const bool tested = (op.tests || (!op.selects && d.out == DType::Bool)) && d.in != DType::Bool;
  const bool has_no_order = d.mode == Mode::Atomic || is_accumulated(d.mode, d.in, compute);
  const bool free = (is_order_free(which, compute) || has_no_order) && !op.needs_index;
  Partner partner = partner_of(d);
  const Beside beside{d.other_strides, &partner};
  // The layout is made in its place: it has 2.5 KiB, whose copy a small call would notice.
  Problem p{which,
            d.mode,
            d.in,
            d.out,
            compute,
            tested,
            d.in_alignment,
            d.correction,
            d.second,
            d.scan_stride,
            make_layout(d.ndim, d.sizes, d.strides, d.reduced, d.out_strides, free ? Order::Any : Order::Logical,
                        d.role == Role::None ? nullptr : &beside),
            partner};
  // A word of fp32 has no room for the number of an element, or for one of so many.
  if ((op.needs_index || op.counts) && compute == DType::Float32 && p.layout.n >= int64_t{1} << 32) {
    p.compute = DType::Float64;
  }
  return p;
}

}  // namespace torch_reduce
