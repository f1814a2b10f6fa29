// A lane's part of a row: which places it has, what it reads there, and what it writes.
//
// Of a chunk a lane has what lane/chunk_vectors.cuh gives it: load i covers V neighbours from place V (32 i + lane) on.
#pragma once

#include "core/contract/order.h"
#include "core/cuda/lane/device.cuh"
#include "core/cuda/lane/fast_divide.cuh"
#include "core/problem/map_problem.h"

namespace torch_reduce::cuda {

// Where rows begin.
struct MapIndex {
  int dims;
  MapDim dim[kMostMapDims];  // innermost first

  explicit MapIndex(const MapProblem& p) : dims(p.dims) {
    for (int d = 0; d < kMostMapDims; ++d) dim[d] = d < dims ? p.dim[dims - 1 - d] : MapDim{1, {0, 0, 0}};
  }
  __device__ __forceinline__ MapStrides at(int64_t row) const {
    MapStrides place{0, 0, 0};
#pragma unroll
    for (int d = 0; d < kMostMapDims; ++d) {
      if (d >= dims) break;
      const int64_t outer = d + 1 >= dims ? 0 : quotient(row, dim[d].size), digit = row - outer * dim[d].size;
      place.x += digit * dim[d].stride.x;
      place.second += digit * dim[d].stride.second;
      place.out += digit * dim[d].stride.out;
      row = outer;
    }
    return place;
  }
};

// V neighbours of a row from `row` on, of which `count` exist.
template <class In>
__device__ __forceinline__ uint4 load_places(const In* row, int64_t stride, int count, bool vectors) {
  constexpr int V = vector_width<In>;
  if (vectors && count >= V) return load16_kept(row);
  Vector<In> v{};
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e < count) v.e[e] = row[e * stride];
  }
  return bit_cast<uint4>(v);
}

template <class In, class Word>
__device__ __forceinline__ void widen_places(const uint4& raw, Word (&to)[vector_width<In>]) {
  const auto v = bit_cast<Vector<In>>(raw);
#pragma unroll
  for (int e = 0; e < vector_width<In>; ++e) to[e] = widen<Word>(v.e[e]);
}

// Of weight or bias, from place `first` on.
template <class T, class Word, int V>
__device__ __forceinline__ void read_parameters(const void* parameters, int64_t first, int count, Word (&to)[V]) {
  const T* at = static_cast<const T*>(parameters) + first;
  constexpr int kBytes = V * static_cast<int>(sizeof(T)), kVectors = kBytes / 16;
  if (count >= V && reinterpret_cast<uintptr_t>(at) % 16 == 0) {
    T x[V];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const uint4 raw = load16_kept(reinterpret_cast<const char*>(at) + 16 * i);
      memcpy(reinterpret_cast<char*>(x) + 16 * i, &raw, 16);
    }
#pragma unroll
    for (int e = 0; e < V; ++e) to[e] = widen<Word>(x[e]);
    return;
  }
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e < count) to[e] = widen<Word>(at[e]);
  }
}

// Those of the elements' type, or of the compute type.
template <class In, class Word, int V>
__device__ __forceinline__ void read_parameters(const void* parameters, DType type, int64_t first, int count,
                                                Word missing, Word (&to)[V]) {
#pragma unroll
  for (int e = 0; e < V; ++e) to[e] = missing;
  if (parameters == nullptr || count <= 0) return;
  if (type == dtype_of<In>::value) return read_parameters<In>(parameters, first, count, to);
  read_parameters<Word>(parameters, first, count, to);
}

template <class Out, class Word, int V>
__device__ __forceinline__ void write_places(void* out, int64_t place, int64_t stride, int count, bool vectors,
                                             const Word (&y)[V]) {
  constexpr int kBytes = V * static_cast<int>(sizeof(Out)), kPiece = kBytes < 16 ? kBytes : 16;
  using Piece = std::conditional_t<kPiece == 16, uint4, std::conditional_t<kPiece == 8, uint2, uint32_t>>;
  Out* at = static_cast<Out*>(out) + place;
  if (vectors && count >= V) {
    Out v[V];
#pragma unroll
    for (int e = 0; e < V; ++e) v[e] = Narrow<Out, Word>::from(y[e]);
#pragma unroll
    for (int i = 0; i < kBytes / kPiece; ++i) {
      Piece piece;
      memcpy(&piece, reinterpret_cast<const char*>(v) + i * kPiece, kPiece);
      reinterpret_cast<Piece*>(at)[i] = piece;
    }
    return;
  }
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (e < count) at[e * stride] = Narrow<Out, Word>::from(y[e]);
  }
}

template <class Word, int V>
__device__ __forceinline__ void write_places(void* out, DType type, int64_t place, int64_t stride, int count,
                                             bool vectors, const Word (&y)[V]) {
  if (type == DType::BFloat16) return write_places<BFloat16>(out, place, stride, count, vectors, y);
  if (type == DType::Float16) return write_places<Half>(out, place, stride, count, vectors, y);
  if constexpr (sizeof(Word) == 8) {
    if (type == DType::Float64) return write_places<double>(out, place, stride, count, vectors, y);
  }
  write_places<float>(out, place, stride, count, vectors, y);
}

}  // namespace torch_reduce::cuda
