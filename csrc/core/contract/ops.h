// The operators by number: names, signatures, traits, structs.
#pragma once

#include "core/contract/operators.h"
#include "core/contract/partner.h"

namespace torch_reduce {

enum class Op : uint8_t {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Struct,
#include <torch_reduce/operators.def>
};

// What an operator takes beside the tensor, dim and keepdim: dtype and mode, or nothing, or a correction, or an order
// and dtype and mode; or a second tensor, dtype and mode.
enum class Signature : uint8_t { typed, plain, spread, of_order, paired };
constexpr bool takes_dtype(Signature s) {
  return s == Signature::typed || s == Signature::of_order || s == Signature::paired;
}

// The same, and whether it has two results.
struct Form {
  Signature takes;
  bool is_pair;
};
namespace forms {
constexpr Form typed{Signature::typed, false}, plain{Signature::plain, false}, spread{Signature::spread, false},
    spread_pair{Signature::spread, true}, plain_pair{Signature::plain, true}, of_order{Signature::of_order, false},
    paired{Signature::paired, false};
}
constexpr Form form_of(Op op) {
  constexpr Form all[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) forms::signature,
#include <torch_reduce/operators.def>
  };
  return all[static_cast<int>(op)];
}
constexpr Signature signature_of(Op op) { return form_of(op).takes; }
constexpr bool is_pair(Op op) { return form_of(op).is_pair; }

constexpr int kOps = 0
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) +1
#include <torch_reduce/operators.def>
    ;

inline const char* name(Op op) {
  constexpr const char* names[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) #name,
#include <torch_reduce/operators.def>
  };
  return names[static_cast<int>(op)];
}

// The traits of an operator that is known at run time.
struct TraitsOf {
  int words, words_of_integers, words_of_endless;  // of an accumulator, by the kind of the compute type
  bool lifts, lifts_integers, fits_vectors, fits_vectors_of_doubles, needs_index, adds, multiplies, selects, tests,
      mirrored, refuses_integers, skips_nan, counts, may_take_magnitudes, takes_magnitudes, has_order,
      outgrows_integers, computes_wider, has_wider_kernels, has_few_kernels, has_exact, sums_in_128_bits;
  Gives gives;
  Ending ending;
  Role role;
  bool squares;

  constexpr TR_HD bool divides() const { return ending == Ending::Quotient; }
  // A result may be wider than the elements.
  constexpr TR_HD bool widens() const { return gives == Gives::Chosen || gives == Gives::Floating; }
};
template <class O>
constexpr TR_HD TraitsOf traits_of() {
  constexpr int words = words_of<accumulator_of<O, float>>;
  static_assert(words == words_of<accumulator_of<O, double>> && words <= 4,
                "as many words of every floating type, four at most");
  int words_of_endless = words;
  if constexpr (O::has_wider_kernels) words_of_endless = words_of<accumulator_of<O, Endless>>;
  return {words,
          words_of<accumulator_of<O, int64_t>>,
          words_of_endless,
          O::lifts,
          O::lifts_integers,
          fits_vectors<O, float>,
          fits_vectors<O, double>,
          O::needs_index,
          O::adds,
          O::multiplies,
          O::selects,
          O::tests,
          O::mirrored,
          O::refuses_integers,
          O::skips_nan,
          O::counts,
          O::may_take_magnitudes,
          O::takes_magnitudes,
          O::has_order,
          O::outgrows_integers,
          O::computes_wider,
          O::has_wider_kernels,
          O::has_few_kernels,
          O::has_exact,
          sums_in_128_bits<O>,
          O::gives,
          O::ending,
          O::role,
          O::squares};
}
constexpr TR_HD TraitsOf traits_of(Op op) {
  constexpr TraitsOf traits[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) traits_of<Struct>(),
#include <torch_reduce/operators.def>
  };
  return traits[static_cast<int>(op)];
}

// Bytes of what is combined, and whether that is one word.
constexpr TR_HD int64_t accumulator_bytes(const TraitsOf& op, DType compute) {
  const int words = compute == DType::Endless ? op.words_of_endless
                    : is_floating(compute)    ? op.words
                                              : op.words_of_integers;
  return words * static_cast<int64_t>(size_of(compute));
}
constexpr TR_HD bool has_scalars(const TraitsOf& op, DType compute) {
  return accumulator_bytes(op, compute) == static_cast<int64_t>(size_of(compute));
}

// Those of the operator whose kernels the GPU runs for it, beside what a second tensor is: which of them exist is a
// matter of these.
constexpr TR_HD TraitsOf traits_of_kernels(Op op, Role role) {
  constexpr TraitsOf traits[][2] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) {traits_of<Kernels>(), traits_of<Masked<Kernels>>()},
#include <torch_reduce/operators.def>
  };
  return role == Role::NormalFactor ? traits_of<NormalDot>() : traits[static_cast<int>(op)][role == Role::Mask];
}

// The operators that take a mask, and whether a result needs to know how many elements count.
template <class O>
constexpr bool has_mask = false;
#define TORCH_REDUCE_MASKED(Struct) \
  template <>                       \
  constexpr bool has_mask<Struct> = true;
#include <torch_reduce/masked.def>
constexpr bool takes_mask(Op op) {
  constexpr bool takes[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) has_mask<Struct>,
#include <torch_reduce/operators.def>
  };
  return takes[static_cast<int>(op)];
}
constexpr bool widens_on_cuda(Op op) {
  constexpr bool widens[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Struct::widens_on_cuda,
#include <torch_reduce/operators.def>
  };
  return widens[static_cast<int>(op)];
}
constexpr bool widens_on_cpu(Op op) {
  constexpr bool widens[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) Struct::widens_on_cpu,
#include <torch_reduce/operators.def>
  };
  return widens[static_cast<int>(op)];
}
constexpr bool divides_by_count(Op op) {
  constexpr bool divides[] = {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  Struct::has_correction || Struct::ending == Ending::Quotient,
#include <torch_reduce/operators.def>
  };
  return divides[static_cast<int>(op)];
}

// What adds products that are made already, and counts.
constexpr Op kAddition = Op::Sum;

// What a superaccumulator holds.
constexpr Op kAccumulated = Op::Sum;
using Accumulated = Sum;

template <class O>
struct OperatorTag {
  using type = O;
};
// Whose kernels do an operator's work.
template <class O>
struct KernelsOf;
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  template <>                                                   \
  struct KernelsOf<Struct> {                                    \
    using type = Kernels;                                       \
  };
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels)                                                       \
  static_assert(std::is_same<Struct, Kernels>::value || Struct::tests || Struct::mirrored ||                          \
                    Struct::ending != Ending::Own || Struct::takes_magnitudes || is_pair(Op::Struct),                 \
                "kernels are another operator's where reading, ending, mirror or a second result is the difference"); \
  static_assert(!is_pair(Op::Struct) || Kernels::has_second, "these kernels make one result");
#include <torch_reduce/operators.def>
template <class O>
using gpu_kernels = typename KernelsOf<O>::type;
// The CPU's, which do not mirror, know what elements are lifted to. Products are made before (cpu/partner).
template <class O>
using cpu_kernels = std::conditional_t<O::role == Role::Factor, Sum,
                                       std::conditional_t<O::mirrored && !O::needs_index, O, gpu_kernels<O>>>;

// Calls f with the tag of an operator's struct.
template <class F>
TR_HD auto with_operator(Op op, F f) {
  switch (op) {
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) \
  case Op::Struct:                                              \
    return f(OperatorTag<Struct>{});
#include <torch_reduce/operators.def>
  }
  return f(OperatorTag<Sum>{});
}

// The norm of an order.
inline Op norm_of(double order) {
  if (order == 2) return Op::Norm2;
  if (order == 1) return Op::Norm1;
  if (order == 0) return Op::Norm0;
  if (order >= kInfiniteOrder) return Op::NormInf;
  return order <= -kInfiniteOrder ? Op::NormMinusInf : Op::NormOfOrder;
}

// The operator that does the work where elements are integers.
inline Op of_integers(Op op) { return traits_of(op).skips_nan ? Op::Sum : op; }

inline bool is_order_free(Op op, DType compute) { return traits_of(op).selects || !is_floating(compute); }

// The type in which `op` accumulates elements of type `in` for a result of type `out`: fp32 for fp16, bf16 and
// fp32, fp64 where either side is fp64, int64 for integers and for every integer or bool result. With a floating
// result, sums of 64-bit integers accumulate in int128; a product of integers leaves int64 soon, and so is in fp64. A
// few operators compute one step wider, and powers of a large order two steps. `order` is that of operators that have
// one.
inline DType compute_type(Op op, DType in, DType out, double order) {
  if (traits_of(op).selects) return !is_floating(in) ? DType::Int64 : in == DType::Float64 ? in : DType::Float32;
  if (!is_floating(out) || traits_of(op).tests) return DType::Int64;
  if (!is_floating(in)) {
    const bool is_wide = traits_of(op).sums_in_128_bits && size_of(in) == 8;
    return traits_of(op).outgrows_integers ? DType::Float64 : is_wide ? DType::Int128 : DType::Int64;
  }
  if (traits_of(op).computes_wider) {
    const bool leaves_fp64 = traits_of(op).has_order && !has_plain_powers(order);
    return in == DType::Float64 || leaves_fp64 ? DType::Endless : DType::Float64;
  }
  return in == DType::Float64 || out == DType::Float64 ? DType::Float64 : DType::Float32;
}

}  // namespace torch_reduce
