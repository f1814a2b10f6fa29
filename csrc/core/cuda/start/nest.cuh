// A problem's tensor and loop nest as kernels take them, or its two tensors.
#pragma once

#include "core/cuda/lane/partner.cuh"
#include "core/cuda/start/buffers.h"

namespace torch_reduce::cuda {

template <class T>
T one_of(T) {
  if constexpr (std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value || is_float8_type<T>) {
    return Narrow<T, float>::from(1);
  } else if constexpr (std::is_same<T, Bool>::value) {
    return {1};
  } else {
    return T(1);
  }
}

struct NestOfOne {
  const Layout& layout;
  DType type;

  explicit NestOfOne(const Problem& p) : NestOfOne(p.layout, p.in) {}
  NestOfOne(const Layout& l, DType of) : layout(l), type(of) {}
  template <Access A>
  KeptIndex<A> kept(int skip) const {
    return kept_index<A>(layout, skip, type);
  }
  template <Access A>
  ReducedIndex<A> reduced() const {
    return reduced_index<A>(layout, type);
  }
  Segments segments(int64_t elements_per_index) const { return cuda::segments(layout, elements_per_index); }
  // From a row to the next one, and from a column.
  int64_t next_row() const { return layout.reduced_dims ? layout.reduced[0].stride : 0; }
  int64_t next_column_bytes() const {
    return layout.kept[layout.kept_dims - 1].in_stride * static_cast<int64_t>(size_of(type));
  }
};

struct NestOfTwo {
  const Layout& layout;
  Layout other_layout;
  NestOfOne own, other;

  explicit NestOfTwo(const Problem& p)
      : layout(p.layout),
        other_layout(layout_of(p.partner, p.layout)),
        own(p.layout, p.in),
        other(other_layout, p.partner.type) {}
  template <Access A>
  TwoKept<A> kept(int skip) const {
    return {own.template kept<A>(skip), other.template kept<A>(skip)};
  }
  template <Access A>
  TwoReduced<A> reduced() const {
    return {own.template reduced<A>(), other.template reduced<A>(), layout.reduced_dims};
  }
  TwoSegments segments(int64_t elements_per_index) const {
    const Segments a = own.segments(elements_per_index), b = other.segments(elements_per_index);
    return {a.size, {a.inner, b.inner}, {a.outer, b.outer}};
  }
  Two next_row() const { return {own.next_row(), other.next_row()}; }
  Two next_column_bytes() const { return {own.next_column_bytes(), other.next_column_bytes()}; }
};

template <class O>
SourceOf<O> sources_of(const Problem& p, const Buffers& b) {
  if constexpr (has_partner<O>) {
    uint64_t one = 0;  // what is missing is that factor of itself
    if constexpr (multiplies(O::role)) one = with_element(p.in, [](auto e) -> uint64_t { return bits_of(one_of(e)); });
    return {source_of<O>(p, b.in), b.other, one, b.rows, p.partner.row_words};
  } else {
    return source_of<O>(p, b.in);
  }
}

template <class O>
using Nest = std::conditional_t<has_partner<O>, NestOfTwo, NestOfOne>;

}  // namespace torch_reduce::cuda
