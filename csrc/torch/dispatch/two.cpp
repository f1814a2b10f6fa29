#include "two.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DefaultDtype.h>
#include <torch/library.h>

#include "../schema/result_type.h"
#include "by_name.h"
#include "call.h"
#include "complex.h"
#include "composites.h"

namespace torch_reduce {
namespace {

using OfTwo = at::Tensor(const at::Tensor&, const at::Tensor&, c10::string_view, at::IntArrayRef, bool,
                         c10::string_view, c10::string_view, double);

const c10::TypedOperatorHandle<OfTwo>& handle() {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::_of_two", "").typed<OfTwo>();
  return op;
}

// As far as is known without a guard on sizes that depend on data, which broadcasting makes.
bool have_one_shape(const at::Tensor& a, const at::Tensor& b) {
  bool same = a.dim() == b.dim();
  for (int64_t d = 0; same && d < a.dim(); ++d) same = TORCH_GUARD_OR_FALSE(a.sym_size(d).sym_eq(b.sym_size(d)));
  return same;
}

// As torch's: one dtype, or under autocast the wider of the two.
std::tuple<at::Tensor, at::Tensor> factors(const Request& r, at::Tensor self, at::Tensor other) {
  if (self.scalar_type() != other.scalar_type() && at::autocast::is_autocast_enabled(self.device().type())) {
    const auto type = at::promote_types(self.scalar_type(), other.scalar_type());
    self = self.to(type);
    other = other.to(type);
  }
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "reduce::", name(r),
              ": both tensors must have one dtype, but got ", self.scalar_type(), " and ", other.scalar_type());
  if (have_one_shape(self, other)) return {without_float8(self), without_float8(other)};
  const auto sizes = at::infer_size_symint(self.sym_sizes(), other.sym_sizes());
  return {without_float8(self).expand_symint(sizes), without_float8(other).expand_symint(sizes)};
}

void into(const Request& r, const at::Tensor& result, at::Tensor& out) {
  check_takes(name(r), result, out);
  write_to(out, result);
}
// With out=, its dtype is the result's where none is named.
Request with_type_of(Request r, const at::Tensor& out) {
  TORCH_CHECK(!r.dtype || *r.dtype == out.scalar_type(), "reduce::", name(r), ": dtype is ", *r.dtype,
              " but out has dtype ", out.scalar_type());
  if (takes_dtype(signature_of(r.op))) r.dtype = out.scalar_type();
  return r;
}

template <Op op>
struct Paired {
  static Request request(at::OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype,
                         c10::string_view mode) {
    return {op, dim, keepdim, dtype, mode, 1, std::nullopt, Role::Factor};
  }
  static at::Tensor make(const at::Tensor& self, const at::Tensor& other, at::OptionalIntArrayRef dim, bool keepdim,
                         std::optional<at::ScalarType> dtype, c10::string_view mode) {
    const Request r = request(dim, keepdim, dtype, mode);
    const auto [a, b] = factors(r, self, other);
    return call_of_two(r, a, b);
  }
  static at::Tensor& make_out(const at::Tensor& self, const at::Tensor& other, at::OptionalIntArrayRef dim,
                              bool keepdim, std::optional<at::ScalarType> dtype, c10::string_view mode,
                              at::Tensor& out) {
    const Request r = with_type_of(request(dim, keepdim, dtype, mode), out);
    const auto [a, b] = factors(r, self, other);
    into(r, call_of_two(r, a, b), out);
    return out;
  }
  static void register_in(torch::Library& m) {
    if constexpr (signature_of(op) == Signature::paired) {
      m.impl(name(op), TORCH_FN(make));
      m.impl((std::string(name(op)) + ".out").c_str(), TORCH_FN(make_out));
    }
  }
};

// Whether an integer changes nothing.
bool has_integer_identity(Op op) {
  return with_operator(op, [](auto tag) { return !decltype(tag)::type::masks_missing_integers; });
}

// The mask in the tensor's shape.
at::Tensor call_masked(Request r, at::Tensor self, const at::Tensor& mask) {
  TORCH_CHECK(at::is_expandable_to(mask.sym_sizes(), self.sym_sizes()), "reduce::", name(r), ": where of shape ",
              mask.sym_sizes(), " does not broadcast to the input's, ", self.sym_sizes());
  if (self.is_complex()) {
    return call_complex(r, self, [&](const Request& real, const at::Tensor& view) {
      return call_masked(real, view, mask.unsqueeze(-1));
    });
  }
  if (!has_integer_identity(r.op) && !self.is_floating_point()) {
    if (!r.dtype) r.dtype = c10::get_default_dtype_as_scalartype();
    self = self.to(at::kDouble);  // in which it computes
  }
  const at::Tensor result = call_of_two(r, without_float8(self), mask.expand_symint(self.sym_sizes()));
  return is_float8(self.scalar_type()) && traits_of(r.op).selects ? result.to(self.scalar_type()) : result;
}

template <Op op>
struct WithMask {
  static at::Tensor typed(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                          std::optional<at::ScalarType> dtype, c10::string_view mode, const at::Tensor& where) {
    return call_masked({op, dim, keepdim, dtype, mode, 1, std::nullopt, Role::Mask}, self, where);
  }
  static at::Tensor& typed_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                               std::optional<at::ScalarType> dtype, c10::string_view mode, const at::Tensor& where,
                               at::Tensor& out) {
    const Request r = with_type_of({op, dim, keepdim, dtype, mode, 1, std::nullopt, Role::Mask}, out);
    into(r, call_masked(r, self, where), out);
    return out;
  }
  static at::Tensor plain(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, const at::Tensor& where) {
    return typed(self, dim, keepdim, std::nullopt, "deterministic", where);
  }
  static at::Tensor& plain_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                               const at::Tensor& where, at::Tensor& out) {
    return typed_out(self, dim, keepdim, std::nullopt, "deterministic", where, out);
  }
  static Request spread_of(at::OptionalIntArrayRef dim, bool keepdim, const std::optional<at::Scalar>& correction) {
    Request r = spread_request(op, dim, keepdim, correction);
    r.role = Role::Mask;
    return r;
  }
  static at::Tensor spread(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                           const std::optional<at::Scalar>& correction, const at::Tensor& where) {
    return call_masked(spread_of(dim, keepdim, correction), self, where);
  }
  static at::Tensor& spread_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                                const std::optional<at::Scalar>& correction, const at::Tensor& where, at::Tensor& out) {
    const Request r = spread_of(dim, keepdim, correction);
    into(r, call_masked(r, self, where), out);
    return out;
  }
  static void register_in(torch::Library& m) {
    const std::string make = std::string(name(op)) + ".where", make_out = make + "_out";
    if constexpr (signature_of(op) == Signature::typed) {
      m.impl(make.c_str(), TORCH_FN(typed));
      m.impl(make_out.c_str(), TORCH_FN(typed_out));
    } else if constexpr (signature_of(op) == Signature::spread) {
      m.impl(make.c_str(), TORCH_FN(spread));
      m.impl(make_out.c_str(), TORCH_FN(spread_out));
    } else {
      m.impl(make.c_str(), TORCH_FN(plain));
      m.impl(make_out.c_str(), TORCH_FN(plain_out));
    }
  }
};

// Autocast, as of one tensor (autocast.cpp). What the operator's own list does not name falls through.
template <c10::DispatchKey kKey>
at::Tensor autocast(const at::Tensor& self, const at::Tensor& other, c10::string_view op, at::IntArrayRef dim,
                    bool keepdim, c10::string_view dtype, c10::string_view mode, double correction) {
  const c10::impl::ExcludeDispatchKeyGuard guard(kKey);
  Request r = request_of_two(op, dim, keepdim, dtype, mode, correction);
  if (kKey == c10::DispatchKey::AutocastCUDA) {
    if (widens_on_cuda(r.op) && !r.dtype && at::autocast::is_eligible(self, at::kCUDA) && self.is_floating_point()) {
      r.dtype = at::kFloat;
    }
    return call_of_two(r, self, other);
  }
  return call_of_two(r, widens_on_cpu(r.op) ? at::autocast::cached_cast(at::kFloat, self, at::kCPU) : self, other);
}

void register_composites(torch::Library& m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Paired<Op::Struct>::register_in(m);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_MASKED(Struct) WithMask<Op::Struct>::register_in(m);
#include <torch_reduce/masked.def>
}

}  // namespace

at::Tensor without_float8(const at::Tensor& t) { return is_float8(t.scalar_type()) ? t.to(at::kFloat) : t; }

at::Tensor redispatch_of_two(c10::DispatchKeySet keys, const at::Tensor& self, const at::Tensor& other,
                             c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                             c10::string_view mode, double correction) {
  return handle().redispatch(keys, self, other, op, dim, keepdim, dtype, mode, correction);
}

at::Tensor call_of_two(const Request& r, const at::Tensor& self, const at::Tensor& other) {
  reduced_dims(r, self.dim());  // for its words: dims are named below, where none were
  return handle().call(self, other, name(r), list_of(r.dim, self.dim()), r.keepdim, r.dtype ? name_of(*r.dtype) : "",
                       r.mode, r.correction);
}

Request request_of_two(c10::string_view op, at::IntArrayRef dim, bool keepdim, c10::string_view dtype,
                       c10::string_view mode, double correction) {
  Request r = request_by_name(op, dim, keepdim, dtype, mode, correction, traits_of(parse_op(op)).role);
  r.role = role_of(r);
  return r;
}

Role role_of(const Request& r) {
  const Role role = traits_of(r.op).role;
  TORCH_CHECK_VALUE(!r.scan && (role != Role::None || takes_mask(r.op)), "reduce::", name(r), " takes no mask");
  return role == Role::None ? Role::Mask : role;
}

Checked check_two(const Request& r, const at::Tensor& self, const at::Tensor& other) {
  TORCH_CHECK(other.device() == self.device(), "reduce::", name(r), ": both tensors must be on one device, but got ",
              self.device(), " and ", other.device());
  const auto type = r.role == Role::Mask ? at::kBool : self.scalar_type();
  TORCH_CHECK(other.scalar_type() == type, "reduce::", name(r), ": ",
              r.role == Role::Mask ? "where must have the dtype " : "both tensors must have one dtype, ", type,
              ", but has ", other.scalar_type());
  TORCH_CHECK(other.layout() == at::kStrided && !other.is_nested(), "reduce::", name(r),
              ": both tensors must be strided");
  TORCH_CHECK(other.sym_sizes() == self.sym_sizes(), "reduce::", name(r),
              ": both tensors must have one shape, but got ", self.sym_sizes(), " and ", other.sym_sizes());
  return check(r, self);
}

at::Tensor counts_of(const Request& r, const at::Tensor& mask) {
  return call({kAddition, r.dim, r.keepdim, at::kLong}, mask);
}

TORCH_REDUCE_COMPOSITES(register_composites)

TORCH_LIBRARY_IMPL(reduce, AutocastCUDA, m) { m.impl("_of_two", TORCH_FN(autocast<c10::DispatchKey::AutocastCUDA>)); }
TORCH_LIBRARY_IMPL(reduce, AutocastCPU, m) { m.impl("_of_two", TORCH_FN(autocast<c10::DispatchKey::AutocastCPU>)); }

}  // namespace torch_reduce
