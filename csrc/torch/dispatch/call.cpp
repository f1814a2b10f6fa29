#include "call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <array>

namespace torch_reduce {
namespace {

template <class Function>
using Handles = std::array<std::optional<c10::TypedOperatorHandle<Function>>, kOps>;

// Looked up once a process: a lookup takes a lock and hashes strings.
template <class Function>
Handles<Function> find_all(Signature signature, const char* overload) {
  Handles<Function> handles;
  for (int i = 0; i < kOps; ++i) {
    const auto op = static_cast<Op>(i);
    if (signature_of(op) != signature) continue;
    const std::string full = std::string("reduce::") + name(op);
    handles[static_cast<size_t>(i)] =
        c10::Dispatcher::singleton().findSchemaOrThrow(full.c_str(), overload).typed<Function>();
  }
  return handles;
}

const auto& typed(Op op) {
  static const auto handles = find_all<Typed>(Signature::typed, "");
  return *handles[static_cast<size_t>(op)];
}
const auto& typed_out(Op op) {
  static const auto handles = find_all<TypedOut>(Signature::typed, "out");
  return *handles[static_cast<size_t>(op)];
}
const auto& plain(Op op) {
  static const auto handles = find_all<Plain>(Signature::plain, "");
  return *handles[static_cast<size_t>(op)];
}
const auto& plain_out(Op op) {
  static const auto handles = find_all<PlainOut>(Signature::plain, "out");
  return *handles[static_cast<size_t>(op)];
}

const auto& spread(Op op) {
  static const auto handles = find_all<Spread>(Signature::spread, "");
  return *handles[static_cast<size_t>(op)];
}
const auto& spread_out(Op op) {
  static const auto handles = find_all<SpreadOut>(Signature::spread, "out");
  return *handles[static_cast<size_t>(op)];
}

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
