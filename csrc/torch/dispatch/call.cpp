#include "call.h"

#include <ATen/core/dispatch/Dispatcher.h>

namespace torch_reduce {
namespace {

template <class Signature>
c10::TypedOperatorHandle<Signature> find(Op op, const char* overload) {
  const std::string full = std::string("reduce::") + name(op);
  return c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), overload).typed<Signature>();
}

// Looked up once a process: a lookup takes a lock and hashes strings.
template <class Signature, Op first, Op... others>
const c10::TypedOperatorHandle<Signature>& handle(Op op, const char* overload) {
  static const c10::TypedOperatorHandle<Signature> handles[] = {find<Signature>(first, overload),
                                                                find<Signature>(others, overload)...};
  return handles[static_cast<int>(op) - static_cast<int>(first)];
}

const auto& typed(Op op) { return handle<Typed, Op::Sum, Op::Mean, Op::Prod>(op, ""); }
const auto& typed_out(Op op) { return handle<TypedOut, Op::Sum, Op::Mean, Op::Prod>(op, "out"); }
const auto& untyped(Op op) { return handle<Untyped, Op::Max, Op::Min>(op, ""); }
const auto& untyped_out(Op op) { return handle<UntypedOut, Op::Max, Op::Min>(op, "out"); }

}  // namespace

at::Tensor call(const Request& r, const at::Tensor& self) {
  return has_dtype(r.op) ? typed(r.op).call(self, r.dim, r.keepdim, r.dtype, r.mode)
                         : untyped(r.op).call(self, r.dim, r.keepdim);
}

at::Tensor redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
  return has_dtype(r.op) ? typed(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode)
                         : untyped(r.op).redispatch(keys, self, r.dim, r.keepdim);
}

at::Tensor& redispatch(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self, at::Tensor& out) {
  return has_dtype(r.op) ? typed_out(r.op).redispatch(keys, self, r.dim, r.keepdim, r.dtype, r.mode, out)
                         : untyped_out(r.op).redispatch(keys, self, r.dim, r.keepdim, out);
}

}  // namespace torch_reduce
