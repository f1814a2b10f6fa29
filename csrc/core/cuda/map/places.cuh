// Where a row's places are, and how they are read and written.
//
// Of a chunk a lane has what lane/chunk_vectors.cuh gives it: load i covers V neighbours from place V (32 i + lane) on.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/lane/device.cuh"
#include "core/cuda/lane/fast_divide.cuh"
#include "core/cuda/lane/vector.cuh"
#include "core/problem/map_problem.h"

namespace torch_reduce::cuda {

// Where rows begin.
struct MapIndex {
  int dims;
  MapDim dim[kMostMapDims];  // innermost first

  explicit MapIndex(const MapProblem& p) : dims(p.dims) {
    for (int d = 0; d < kMostMapDims; ++d) dim[d] = d < dims ? p.dim[dims - 1 - d] : MapDim{1, {0, 0, 0, 0}};
  }
  __device__ __forceinline__ MapStrides at(int64_t row) const {
    if (dims > 1) return of_several(row);
    return {row * dim[0].stride.x, row * dim[0].stride.second, row * dim[0].stride.out, row * dim[0].stride.mask};
  }
  __device__ __noinline__ MapStrides of_several(int64_t row) const {
    MapStrides place{0, 0, 0, 0};
#pragma unroll
    for (int d = 0; d < kMostMapDims; ++d) {
      if (d >= dims) break;
      const int64_t outer = d + 1 >= dims ? 0 : quotient(row, dim[d].size), digit = row - outer * dim[d].size;
      place.x += digit * dim[d].stride.x;
      place.second += digit * dim[d].stride.second;
      place.out += digit * dim[d].stride.out;
      place.mask += digit * dim[d].stride.mask;
      row = outer;
    }
    return place;
  }
};

// V neighbours of a row from `row` on, of which `count` exist, one after the other.
template <class In>
__device__ __noinline__ uint4 load_places(const In* row, int64_t stride, int count) {
  Vector<In> v{};
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) {
    if (e < count) v.e[e] = row[e * stride];
  }
  return bit_cast<uint4>(v);
}

// Of a mask, V neighbours of which `count` exist; `vectors` says that they are a load.
template <int V>
__device__ __forceinline__ void read_mask(const bool* mask, int64_t stride, int count, bool vectors, bool (&to)[V]) {
  using Vector = std::conditional_t<V == 8, uint2, std::conditional_t<V == 4, uint32_t, uint16_t>>;
  if (vectors && count >= V) {
    const Vector v = *reinterpret_cast<const Vector*>(mask);
    memcpy(to, &v, V);
    return;
  }
#pragma unroll
  for (int e = 0; e < V; ++e) to[e] = e >= count || mask[e * stride];
}

// V neighbours of weight or bias, of the elements' type or of the compute type.
template <class In, class Word, int V>
__device__ __forceinline__ void read_vectors(const void* parameters, DType type, int64_t first, Word (&to)[V]) {
  if (type == dtype_of<In>::value) return widen_vector<In>(load16_kept(static_cast<const In*>(parameters) + first), to);
  const Word* const from = static_cast<const Word*>(parameters) + first;
  constexpr int kEach = 16 / static_cast<int>(sizeof(Word));
#pragma unroll
  for (int i = 0; i < V; i += kEach) {
    const auto v = bit_cast<Vector<Word>>(load16_kept(from + i));
#pragma unroll
    for (int e = 0; e < kEach; ++e) to[i + e] = v.e[e];
  }
}
template <class In, class Word, int V>
__device__ __noinline__ void read_elements(const void* parameters, DType type, int64_t first, int count,
                                           Word (&to)[V]) {
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e >= count) break;
    to[e] = type == dtype_of<In>::value ? widen<Word>(static_cast<const In*>(parameters)[first + e])
                                        : static_cast<const Word*>(parameters)[first + e];
  }
}

// From place `first` on, where a row has `count` of them.
template <class In, class Word, int V>
__device__ __forceinline__ void read_parameters(const void* parameters, DType type, int64_t first, int count,
                                                Word missing, Word (&to)[V]) {
  if (parameters != nullptr && count >= V && reinterpret_cast<uintptr_t>(parameters) % 16 == 0) {
    return read_vectors<In>(parameters, type, first, to);
  }
  Word elements[V];
  if (parameters != nullptr) read_elements<In>(parameters, type, first, count, elements);
#pragma unroll
  for (int e = 0; e < V; ++e) to[e] = parameters != nullptr && e < count ? elements[e] : missing;
}

// The parameter of a channel.
template <class In, class Word>
__device__ __forceinline__ Word read_channel(const void* parameters, DType type, int64_t channel) {
  return type == dtype_of<In>::value ? widen<Word>(static_cast<const In*>(parameters)[channel])
                                     : static_cast<const Word*>(parameters)[channel];
}
// Those of places from `first` on, where channels of `size` places follow one another from `channel` on.
template <class In, class Word, int V>
__device__ __noinline__ void read_channels(const void* parameters, DType type, int64_t channel, int64_t first,
                                           int count, int64_t size, Word (&to)[V]) {
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e < count) to[e] = read_channel<In, Word>(parameters, type, channel + quotient(first + e, size));
  }
}
// The other way round than load_places().
template <class In>
__device__ __noinline__ void store_places(const uint4& vector, In* row, int64_t stride, int count) {
  const auto v = bit_cast<Vector<In>>(vector);
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) {
    if (e < count) row[e * stride] = v.e[e];
  }
}

template <class Out, class Word, int V>
__device__ __forceinline__ void write_vectors(Out* to, const Word (&y)[V]) {
  constexpr int kBytes = V * static_cast<int>(sizeof(Out)), kPiece = kBytes < 16 ? kBytes : 16;
  using Piece = std::conditional_t<kPiece == 16, uint4, std::conditional_t<kPiece == 8, uint2, uint32_t>>;
  Out v[V];
#pragma unroll
  for (int e = 0; e < V; ++e) v[e] = Narrow<Out, Word>::from(y[e]);
#pragma unroll
  for (int i = 0; i < kBytes / kPiece; ++i) {
    Piece piece;
    memcpy(&piece, reinterpret_cast<const char*>(v) + i * kPiece, kPiece);
    reinterpret_cast<Piece*>(to)[i] = piece;
  }
}
template <class Out, class Word, int V>
__device__ __forceinline__ void write_elements(void* out, int64_t place, int64_t stride, int count, bool vectors,
                                               const Word (&y)[V]) {
  Out* to = static_cast<Out*>(out) + place;
  if (vectors && count >= V) return write_vectors(to, y);
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e < count) to[e * stride] = Narrow<Out, Word>::from(y[e]);
  }
}
// V neighbours from a place on, of which `count` exist. A call: beside results that are whole vectors of a likely type.
template <class Word, int V>
__device__ __noinline__ void write_places(void* out, DType type, int64_t place, int64_t stride, int count, bool vectors,
                                          const Word (&y)[V]) {
  if (type == DType::BFloat16) return write_elements<BFloat16>(out, place, stride, count, vectors, y);
  if (type == DType::Float16) return write_elements<Half>(out, place, stride, count, vectors, y);
  if constexpr (sizeof(Word) == 8) {
    if (type == DType::Float64) return write_elements<double>(out, place, stride, count, vectors, y);
  }
  write_elements<float>(out, place, stride, count, vectors, y);
}

}  // namespace torch_reduce::cuda
