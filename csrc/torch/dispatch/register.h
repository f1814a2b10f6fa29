// Registers kernels for the operators: from the dispatcher's signatures to one request.
#pragma once

#include <torch/library.h>

#include "by_name.h"
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

  static at::Tensor spread(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                           const std::optional<at::Scalar>& correction) {
    return Kernel::make(keys, spread_request(op, dim, keepdim, correction), self);
  }
  static at::Tensor& spread_out(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                                bool keepdim, const std::optional<at::Scalar>& correction, at::Tensor& out) {
    return Kernel::into(keys, spread_request(op, dim, keepdim, correction), self, out);
  }

  static at::Tensor of_order(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                             bool keepdim, const at::Scalar& ord, std::optional<at::ScalarType> dtype,
                             c10::string_view mode) {
    return Kernel::make(keys, norm_request(dim, keepdim, ord, dtype, mode), self);
  }
  static at::Tensor& of_order_out(c10::DispatchKeySet keys, const at::Tensor& self, at::OptionalIntArrayRef dim,
                                  bool keepdim, const at::Scalar& ord, std::optional<at::ScalarType> dtype,
                                  c10::string_view mode, at::Tensor& out) {
    return Kernel::into(keys, norm_request(dim, keepdim, ord, dtype, mode), self, out);
  }

  // Those of two tensors have one kernel (two.h).
  static void functional(torch::Library& m) {
    if constexpr (signature_of(op) == Signature::of_order) {
      m.impl(name(op), TORCH_FN(of_order));
    } else if constexpr (signature_of(op) == Signature::typed) {
      m.impl(name(op), TORCH_FN(typed));
    } else if constexpr (signature_of(op) == Signature::paired) {
    } else if constexpr (signature_of(op) == Signature::spread) {
      m.impl(name_of_kernels(op).c_str(), TORCH_FN(spread));
    } else {
      m.impl(name_of_kernels(op).c_str(), TORCH_FN(untyped));
    }
  }
  static void out(torch::Library& m) {
    const std::string overload = name_of_kernels(op) + ".out";
    if constexpr (signature_of(op) == Signature::of_order) {
      m.impl(overload.c_str(), TORCH_FN(of_order_out));
    } else if constexpr (signature_of(op) == Signature::typed) {
      m.impl(overload.c_str(), TORCH_FN(typed_out));
    } else if constexpr (signature_of(op) == Signature::paired) {
    } else if constexpr (signature_of(op) == Signature::spread) {
      m.impl(overload.c_str(), TORCH_FN(spread_out));
    } else {
      m.impl(overload.c_str(), TORCH_FN(untyped_out));
    }
  }
};

// The same of a scan.
template <class Kernel, Scan scan>
struct ScanEntry {
  static at::Tensor typed(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dim,
                          std::optional<at::ScalarType> dtype) {
    return Kernel::make(keys, scan_request(scan, dim, dtype), self);
  }
  static at::Tensor plain(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dim) {
    return typed(keys, self, dim, std::nullopt);
  }
  static at::Tensor& typed_out(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dim,
                               std::optional<at::ScalarType> dtype, at::Tensor& out) {
    return Kernel::into(keys, scan_request(scan, dim, dtype), self, out);
  }
  static at::Tensor& plain_out(c10::DispatchKeySet keys, const at::Tensor& self, int64_t dim, at::Tensor& out) {
    return typed_out(keys, self, dim, std::nullopt, out);
  }

  static void functional(torch::Library& m) {
    if constexpr (signature_of(scan) == Signature::typed) {
      m.impl(name_of_kernels(scan).c_str(), TORCH_FN(typed));
    } else {
      m.impl(name_of_kernels(scan).c_str(), TORCH_FN(plain));
    }
  }
  static void out(torch::Library& m) {
    const std::string overload = name_of_kernels(scan) + ".out";
    if constexpr (signature_of(scan) == Signature::typed) {
      m.impl(overload.c_str(), TORCH_FN(typed_out));
    } else {
      m.impl(overload.c_str(), TORCH_FN(plain_out));
    }
  }
};

template <class Kernel>
at::Tensor by_name(c10::DispatchKeySet keys, const at::Tensor& self, c10::string_view op, at::IntArrayRef dim,
                   bool keepdim, c10::string_view dtype, c10::string_view mode, double correction) {
  return Kernel::make(keys, request_by_name(op, dim, keepdim, dtype, mode, correction), self);
}

template <class Kernel>
void register_functional(torch::Library& m) {
  m.impl("_by_name", TORCH_FN(by_name<Kernel>));
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Entry<Kernel, Op::Struct>::functional(m);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_SCAN(Struct, name, signature) ScanEntry<Kernel, Scan::name>::functional(m);
#include <torch_reduce/scans.def>
}

template <class Kernel>
void register_out(torch::Library& m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Entry<Kernel, Op::Struct>::out(m);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_SCAN(Struct, name, signature) ScanEntry<Kernel, Scan::name>::out(m);
#include <torch_reduce/scans.def>
}

template <class Kernel>
void register_kernels(torch::Library& m) {
  register_functional<Kernel>(m);
  register_out<Kernel>(m);
}

}  // namespace torch_reduce
