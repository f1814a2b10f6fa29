// Registers kernels for the operators: from the dispatcher's four signatures to one request.
#pragma once

#include <torch/library.h>

#include "call.h"

namespace torch_reduce {

// Kernel has one or both of
//   static at::Tensor make(c10::DispatchKeySet, const Request&, const at::Tensor& self);
//   static at::Tensor& into(c10::DispatchKeySet, const Request&, const at::Tensor& self, at::Tensor& out);
template <class Kernel, Op op>
struct Entry {
  static at::Tensor typed(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                          std::optional<at::ScalarType> dtype, c10::string_view mode) {
    return Kernel::make(keys, Request{op, dim, keepdim, dtype, mode}, self);
  }
  static at::Tensor untyped(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                            bool keepdim) {
    return Kernel::make(keys, Request{op, dim, keepdim, std::nullopt}, self);
  }
  static at::Tensor& typed_out(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                               bool keepdim, std::optional<at::ScalarType> dtype, c10::string_view mode,
                               at::Tensor& out) {
    return Kernel::into(keys, Request{op, dim, keepdim, dtype, mode}, self, out);
  }
  static at::Tensor& untyped_out(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                                 bool keepdim, at::Tensor& out) {
    return Kernel::into(keys, Request{op, dim, keepdim, std::nullopt}, self, out);
  }

  static void functional(torch::Library& m) {
    if constexpr (has_dtype(op)) {
      m.impl(name(op), TORCH_FN(typed));
    } else {
      m.impl(name(op), TORCH_FN(untyped));
    }
  }
  static void out(torch::Library& m) {
    const std::string overload = std::string(name(op)) + ".out";
    if constexpr (has_dtype(op)) {
      m.impl(overload.c_str(), TORCH_FN(typed_out));
    } else {
      m.impl(overload.c_str(), TORCH_FN(untyped_out));
    }
  }
};

template <Op...>
struct Ops {};
constexpr Ops<Op::Sum, Op::Mean, Op::Prod, Op::Max, Op::Min> kEveryOp;

template <class Kernel, Op... ops>
void register_functional(torch::Library& m, Ops<ops...>) {
  (Entry<Kernel, ops>::functional(m), ...);
}

template <class Kernel, Op... ops>
void register_out(torch::Library& m, Ops<ops...>) {
  (Entry<Kernel, ops>::out(m), ...);
}

template <class Kernel>
void register_kernels(torch::Library& m) {
  register_functional<Kernel>(m, kEveryOp);
  register_out<Kernel>(m, kEveryOp);
}

}  // namespace torch_reduce
