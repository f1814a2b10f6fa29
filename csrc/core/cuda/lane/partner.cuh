// What is loaded of two tensors side by side: as elements, and as 16 bytes of the first with as many elements of the
// partner.
#pragma once

#include "core/cuda/lane/any_element.cuh"
#include "core/cuda/lane/place.cuh"
#include "core/cuda/lane/vector.cuh"

namespace torch_reduce::cuda {

// An element of a mask.
struct Flag {
  uint32_t bits;

  __device__ __forceinline__ void load_if(bool exists, const Source&, int64_t address) {
    bits = 0;
    load_bits<uint8_t>(exists, address, bits);
  }
  __device__ __forceinline__ bool counts() const { return bits != 0; }
};

// What element `index` of n makes with a factor of it.
template <class O, class Number>
__device__ __forceinline__ Number product_of(Number x, Number factor, const TwoSources& s, int64_t index, int64_t n) {
  if constexpr (O::role == Role::NormalFactor) {
    return O::join(x, factor, index < n ? norm_row<Number>(s.rows, s.row_words, index) : NormRow<Number>{0, 0, 1});
  } else {
    return O::join(x, factor);
  }
}

// As Element. `Alone` reads as the operator does, of one tensor.
template <class O, class In, class Acc>
struct ElementWithPartner {
  static constexpr bool is_factor = multiplies(O::role);
  using Alone = Element<O, In, Acc>;
  Alone own;
  std::conditional_t<is_factor, Alone, Flag> other;

  __device__ __forceinline__ void load(const TwoSources& s, const Two& address) { load_if(true, s, address); }
  __device__ __forceinline__ void none(const TwoSources& s) {
    own.none(s);
    other.bits = static_cast<decltype(other.bits)>(s.other_missing);
  }
  __device__ __forceinline__ void load_if(bool exists, const TwoSources& s, const Two& address) {
    own.load_if(exists, s, address.own);
    other.load_if(exists, s, address.other);
    if (!exists) other.bits = static_cast<decltype(other.bits)>(s.other_missing);
  }
  template <class To, class How>
  __device__ __forceinline__ To value(How& how, const TwoSources& s, int64_t index, int64_t n) const {
    using Number = number_of<To>;
    if constexpr (is_factor) {
      const auto x = own.template number<Number>(s), factor = other.template number<Number>(s);
      return lifted(how, product_of<O>(x, factor, s, index, n), index, n);
    } else {  // an element of its own type in place of what does not count: a wider type has others that change nothing
      Alone counted = own;
      if (!other.counts()) counted.none(s);
      return lifted(how, counted.template number<Number>(s), index, n);
    }
  }
};
template <class O, class In, class Acc>
using ElementOf = std::conditional_t<has_partner<O>, ElementWithPartner<O, In, Acc>, Element<O, In, Acc>>;

template <class O, class In>
struct VectorWithPartner {
  static constexpr int V = vector_width<In>;
  using Flags = std::conditional_t<V == 2, uint16_t, std::conditional_t<V == 4, uint32_t, uint64_t>>;  // a byte each
  uint4 own;
  std::conditional_t<multiplies(O::role), uint4, Flags> other;

  // The number that elements e of both make, number `index` of n.
  template <class Number>
  __device__ __forceinline__ Number join(Number x, int e, const TwoSources& s, int64_t index, int64_t n) const {
    if constexpr (multiplies(O::role)) {
      return product_of<O>(x, widen<Number>(bit_cast<Vector<In>>(other).e[e]), s, index, n);
    } else {
      return O::join(x, (other >> (8 * e) & 0xff) != 0);
    }
  }
};
template <class O, class In>
using VectorOf = std::conditional_t<has_partner<O>, VectorWithPartner<O, In>, uint4>;

template <class O, class In>
__device__ __forceinline__ VectorOf<O, In> load_vector(const Pointer<O, In>& p, bool keep = false) {
  if constexpr (has_partner<O>) {
    VectorWithPartner<O, In> v;
    v.own = keep ? load16_kept(p.own) : load16(p.own);
    if constexpr (multiplies(O::role)) {
      v.other = keep ? load16_kept(p.other) : load16(p.other);
    } else {
      v.other = *reinterpret_cast<const typename VectorWithPartner<O, In>::Flags*>(p.other);
    }
    return v;
  } else {
    return keep ? load16_kept(p) : load16(p);
  }
}
template <class O, class In>
__device__ __forceinline__ VectorOf<O, In> missing_vector(const SourceOf<O>& source) {
  if constexpr (!has_partner<O>) {
    return identity_vector<In, O>(source);
  } else {
    VectorWithPartner<O, In> v;
    v.own = identity_vector<In, O>(source);
    if constexpr (multiplies(O::role)) {
      Vector<In> one;
#pragma unroll
      for (auto& e : one.e) e = bits_as<In>(source.other_missing);
      v.other = bit_cast<uint4>(one);
    } else {
      v.other = {};
    }
    return v;
  }
}

// As lift_element() of 16 bytes.
template <class In, class To, class How, class O>
__device__ __forceinline__ To lift_element(How& how, const VectorWithPartner<O, In>& raw, const TwoSources& source,
                                           const Numbers& numbers, int e) {
  const auto own = bit_cast<Vector<In>>(adapted<O, In>(raw.own, source)).e[e];
  const int64_t index = numbers.first + e * numbers.step;
  return lifted(how, raw.join(widen<number_of<To>>(own), e, source, index, numbers.n), index, numbers.n);
}

}  // namespace torch_reduce::cuda
