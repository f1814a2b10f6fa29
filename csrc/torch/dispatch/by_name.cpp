#include "by_name.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "call.h"

namespace torch_reduce {
namespace {

using ByName = at::Tensor(const at::Tensor&, c10::string_view, at::IntArrayRef, bool, c10::string_view,
                          c10::string_view, double);
using Accumulate = at::Tensor(const at::Tensor&, at::IntArrayRef, bool);
using Round = at::Tensor(const at::Tensor&, c10::string_view, c10::SymInt);
using TypedRound = at::Tensor(const at::Tensor&, at::ScalarType, c10::SymInt);

template <class Function>
c10::TypedOperatorHandle<Function> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Function>();
}

const auto& by_name() {
  static const auto op = find<ByName>("reduce::_by_name");
  return op;
}

at::ScalarType parse_dtype(c10::string_view name) {
  const auto& types = c10::getStringToDtypeMap();
  const auto found = types.find(std::string(name));
  TORCH_CHECK_VALUE(found != types.end(), "reduce: unknown dtype \"", name, "\"");
  return found->second;
}

at::Tensor accumulate(const at::Tensor& self, at::IntArrayRef dim, bool keepdim) {
  static const auto op = find<Plain>("reduce::exact_accumulate");
  return op.call(self, dim, keepdim);
}

at::Tensor round(const at::Tensor& acc, c10::string_view dtype, c10::SymInt divisor) {
  static const auto op = find<TypedRound>("reduce::exact_round");
  return op.call(acc, parse_dtype(dtype), std::move(divisor));
}

}  // namespace

at::DimVector list_of(at::OptionalIntArrayRef dim, int64_t ndim) {
  if (dim && !dim->empty()) return at::DimVector(dim->begin(), dim->end());
  at::DimVector all{0};
  while (static_cast<int64_t>(all.size()) < ndim) all.push_back(static_cast<int64_t>(all.size()));
  return all;
}

std::string name_of(at::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

Request request_by_name(c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                        c10::string_view mode, double correction, Role role) {
  const auto type = dtype.empty() ? std::nullopt : std::optional(parse_dtype(dtype));
  if (const auto scan = find_scan(op)) return scan_request(*scan, dim, type);
  const Op known = parse_op(op);
  TORCH_CHECK_VALUE(traits_of(known).role == role, "reduce::", name(known), " takes two tensors");
  return {known, dim, keepdim, type, mode, correction};
}

at::Tensor call_by_name(const Request& r, const at::Tensor& self) {
  if (reduces_none(r)) {  // there is at least one dim: each element is a row
    Request of_elements = r;
    const int64_t last = self.dim();
    of_elements.dim = at::IntArrayRef(last);
    of_elements.keepdim = false;
    return call_by_name(of_elements, self.unsqueeze(-1));
  }
  return by_name().call(self, name(r), list_of(r.dim, self.dim()), r.keepdim, r.dtype ? name_of(*r.dtype) : "", r.mode,
                        r.correction);
}
at::Tensor redispatch_by_name(c10::DispatchKeySet keys, const Request& r, const at::Tensor& self) {
  return by_name().redispatch(keys, self, name(r), list_of(r.dim, self.dim()), r.keepdim,
                              r.dtype ? name_of(*r.dtype) : "", r.mode, r.correction);
}

at::Tensor exact_accumulate_by_name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
  static const auto op = find<Accumulate>("reduce::_exact_accumulate_by_name");
  return op.call(self, list_of(dim, self.dim()), keepdim);
}

at::Tensor exact_round_by_name(const at::Tensor& acc, at::ScalarType dtype, c10::SymInt divisor) {
  static const auto op = find<Round>("reduce::_exact_round_by_name");
  return op.call(acc, name_of(dtype), std::move(divisor));
}

// Not implicit: tracers would put the other operators back in their place.
TORCH_LIBRARY_IMPL(reduce, CompositeExplicitAutograd, m) {
  m.impl("_exact_accumulate_by_name", TORCH_FN(accumulate));
  m.impl("_exact_round_by_name", TORCH_FN(round));
}

}  // namespace torch_reduce
