// From what a plan and a problem know at run time to the instantiation of a kernel.
#pragma once

#include <cuda_runtime_api.h>

#include "core/cuda/lane/any_element.cuh"
#include "core/plan/gpu/kernels.h"

namespace torch_reduce::cuda {

template <class T>
struct Tag {
  using type = T;
};

// Whether In is how elements of a type are tested.
template <class In>
constexpr bool reads_tested(DType type) {
  return (is_tested<In> || std::is_same<In, Bool>::value) && sizeof(In) == size_of(type) && !is_float8(type);
}

// Calls f with the element type, or with Any for those that have no kernels of their own.
template <class O, class Acc, class F>
cudaError_t with_element_type(const Problem& p, F f) {
  cudaError_t status = cudaErrorInvalidValue;
  const auto call_if = [&](auto tag) {
    using In = typename decltype(tag)::type;
    if constexpr (kernels::are_typed(types_of_instance<O, In, Acc>())) {
      const bool is_it = p.tested ? reads_tested<In>(p.in) : !is_tested<In> && p.in == dtype_of<In>::value;
      if (!is_it) return false;
      status = f(Tag<ReadAs<O, In>>{});
      return true;
    } else {
      return false;
    }
  };
  const bool typed = call_if(Tag<float>{}) || call_if(Tag<BFloat16>{}) || call_if(Tag<Half>{}) ||
                     call_if(Tag<double>{}) || call_if(Tag<int64_t>{}) || call_if(Tag<int32_t>{}) ||
                     call_if(Tag<Bool>{}) || call_if(Tag<uint8_t>{}) || call_if(Tag<int8_t>{}) ||
                     call_if(Tag<int16_t>{}) || call_if(Tag<NonZero<uint16_t>>{}) ||
                     call_if(Tag<NonZero<uint32_t>>{}) || call_if(Tag<NonZero<uint64_t>>{});
  if constexpr (kernels::are_of_float8(types_of_instance<O, AnyFloat8, Acc>())) {
    if (is_float8(p.in)) return f(Tag<AnyFloat8>{});
  }
  if constexpr (kernels::are_untyped(traits_of<O>(), dtype_of<number_of<Acc>>::value)) {
    if (!typed) return f(Tag<Any>{});
  }
  return status;
}

template <Access A>
using WithAccess = std::integral_constant<Access, A>;

// Calls f with the access of a plan. Where no kernel exists for one, f is not compiled for it: `Exists` has a static
// constexpr member function that says so.
template <class Exists, class F>
cudaError_t with_access(Access access, F f) {
  const auto call = [&](auto a) -> cudaError_t {
    if constexpr (Exists::value(decltype(a)::value)) return f(a);
    return cudaErrorInvalidValue;
  };
  switch (access) {
    case Access::Contiguous:
      return call(WithAccess<Access::Contiguous>{});
    case Access::Segmented:
      return call(WithAccess<Access::Segmented>{});
    case Access::Unaligned:
      return call(WithAccess<Access::Unaligned>{});
    case Access::UnalignedSegmented:
      return call(WithAccess<Access::UnalignedSegmented>{});
    case Access::Unordered:
      return call(WithAccess<Access::Unordered>{});
    case Access::Pairs:
      return call(WithAccess<Access::Pairs>{});
    case Access::Strided:
      return call(WithAccess<Access::Strided>{});
  }
  return cudaErrorInvalidValue;
}

// The predicates of plan/gpu/kernels.h for an instantiation.
template <class O, class In, class Acc>
struct RowsExist {
  static constexpr bool value(Access a) { return kernels::have_rows(types_of_instance<O, In, Acc>(), a); }
};
template <class O, class In, class Acc>
struct ShortRowsExist {
  static constexpr bool value(Access a) { return kernels::have_short_rows(types_of_instance<O, In, Acc>(), a); }
};
template <class O, class In, class Acc>
struct ColumnsExist {
  static constexpr bool value(Access a) { return kernels::have_columns(types_of_instance<O, In, Acc>(), a); }
};
template <class O, class In, class Acc>
struct StackedColumnsExist {
  static constexpr bool value(Access a) { return kernels::have_stacked_columns(types_of_instance<O, In, Acc>(), a); }
};

}  // namespace torch_reduce::cuda
