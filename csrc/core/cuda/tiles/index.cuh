// Where the elements of tiles lie: rows, which are runs of logically consecutive elements, in the order in which memory
// has them.
#pragma once

#include "core/cuda/lane/index.cuh"

namespace torch_reduce::cuda {

// Rows are numbered along the smallest stride first, so that neighbours lie side by side. A kept dim leads to another
// output, a reduced one to a later row of the same output.
struct TileRows {
  struct Place {
    int64_t base, output;  // where the output's first element lies, and where its value goes
    int64_t row;           // of the output's
  };
  int64_t count = 1;
  int dims = 0;
  int64_t size[kTileDims], base[kTileDims], output[kTileDims], row[kTileDims];

  // Of the kept dims and the first `outer` of the reduced ones. Values of neighbouring outputs lie `output_stride`
  // apart, or, with 0, as the layout says.
  TileRows(const Layout& l, int outer, int64_t output_stride) {
    int64_t stride[kTileDims], step = output_stride;
    for (int d = l.kept_dims - 1; d >= 0; --d) {
      const KeptDim& k = l.kept[d];
      insert(stride, k.in_stride, k.size, k.in_stride, output_stride ? step : k.out_stride, 0);
      step *= k.size;
    }
    step = 1;
    for (int d = outer - 1; d >= 0; --d) {
      insert(stride, l.reduced[d].stride, l.reduced[d].size, 0, 0, step);
      step *= l.reduced[d].size;
    }
  }

  __device__ __forceinline__ Place at(int64_t index) const {
    Place p{0, 0, 0};
#pragma unroll 1
    for (int d = 0; d < dims; ++d) {
      const int64_t outer = quotient(index, size[d]), digit = index - outer * size[d];
      p.base += digit * base[d];
      p.output += digit * output[d];
      p.row += digit * row[d];
      index = outer;
    }
    return p;
  }

 private:
  void insert(int64_t* stride, int64_t key, int64_t n, int64_t base_step, int64_t output_step, int64_t row_step) {
    int at = dims++;
    for (; at > 0 && stride[at - 1] > key; --at) {
      stride[at] = stride[at - 1], size[at] = size[at - 1];
      base[at] = base[at - 1], output[at] = output[at - 1], row[at] = row[at - 1];
    }
    stride[at] = key, size[at] = n, base[at] = base_step, output[at] = output_step, row[at] = row_step;
    count *= n;
  }
};

// The reduced dims from `begin` to `end`, walked as if they were all.
inline ReducedIndex<Access::Strided> reduced_dims(const Layout& l, int begin, int end) {
  Layout part;
  for (int d = begin; d < end; ++d) {
    part.reduced[part.reduced_dims++] = l.reduced[d];
    part.n *= l.reduced[d].size;
  }
  return ReducedIndex<Access::Strided>(part);
}

}  // namespace torch_reduce::cuda
