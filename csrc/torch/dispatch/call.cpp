#include "call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>

namespace torch_reduce {
namespace {

template <class Function>
using Handles = std::array<std::optional<c10::TypedOperatorHandle<Function>>, kOps>;

template <Signature kSignature, class Function>
Handles<Function> find_all() {
  constexpr bool kWritesOut = std::is_reference<typename c10::guts::function_traits<Function>::return_type>::value;
  Handles<Function> handles;
  for (int i = 0; i < kOps; ++i) {
    const auto op = static_cast<Op>(i);
    if (signature_of(op) != kSignature) continue;
    const std::string full = "reduce::" + name_of_kernels(op);
    handles[static_cast<size_t>(i)] =
        c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), kWritesOut ? "out" : "").typed<Function>();
  }
  return handles;
}

// Looked up once a process: a lookup takes a lock and hashes strings.
template <Signature kSignature, class Function>
const auto& handle(Op op) {
  static const auto handles = find_all<kSignature, Function>();
  return *handles[static_cast<size_t>(op)];
}
const auto& typed(Op op) { return handle<Signature::typed, Typed>(op); }
const auto& typed_out(Op op) { return handle<Signature::typed, TypedOut>(op); }
const auto& plain(Op op) { return handle<Signature::plain, Plain>(op); }
const auto& plain_out(Op op) { return handle<Signature::plain, PlainOut>(op); }
const auto& spread(Op op) { return handle<Signature::spread, Spread>(op); }
const auto& spread_out(Op op) { return handle<Signature::spread, SpreadOut>(op); }

}  // namespace

at::Tensor call(const Request& r, const at::Tensor& self) {
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed(r.op).call(self, r.dim, r.keepdim, r.dtype, r.mode);
    case Signature::spread:
      return spread(r.op).call(self, r.dim, r.keepdim, r.correction);
    default:
      return plain(r.op).call(self, r.dim, r.keepdim);
  }
}

std::tuple<at::Tensor, at::Tensor> call_pair(const Request& r, const at::Tensor& self) {
  const at::Tensor both = call(r, self);
  return {both.select(-1, 0), both.select(-1, 1)};
}

at::Tensor redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode);
    case Signature::spread:
      return spread(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction);
    default:
      return plain(r.op).redispatch(keys, self, r.dim, r.keepdim);
  }
}

at::Tensor& redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
  switch (signature_of(r.op)) {
    case Signature::typed:
      return typed_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode, out);
    case Signature::spread:
      return spread_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.correction, out);
    default:
      return plain_out(r.op).redispatch(keys, self, r.dim, r.keepdim, out);
  }
}

}  // namespace torch_reduce
