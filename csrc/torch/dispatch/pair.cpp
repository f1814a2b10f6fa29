// Operators of two results. Kernels, and whatever else is registered for an operator, give them as one tensor, whose
// last dim holds both: reduce::_var_mean. A caller gets the two as views. A scan's are of two types: two scans.
#include <ATen/FunctionalTensorWrapper.h>
#include <torch/library.h>

#include "call.h"
#include "composites.h"

namespace torch_reduce {
namespace {

using Pair = std::tuple<at::Tensor, at::Tensor>;
using PairOut = std::tuple<at::Tensor&, at::Tensor&>;

// Nothing is written unless both are taken.
PairOut into(const Request& r, const at::Tensor& self, at::Tensor& first, at::Tensor& second) {
  TORCH_CHECK(!first.is_alias_of(second), "reduce::", name(r), ": both of out share memory");
  const auto [one, other] = call_pair(r, self);
  check_takes(name(r), one, first);
  check_takes(name(r), other, second);
  write_to(first, one);
  write_to(second, other);
  return {first, second};
}

template <Op op>
struct TwoResults {
  static Pair spread(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                     const std::optional<at::Scalar>& correction) {
    return call_pair(spread_request(op, dim, keepdim, correction), self);
  }
  static PairOut spread_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                            const std::optional<at::Scalar>& correction, at::Tensor& first, at::Tensor& second) {
    return into(spread_request(op, dim, keepdim, correction), self, first, second);
  }
  static Pair plain(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim) {
    return call_pair({op, dim, keepdim, std::nullopt}, self);
  }
  static PairOut plain_out(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, at::Tensor& first,
                           at::Tensor& second) {
    return into({op, dim, keepdim, std::nullopt}, self, first, second);
  }

  static void register_in(torch::Library& m) {
    const std::string out = std::string(name(op)) + ".out";
    if constexpr (is_pair(op) && signature_of(op) == Signature::spread) {
      m.impl(name(op), TORCH_FN(spread));
      m.impl(out.c_str(), TORCH_FN(spread_out));
    } else if constexpr (is_pair(op)) {
      m.impl(name(op), TORCH_FN(plain));
      m.impl(out.c_str(), TORCH_FN(plain_out));
    }
  }
};

template <Scan scan>
struct IndexedScan {
  static Pair make(const at::Tensor& self, int64_t dim) { return call_pair(scan_request(scan, dim, {}), self); }

  static PairOut into(const at::Tensor& self, int64_t dim, at::Tensor& values, at::Tensor& indices) {
    const Request r = scan_request(scan, dim, {});
    refuse(r, self, values);
    refuse(request_of_indices(r), self, indices);
    TORCH_CHECK(!values.is_alias_of(indices), "reduce::", name(scan), ": values and indices share memory");
    call_pair(r, self, values, indices);
    return {values, indices};
  }

  static void functional_and_out(torch::Library& m) {
    m.impl(name(scan), TORCH_FN(make));
    m.impl((std::string(name(scan)) + ".out").c_str(), TORCH_FN(into));
  }

 private:
  // Before the other is written to. Tensors of a tracer have no memory.
  static void refuse(const Request& r, const at::Tensor& self, const at::Tensor& out) {
    const Checked checked = check(r, self, out.scalar_type());
    const bool resizes = check_out(r, checked, self, result_sizes(r, checked, self.sym_sizes()), out);
    if (has_memory(self) && has_memory(out)) check_no_overlap(r, self, out, resizes);
  }
  static bool has_memory(const at::Tensor& t) {
    return !t.is_meta() && !t.unsafeGetTensorImpl()->is_python_dispatch() &&
           !at::functionalization::impl::isFunctionalTensor(t);
  }
};

template <Scan scan>
void register_scan(torch::Library& m) {
  if constexpr (is_pair(scan)) IndexedScan<scan>::functional_and_out(m);
}

void register_composites(torch::Library& m) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) TwoResults<Op::Struct>::register_in(m);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_SCAN(Struct, name, signature) register_scan<Scan::name>(m);
#include <torch_reduce/scans.def>
}

}  // namespace

TORCH_REDUCE_COMPOSITES(register_composites)

}  // namespace torch_reduce
