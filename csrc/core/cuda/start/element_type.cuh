// From the type of the elements, known at run time, to the instantiation of a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/lane/element.cuh"

namespace torch_reduce::cuda {

template <class T>
struct Tag {
  using type = T;
};

// Calls f with the element type, or with Any for those that have no kernels of their own (see has_vector_loads).
template <class O, class Acc, class F>
cudaError_t with_element_type(const Problem& p, F f) {
  if constexpr (std::is_same<Acc, float>::value) {
    if (p.in == DType::Float16) return f(Tag<Half>{});
    if (p.in == DType::BFloat16) return f(Tag<BFloat16>{});
    return f(Tag<float>{});
  } else if constexpr (std::is_same<Acc, double>::value) {
    if constexpr (!mirrors<O>) {  // which does not widen
      if (p.in == DType::Float32) return f(Tag<float>{});
      if (p.in != DType::Float64) return f(Tag<Any>{});
    }
    return f(Tag<double>{});
  } else {
    if (p.as_bool) return f(Tag<Any>{});
    if (p.in == DType::Int32) return f(Tag<int32_t>{});
    if (p.in == DType::Int64) return f(Tag<int64_t>{});
    if constexpr (!std::is_same<O, Prod>::value) {
      // The largest or smallest of bools is one of their bytes, and that is not zero.
      if (p.in == DType::Bool) return f(Tag<std::conditional_t<mirrors<O>, uint8_t, Bool>>{});
      if (p.in == DType::UInt8) return f(Tag<uint8_t>{});
      if (p.in == DType::Int8) return f(Tag<int8_t>{});
      if (p.in == DType::Int16) return f(Tag<int16_t>{});
    }
    return f(Tag<Any>{});
  }
}

}  // namespace torch_reduce::cuda
