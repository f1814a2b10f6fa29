#include "call.h"

#include <ATen/core/Formatting.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>

#include <array>

#include "by_name.h"

namespace torch_reduce {
namespace {

// Id is Op or Scan.
template <class Id>
constexpr int kCount = std::is_same<Id, Op>::value ? kOps : kScans;
template <class Id, class Function>
using Handles = std::array<std::optional<c10::TypedOperatorHandle<Function>>, kCount<Id>>;

template <Signature kSignature, class Function, class Id>
Handles<Id, Function> find_all() {
  constexpr bool kWritesOut = std::is_reference<typename c10::guts::function_traits<Function>::return_type>::value;
  Handles<Id, Function> handles;
  for (int i = 0; i < kCount<Id>; ++i) {
    const auto op = static_cast<Id>(i);
    if (signature_of(op) != kSignature) continue;
    const std::string full = "reduce::" + name_of_kernels(op);
    handles[static_cast<size_t>(i)] =
        c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), kWritesOut ? "out" : "").typed<Function>();
  }
  return handles;
}

// Looked up once a process: a lookup takes a lock and hashes strings.
template <Signature kSignature, class Function, class Id>
const auto& handle(Id op) {
  static const auto handles = find_all<kSignature, Function, Id>();
  return *handles[static_cast<size_t>(op)];
}
const auto& typed(Op op) { return handle<Signature::typed, Typed>(op); }
const auto& typed_out(Op op) { return handle<Signature::typed, TypedOut>(op); }
const auto& plain(Op op) { return handle<Signature::plain, Plain>(op); }
const auto& plain_out(Op op) { return handle<Signature::plain, PlainOut>(op); }
const auto& spread(Op op) { return handle<Signature::spread, Spread>(op); }
const auto& spread_out(Op op) { return handle<Signature::spread, SpreadOut>(op); }
const auto& of_order(Op op) { return handle<Signature::of_order, OfOrder>(op); }
const auto& of_order_out(Op op) { return handle<Signature::of_order, OfOrderOut>(op); }
const auto& typed(Scan scan) { return handle<Signature::typed, TypedScan>(scan); }
const auto& typed_out(Scan scan) { return handle<Signature::typed, TypedScanOut>(scan); }
const auto& plain(Scan scan) { return handle<Signature::plain, PlainScan>(scan); }
const auto& plain_out(Scan scan) { return handle<Signature::plain, PlainScanOut>(scan); }

bool is_typed(Scan scan) { return signature_of(scan) == Signature::typed; }

// Whether a type is named that the operator does not take: its call by name does.
bool is_by_name(const Request& r) { return r.dtype && !r.scan && !takes_dtype(signature_of(r.op)); }

}  // namespace

at::Tensor call(const Request& r, const at::Tensor& self) {
  if (r.scan) {
    const int64_t dim = r.dim->front();
    return is_typed(*r.scan) ? typed(*r.scan).call(self, dim, r.dtype) : plain(*r.scan).call(self, dim);
  }
  if (is_by_name(r)) return call_by_name(r, self);
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed(r.op).call(self, r.dim, r.keepdim, r.dtype, r.mode);
    case Signature::spread:
      return spread(r.op).call(self, r.dim, r.keepdim, r.correction);
    case Signature::of_order:
      return of_order(r.op).call(self, r.dim, r.keepdim, r.correction, r.dtype, r.mode);
    default:
      return plain(r.op).call(self, r.dim, r.keepdim);
  }
}

std::tuple<at::Tensor, at::Tensor> call_pair(const Request& r, const at::Tensor& self) {
  if (r.scan) return {call(r, self), call(request_of_indices(r), self)};
  const at::Tensor both = call(r, self);
  return {both.select(-1, 0), both.select(-1, 1)};
}

void call_pair(const Request& r, const at::Tensor& self, at::Tensor& first, at::Tensor& second) {
  plain_out(*request_of_indices(r).scan).call(self, r.dim->front(), second);
  plain_out(*r.scan).call(self, r.dim->front(), first);  // which may take the elements' places
}

at::Tensor redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
  if (r.scan) {
    const int64_t dim = r.dim->front();
    return is_typed(*r.scan) ? typed(*r.scan).redispatch(keys, self, dim, r.dtype)
                             : plain(*r.scan).redispatch(keys, self, dim);
  }
  if (is_by_name(r)) return redispatch_by_name(keys, r, self);
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode);
    case Signature::spread:
      return spread(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction);
    case Signature::of_order:
      return of_order(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction, r.dtype, r.mode);
    default:
      return plain(r.op).redispatch(keys, self, r.dim, r.keepdim);
  }
}

at::Tensor& redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
  if (r.scan) {
    const int64_t dim = r.dim->front();
    return is_typed(*r.scan) ? typed_out(*r.scan).redispatch(keys, self, dim, r.dtype, out)
                             : plain_out(*r.scan).redispatch(keys, self, dim, out);
  }
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode, out);
    case Signature::spread:
      return spread_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction, out);
    case Signature::of_order:
      return of_order_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction, r.dtype, r.mode, out);
    default:
      return plain_out(r.op).redispatch(keys, self, r.dim, r.keepdim, out);
  }
}

void check_takes(c10::string_view op, const at::Tensor& result, const at::Tensor& out) {
  TORCH_CHECK(out.device() == result.device(), "reduce::", op, ": out is on ", out.device(), " but the input is on ",
              result.device());
  TORCH_CHECK(!at::GradMode::is_enabled() || !(result.requires_grad() || out.requires_grad()), "reduce::", op,
              ": functions with out=... arguments don't support automatic differentiation, but one of the arguments "
              "requires grad");
  TORCH_CHECK(out.scalar_type() == result.scalar_type(), "reduce::", op, ": out has dtype ", out.scalar_type(),
              " but the result has ", result.scalar_type());
  TORCH_CHECK(out.sym_numel() == 0 || out.sym_sizes() == result.sym_sizes(), "reduce::", op, ": out has shape ",
              out.sym_sizes(), " but the result has ", result.sym_sizes());
}

void write_to(at::Tensor& out, const at::Tensor& result) {
  if (out.sym_numel() == 0) out.resize__symint(result.sym_sizes());
  out.copy_(result);
}

}  // namespace torch_reduce
