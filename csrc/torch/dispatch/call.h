// The operators through torch's dispatcher.
#pragma once

#include <ATen/core/Scalar.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DispatchKeySet.h>

#include "../schema/request.h"

namespace torch_reduce {

// Of each Signature: what an operator does not take of a request is dropped, but for a dtype, with which it is called
// by name.
using Typed = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                         c10::string_view);
using TypedOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                             c10::string_view, at::Tensor&);
using Plain = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool);
using PlainOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, at::Tensor&);
using Spread = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const std::optional<at::Scalar>&);
using SpreadOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, const std::optional<at::Scalar>&,
                              at::Tensor&);
using OfOrder = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const at::Scalar&,
                           std::optional<at::ScalarType>, c10::string_view);
using OfOrderOut = at::Tensor&(const at::Tensor&, at::OptionalIntArrayRef, bool, const at::Scalar&,
                               std::optional<at::ScalarType>, c10::string_view, at::Tensor&);

// Of scans.
using TypedScan = at::Tensor(const at::Tensor&, int64_t, std::optional<at::ScalarType>);
using TypedScanOut = at::Tensor&(const at::Tensor&, int64_t, std::optional<at::ScalarType>, at::Tensor&);
using PlainScan = at::Tensor(const at::Tensor&, int64_t);
using PlainScanOut = at::Tensor&(const at::Tensor&, int64_t, at::Tensor&);

inline Request spread_request(Op op, at::OptionalIntArrayRef dim, bool keepdim,
                              const std::optional<at::Scalar>& correction) {
  return {op, dim, keepdim, std::nullopt, "deterministic", correction ? correction->toDouble() : 1};
}
// Another operator's, where one is the norm of the order.
inline Request norm_request(at::OptionalIntArrayRef dim, bool keepdim, const at::Scalar& ord,
                            std::optional<at::ScalarType> dtype, c10::string_view mode) {
  return {norm_of(ord.toDouble()), dim, keepdim, dtype, mode, ord.toDouble()};
}

// Of a scan of two results, the second one's.
inline Request request_of_indices(const Request& r) {
  return scan_request(scan_of_indices(*r.scan), *r.dim, std::nullopt);
}

// From the top: autocast, autograd, vmap and whatever else is in force. Two results are in the last dim of one tensor,
// or apart, as its views; of a scan the second one is another scan.
TR_SHARED at::Tensor call(const Request& request, const at::Tensor& self);
TR_SHARED std::tuple<at::Tensor, at::Tensor> call_pair(const Request& request, const at::Tensor& self);
void call_pair(const Request& scan, const at::Tensor& self, at::Tensor& first, at::Tensor& second);

// With out=, of what makes its result first. RuntimeError unless `out` has the result's device, dtype and shape, or no
// elements; and where a gradient is wanted.
void check_takes(c10::string_view op, const at::Tensor& result, const at::Tensor& out);
void write_to(at::Tensor& out, const at::Tensor& result);

// From within a kernel to the next one of `keys`, which the kernel was given and has cut down.
at::Tensor redispatch(c10::DispatchKeySet keys, const Request& request, const at::Tensor& self);
at::Tensor& redispatch(c10::DispatchKeySet keys, const Request& request, const at::Tensor& self, at::Tensor& out);

}  // namespace torch_reduce
