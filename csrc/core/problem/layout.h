// From a tensor's sizes, strides and reduced dims to the smallest equivalent loop nest.
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

// Logical keeps the reduced dims in the order in which they stand in the tensor, as the canonical order needs.
// Any lets them be sorted by stride, so that memory is read as it lies.
enum class Order { Logical, Any };

// `reduced[d]` says whether dim d is reduced; `out_strides[d]` is the output's stride of a kept dim d and is not
// read for a reduced one. Any sizes (zero included) and strides are accepted.
Layout make_layout(int ndim, const int64_t* sizes, const int64_t* strides, const bool* reduced,
                   const int64_t* out_strides, Order order);

}  // namespace torch_reduce
