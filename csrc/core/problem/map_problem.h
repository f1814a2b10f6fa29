// One map, described: everything that a plan may look at, as problem.h has it of a reduction. No pointers.
#pragma once

#include "core/contract/maps/maps.h"
#include "core/contract/types.h"
#include "core/problem/layout.h"

namespace torch_reduce {

// Strides count elements. Those of `second` are those of x if there is none, and those of a mask are 0.
struct MapStrides {
  int64_t x, second, out, mask{};
};
struct MapDim {
  int64_t size;
  MapStrides stride;
};

// What is written of rows, and read of them, lies in order of the rows, and weight and bias in order of the places.
struct MapProblem {
  Map map;
  DType in, out, parameters, compute;  // x and second; the result; weight and bias; all words of rows
  double epsilon, scale;
  // The largest power of two up to 16 that divides the addresses of x and second; of out and of the sum, which lies as
  // out does; of weight and bias; of the mask.
  int alignment, out_alignment, parameter_alignment, mask_alignment;
  int64_t n = 1, rows = 1;
  // Where weight and bias are of channels: the places that have one, and how many rows have other channels.
  int64_t channel = 1, groups = 1;
  MapStrides along{1, 1, 1, 0};  // a row
  int dims = 0;                  // of rows, outermost first, without those that walk memory as one
  MapDim dim[kMaxDims]{};
};

// Kernels on a GPU have room for so many dims of rows.
constexpr int kMostMapDims = 4;

// The type in which elements are computed: fp32 for fp16, bf16 and fp32.
constexpr DType compute_type_of_map(DType in) { return in == DType::Float64 ? in : DType::Float32; }

// Adds a dim of rows inside of those that are there.
TR_SHARED void add_dim(MapProblem& problem, const MapDim& dim);

// Where a row begins.
inline MapStrides place_of_row(const MapProblem& p, int64_t row) {
  MapStrides at{0, 0, 0, 0};
  for (int d = p.dims - 1; d >= 0; --d) {
    const int64_t i = row % p.dim[d].size;
    row /= p.dim[d].size;
    at.x += i * p.dim[d].stride.x;
    at.second += i * p.dim[d].stride.second;
    at.out += i * p.dim[d].stride.out;
    at.mask += i * p.dim[d].stride.mask;
  }
  return at;
}

// The channels of a row, and the first of them.
inline int64_t channels_of_row(const MapProblem& p) { return p.n / p.channel; }
inline int64_t first_channel(const MapProblem& p, int64_t row) { return row % p.groups * channels_of_row(p); }

inline bool is_empty(const MapProblem& p) { return p.rows == 0 || p.n == 0; }

}  // namespace torch_reduce
