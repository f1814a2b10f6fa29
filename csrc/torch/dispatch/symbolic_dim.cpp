// A dim that is a symbolic integer, as in a function that is compiled for dynamic shapes. torch takes one within a list
// but not in place of it, so it has an overload. Its value becomes a constant of the program, as in torch.sum.
#include <ATen/core/dispatch/Dispatcher.h>

#include "composites.h"
#include "register.h"

namespace torch_reduce {
namespace {

int64_t known(const c10::SymInt& dim) { return dim.guard_int(__FILE__, __LINE__); }

template <Op op>
struct SymbolicDim {
  static at::Tensor typed(const at::Tensor& self, c10::SymInt dim, bool keepdim, std::optional<at::ScalarType> dtype,
                          c10::string_view mode) {
    const int64_t d = known(dim);
    return call({op, at::IntArrayRef(d), keepdim, dtype, mode}, self);
  }
  static at::Tensor plain(const at::Tensor& self, c10::SymInt dim, bool keepdim) {
    return typed(self, std::move(dim), keepdim, std::nullopt, "");
  }
  static at::Tensor spread(const at::Tensor& self, c10::SymInt dim, bool keepdim,
                           const std::optional<at::Scalar>& correction) {
    const int64_t d = known(dim);
    return call(spread_request(op, at::IntArrayRef(d), keepdim, correction), self);
  }
  static std::tuple<at::Tensor, at::Tensor> plain_pair(const at::Tensor& self, c10::SymInt dim, bool keepdim) {
    const int64_t d = known(dim);
    return call_pair({op, at::IntArrayRef(d), keepdim, std::nullopt}, self);
  }
  static std::tuple<at::Tensor, at::Tensor> spread_pair(const at::Tensor& self, c10::SymInt dim, bool keepdim,
                                                        const std::optional<at::Scalar>& correction) {
    const int64_t d = known(dim);
    return call_pair(spread_request(op, at::IntArrayRef(d), keepdim, correction), self);
  }

  static at::Tensor of_order(const at::Tensor& self, c10::SymInt dim, bool keepdim, const at::Scalar& ord,
                             std::optional<at::ScalarType> dtype, c10::string_view mode) {
    const int64_t d = known(dim);
    return call(norm_request(at::IntArrayRef(d), keepdim, ord, dtype, mode), self);
  }

  static void register_in(torch::Library& m) {
    const std::string overload = name_of_kernels(op) + ".dim";
    if constexpr (signature_of(op) == Signature::of_order) {
      m.impl(overload.c_str(), TORCH_FN(of_order));
    } else if constexpr (signature_of(op) == Signature::typed) {
      m.impl(overload.c_str(), TORCH_FN(typed));
    } else if constexpr (signature_of(op) == Signature::paired) {  // has none
    } else if constexpr (signature_of(op) == Signature::spread) {
      m.impl(overload.c_str(), TORCH_FN(spread));
    } else {
      m.impl(overload.c_str(), TORCH_FN(plain));
    }
    const std::string of_pair = std::string(name(op)) + ".dim";
    if constexpr (is_pair(op) && signature_of(op) == Signature::spread) {
      m.impl(of_pair.c_str(), TORCH_FN(spread_pair));
    } else if constexpr (is_pair(op)) {
      m.impl(of_pair.c_str(), TORCH_FN(plain_pair));
    }
  }
};

at::Tensor accumulate(const at::Tensor& self, c10::SymInt dim, bool keepdim) {
  const int64_t d = known(dim);
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("reduce::exact_accumulate", "").typed<Plain>();
  return op.call(self, at::IntArrayRef(d), keepdim);
}

void register_composites(torch::Library& m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) SymbolicDim<Op::Struct>::register_in(m);
#include <torch_reduce/operators.def>
  m.impl("exact_accumulate.dim", TORCH_FN(accumulate));
}

}  // namespace

TORCH_REDUCE_COMPOSITES(register_composites)

}  // namespace torch_reduce
