// The loop nest of one reduction.
#pragma once

#include <cstdint>

namespace torch_reduce {

// torch's own limit on the number of dims.
constexpr int kMaxDims = 64;

// Strides count elements. Dims stand outermost first; sizes are at least 2 unless the nest is a single element,
// when a group has no dims at all.
struct KeptDim {
  int64_t size, in_stride, out_stride;
};
struct ReducedDim {
  int64_t size, stride;
};

struct Layout {
  int kept_dims = 0;
  int reduced_dims = 0;
  KeptDim kept[kMaxDims];        // sorted by input stride, largest first: the order of outputs is free
  ReducedDim reduced[kMaxDims];  // in the order of the dims unless the layout was made with Order::Any
  int64_t outputs = 1;           // product of the kept sizes
  int64_t n = 1;                 // product of the reduced sizes: elements per output
};

}  // namespace torch_reduce
