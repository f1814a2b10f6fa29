// The operators of torch_reduce for C++.
//
//   find_package(TorchReduce REQUIRED)
//   target_link_libraries(app TorchReduce::torch_reduce)
//
// Each function calls the operator that Python knows as torch.ops.reduce.<name>, through torch's dispatcher: on the
// CPU and on CUDA, differentiable, under vmap and autocast. What is wrong with the arguments is thrown as c10::Error
// or the class derived from it that torch::sum would throw: IndexError, ValueError, NotImplementedError.
//
// Call them qualified: after `using namespace torch_reduce`, sum(x) is ambiguous with at::sum.
#ifndef TORCH_REDUCE_REDUCE_H_  // not #pragma once: that warns where a header is compiled alone
#define TORCH_REDUCE_REDUCE_H_

#include <ATen/core/Scalar.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>
#include <tuple>
#include <type_traits>

namespace torch_reduce {

// Whether the operators are registered, which they are from the loading of the library on. Everything below calls
// this: the one symbol that a program needs of the library, so that a linker which drops what nobody refers to
// (--as-needed, the default of some distributions) keeps it.
__attribute__((visibility("default"))) bool registered();

// The promise about a result's bits.
//   atomic         the usual error bound; bits may differ between runs on CUDA
//   deterministic  the bits depend only on the values reduced, in their order, and on the compute type
//   exact          the real-number sum, mean, sum of squares or dot product, rounded once
enum class Mode { atomic, deterministic, exact };

struct Options {
  std::optional<at::ScalarType> dtype = std::nullopt;  // of the result; by default the input's, int64 for integers
  Mode mode = Mode::deterministic;
};

namespace detail {

using Typed = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                         c10::string_view);
using Paired = at::Tensor(const at::Tensor&, const at::Tensor&, at::OptionalIntArrayRef, bool,
                          std::optional<at::ScalarType>, c10::string_view);
using TypedWhere = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, std::optional<at::ScalarType>,
                              c10::string_view, const at::Tensor&);
using PlainWhere = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const at::Tensor&);
using SpreadWhere = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const std::optional<at::Scalar>&,
                               const at::Tensor&);
using Plain = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool);
using Spread = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const std::optional<at::Scalar>&);
using SpreadPair = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, at::OptionalIntArrayRef, bool,
                                                      const std::optional<at::Scalar>&);
using PlainPair = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, at::OptionalIntArrayRef, bool);

using OfOrder = at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool, const at::Scalar&,
                           std::optional<at::ScalarType>, c10::string_view);

template <class Signature>
c10::TypedOperatorHandle<Signature> find(const char* name, const char* overload = "") {
  TORCH_CHECK(registered(), "libtorch_reduce is linked, but has not registered its operators");
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).typed<Signature>();
}

// Which operators take a mask, by their structs.
template <class Struct>
inline constexpr bool takes_mask = false;
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) struct Struct;
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_MASKED(Struct) \
  template <>                       \
  inline constexpr bool takes_mask<Struct> = true;
#include <torch_reduce/masked.def>

template <class Struct>
using IfMasked = std::enable_if_t<takes_mask<Struct>, int>;

inline const char* mode_name(Mode mode) {
  switch (mode) {
    case Mode::atomic:
      return "atomic";
    case Mode::deterministic:
      return "deterministic";
    case Mode::exact:
      return "exact";
  }
  TORCH_CHECK_VALUE(false, "torch_reduce: unknown Mode(", static_cast<int>(mode),
                    "); the modes are Mode::atomic, Mode::deterministic and Mode::exact");
}

}  // namespace detail

// The operators, one function each, with what torch_reduce/operators.def says of it.
#define TORCH_REDUCE_FUNCTION_typed(name)                                                                          \
  inline at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false, \
                         const Options& options = {}) {                                                            \
    static const auto op = detail::find<detail::Typed>("reduce::" #name);                                          \
    return op.call(self, dim, keepdim, options.dtype, detail::mode_name(options.mode));                            \
  }
#define TORCH_REDUCE_FUNCTION_plain(name)                                                                            \
  inline at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false) { \
    static const auto op = detail::find<detail::Plain>("reduce::" #name);                                            \
    return op.call(self, dim, keepdim);                                                                              \
  }
#define TORCH_REDUCE_FUNCTION_spread(name)                                                                         \
  inline at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false, \
                         const at::Scalar& correction = 1) {                                                       \
    static const auto op = detail::find<detail::Spread>("reduce::" #name);                                         \
    return op.call(self, dim, keepdim, correction);                                                                \
  }
#define TORCH_REDUCE_FUNCTION_spread_pair(name)                                                                      \
  inline std::tuple<at::Tensor, at::Tensor> name(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt, \
                                                 bool keepdim = false, const at::Scalar& correction = 1) {           \
    static const auto op = detail::find<detail::SpreadPair>("reduce::" #name);                                       \
    return op.call(self, dim, keepdim, correction);                                                                  \
  }
#define TORCH_REDUCE_FUNCTION_paired(name)                                                                            \
  inline at::Tensor name(const at::Tensor& self, const at::Tensor& other, at::OptionalIntArrayRef dim = std::nullopt, \
                         bool keepdim = false, const Options& options = {}) {                                         \
    static const auto op = detail::find<detail::Paired>("reduce::" #name);                                            \
    return op.call(self, other, dim, keepdim, options.dtype, detail::mode_name(options.mode));                        \
  }
#define TORCH_REDUCE_FUNCTION_plain_pair(name)                                                                       \
  inline std::tuple<at::Tensor, at::Tensor> name(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt, \
                                                 bool keepdim = false) {                                             \
    static const auto op = detail::find<detail::PlainPair>("reduce::" #name);                                        \
    return op.call(self, dim, keepdim);                                                                              \
  }
#define TORCH_REDUCE_FUNCTION_of_order(name)                                                 \
  inline at::Tensor name(const at::Tensor& self, const at::Scalar& ord = 2,                  \
                         at::OptionalIntArrayRef dim = std::nullopt, bool keepdim = false,   \
                         const Options& options = {}) {                                      \
    static const auto op = detail::find<detail::OfOrder>("reduce::" #name);                  \
    return op.call(self, dim, keepdim, ord, options.dtype, detail::mode_name(options.mode)); \
  }
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) TORCH_REDUCE_FUNCTION_##signature(name)
#include <torch_reduce/operators.def>
#undef TORCH_REDUCE_FUNCTION_typed
#undef TORCH_REDUCE_FUNCTION_plain
#undef TORCH_REDUCE_FUNCTION_spread
#undef TORCH_REDUCE_FUNCTION_spread_pair
#undef TORCH_REDUCE_FUNCTION_paired
#undef TORCH_REDUCE_FUNCTION_plain_pair
#undef TORCH_REDUCE_FUNCTION_of_order

// The same with a mask, of those in torch_reduce/masked.def: elements where the bool tensor `where`, which broadcasts
// to `self`, is false do not count.
#define TORCH_REDUCE_WHERE_typed(Struct, name)                                                               \
  template <class Of = detail::Struct, detail::IfMasked<Of> = 0>                                             \
  at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, const Options& options, \
                  const at::Tensor& where) {                                                                 \
    static const auto op = detail::find<detail::TypedWhere>("reduce::" #name, "where");                      \
    return op.call(self, dim, keepdim, options.dtype, detail::mode_name(options.mode), where);               \
  }
#define TORCH_REDUCE_WHERE_plain(Struct, name)                                                                  \
  template <class Of = detail::Struct, detail::IfMasked<Of> = 0>                                                \
  at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, const at::Tensor& where) { \
    static const auto op = detail::find<detail::PlainWhere>("reduce::" #name, "where");                         \
    return op.call(self, dim, keepdim, where);                                                                  \
  }
#define TORCH_REDUCE_WHERE_spread(Struct, name)                                                                    \
  template <class Of = detail::Struct, detail::IfMasked<Of> = 0>                                                   \
  at::Tensor name(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim, const at::Scalar& correction, \
                  const at::Tensor& where) {                                                                       \
    static const auto op = detail::find<detail::SpreadWhere>("reduce::" #name, "where");                           \
    return op.call(self, dim, keepdim, correction, where);                                                         \
  }
#define TORCH_REDUCE_WHERE_spread_pair(Struct, name)
#define TORCH_REDUCE_WHERE_paired(Struct, name)
#define TORCH_REDUCE_WHERE_plain_pair(Struct, name)
#define TORCH_REDUCE_WHERE_of_order(Struct, name)
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) TORCH_REDUCE_WHERE_##signature(Struct, name)
#include <torch_reduce/operators.def>
#undef TORCH_REDUCE_WHERE_typed
#undef TORCH_REDUCE_WHERE_plain
#undef TORCH_REDUCE_WHERE_spread
#undef TORCH_REDUCE_WHERE_spread_pair
#undef TORCH_REDUCE_WHERE_paired
#undef TORCH_REDUCE_WHERE_plain_pair
#undef TORCH_REDUCE_WHERE_of_order

// The scans along a dim, with what torch_reduce/scans.def says of each. A result has the bits of the reduction of the
// elements up to its own.
#define TORCH_REDUCE_SCAN_typed(name)                                                                               \
  inline at::Tensor name(const at::Tensor& self, int64_t dim, std::optional<at::ScalarType> dtype = std::nullopt) { \
    static const auto op =                                                                                          \
        detail::find<at::Tensor(const at::Tensor&, int64_t, std::optional<at::ScalarType>)>("reduce::" #name);      \
    return op.call(self, dim, dtype);                                                                               \
  }
#define TORCH_REDUCE_SCAN_plain(name)                                                              \
  inline at::Tensor name(const at::Tensor& self, int64_t dim) {                                    \
    static const auto op = detail::find<at::Tensor(const at::Tensor&, int64_t)>("reduce::" #name); \
    return op.call(self, dim);                                                                     \
  }
#define TORCH_REDUCE_SCAN_plain_pair(name)                                                              \
  inline std::tuple<at::Tensor, at::Tensor> name(const at::Tensor& self, int64_t dim) {                 \
    static const auto op =                                                                              \
        detail::find<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, int64_t)>("reduce::" #name); \
    return op.call(self, dim);                                                                          \
  }
#define TORCH_REDUCE_SCAN(Struct, name, signature) TORCH_REDUCE_SCAN_##signature(name)
#include <torch_reduce/scans.def>
#undef TORCH_REDUCE_SCAN_typed
#undef TORCH_REDUCE_SCAN_plain
#undef TORCH_REDUCE_SCAN_plain_pair

// The exact sum over `dim` as a superaccumulator: int64, its words in one more dim. Adding accumulators merges them.
inline at::Tensor exact_accumulate(const at::Tensor& self, at::OptionalIntArrayRef dim = std::nullopt,
                                   bool keepdim = false) {
  static const auto op =
      detail::find<at::Tensor(const at::Tensor&, at::OptionalIntArrayRef, bool)>("reduce::exact_accumulate");
  return op.call(self, dim, keepdim);
}

// The value of each accumulator over `divisor`, rounded once to the floating type `dtype`.
inline at::Tensor exact_round(const at::Tensor& acc, at::ScalarType dtype, const c10::SymInt& divisor = 1) {
  static const auto op =
      detail::find<at::Tensor(const at::Tensor&, at::ScalarType, c10::SymInt)>("reduce::exact_round");
  return op.call(acc, dtype, divisor);
}

// The same values in normalised words, which have room for 2^20 additions.
inline at::Tensor exact_normalize(const at::Tensor& acc) {
  static const auto op = detail::find<at::Tensor(const at::Tensor&)>("reduce::exact_normalize");
  return op.call(acc);
}

}  // namespace torch_reduce

#endif  // TORCH_REDUCE_REDUCE_H_
