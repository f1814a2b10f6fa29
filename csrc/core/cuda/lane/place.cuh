// Places in one tensor, or in two side by side: what kernels are written by.
//
// Of one tensor, a place is a number and a pointer a pointer. Of two, each is a pair, whose second part is the
// partner's (contract/partner.h).
#pragma once

#include "core/cuda/lane/element.cuh"
#include "core/cuda/lane/index.cuh"

namespace torch_reduce::cuda {

struct Two {
  int64_t own, other;
};
TR_HD Two operator+(const Two& a, const Two& b) { return {a.own + b.own, a.other + b.other}; }
TR_HD Two operator+(const Two& a, int64_t both) { return {a.own + both, a.other + both}; }
TR_HD Two operator*(int64_t count, const Two& stride) { return {count * stride.own, count * stride.other}; }

template <class In, class Other>
struct TwoPointers {
  const In* own;
  const Other* other;
  __device__ __forceinline__ TwoPointers operator+(const Two& place) const {
    return {own + place.own, other + place.other};
  }
  __device__ __forceinline__ TwoPointers operator+(int64_t both) const { return {own + both, other + both}; }
};

template <class O>
using Place = std::conditional_t<has_partner<O>, Two, int64_t>;
template <class O, class In>
using OtherElement = std::conditional_t<multiplies(O::role), In, Bool>;
template <class O, class In>
using Pointer = std::conditional_t<has_partner<O>, TwoPointers<In, OtherElement<O, In>>, const In*>;

struct TwoSources : Source {
  const void* other;
  uint64_t other_missing;  // bits of the partner's element beside a missing one
  const void* rows;        // of NormalFactor, what a norm keeps of each, and of how many words
  int row_words;
};
template <class O>
using SourceOf = std::conditional_t<has_partner<O>, TwoSources, Source>;

template <class O, class In>
__device__ __forceinline__ Pointer<O, In> elements_of(const SourceOf<O>& s) {
  if constexpr (has_partner<O>) {
    return {static_cast<const In*>(s.data), static_cast<const OtherElement<O, In>*>(s.other)};
  } else {
    return static_cast<const In*>(s.data);
  }
}
// Where the input begins, as a number to which places in bytes are added.
__device__ __forceinline__ int64_t address_of(const Source& s) { return reinterpret_cast<int64_t>(s.data); }
__device__ __forceinline__ Two address_of(const TwoSources& s) {
  return {reinterpret_cast<int64_t>(s.data), reinterpret_cast<int64_t>(s.other)};
}

struct TwoPlaces {
  Two in;
  int64_t out;
};
template <Access A>
struct TwoKept {
  KeptIndex<A> own, other;
  __device__ __forceinline__ Two in(int64_t index) const { return {own.in(index), other.in(index)}; }
  __device__ __forceinline__ int64_t out(int64_t index) const { return own.out(index); }
  __device__ __forceinline__ TwoPlaces at(int64_t index) const { return {in(index), out(index)}; }
};
struct TwoSegments {
  FastDivisor size;
  Two inner{}, outer{};
  __device__ __forceinline__ Two at(uint32_t index) const {
    const uint32_t segment = size.quotient(index);
    return segment * outer + (index - segment * size.divisor) * inner;
  }
};
template <Access A>
struct TwoReduced {
  ReducedIndex<A> own, other;
  int dims;
  __device__ __forceinline__ Two stride() const { return {own.stride(), other.stride()}; }
  template <class F>
  __device__ __forceinline__ void with_place(F f) const {
    f([this](const Two& from, int64_t index) { return from + Two{own.at(index), other.at(index)}; });
  }
  template <class F>
  __device__ __forceinline__ void with_place_of_several(F f) const {
    with_place(f);
  }
};

template <class O, Access A>
using KeptOf = std::conditional_t<has_partner<O>, TwoKept<A>, KeptIndex<A>>;
template <class O, Access A>
using ReducedOf = std::conditional_t<has_partner<O>, TwoReduced<A>, ReducedIndex<A>>;

}  // namespace torch_reduce::cuda
