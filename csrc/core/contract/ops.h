// The operators. Each is one struct: identity, combine, finish. Kernels know nothing else of them.
#pragma once

#include <limits>
#include <type_traits>

#include "core/contract/numeric.h"

namespace torch_reduce {

enum class Op : uint8_t { Sum, Mean, Prod, Max, Min };

inline const char* name(Op op) {
  constexpr const char* names[] = {"sum", "mean", "prod", "amax", "amin"};
  return names[static_cast<int>(op)];
}

// NaN wins and +0 > -0, so the result is one of a set that has a total order: the order of combining is free.
// Written as selects so that loops over it vectorise.
template <class Acc, bool Largest>
TR_HD Acc extreme(Acc a, Acc b) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same<Acc, float>::value) {  // one instruction with these very rules
    float m;
    if constexpr (Largest) {
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    } else {
      asm("min.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
    }
    return m;
  }
#endif
  const Acc r = (Largest ? a > b : a < b) ? a : b;
  if constexpr (std::is_floating_point<Acc>::value) {
    using Bits = std::conditional_t<sizeof(Acc) == 4, uint32_t, uint64_t>;
    // The other way round, which is one instruction too, gives the same but for zeros of both signs and for NaN.
    const Acc s = (Largest ? b > a : b < a) ? b : a;
    const Bits x = bit_cast<Bits>(r), y = bit_cast<Bits>(s);
#if defined(__CUDA_ARCH__)
    const bool unordered = a != a || b != b;
#else
    const bool unordered = __builtin_isunordered(a, b);  // one comparison, where GCC makes two of the other
#endif
    return bit_cast<Acc>((Largest ? x & y : x | y) | (unordered ? ~Bits(0) : Bits(0)));
  }
  return r;
}

struct Sum {
  // -0.0 and not +0.0: x + -0.0 is x for every x, so a missing element changes no bit.
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? Acc(-0.0) : Acc(0);
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (std::is_integral<Acc>::value) {  // wraps around, as torch's integer sum does
      return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    } else {
      return a + b;
    }
  }
  // Adding +0 makes a zero sum +0, as torch's is.
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a + Acc(0);
  }
};

// Shares every kernel with Sum: only the finish differs. An integer sum is divided in fp64.
struct Mean : Sum {
  template <class Acc>
  static TR_HD auto finish(Acc a, int64_t n) {
    using Quotient = std::conditional_t<std::is_same<Acc, float>::value, float, double>;
    return (static_cast<Quotient>(a) + Quotient(0)) / static_cast<Quotient>(n);
  }
};

struct Prod {
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return Acc(1);
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    if constexpr (std::is_integral<Acc>::value) {
      return static_cast<Acc>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
};

struct Max {
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? -std::numeric_limits<Acc>::infinity()
                                              : std::numeric_limits<Acc>::lowest();
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    return extreme<Acc, true>(a, b);
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
};

struct Min {
  template <class Acc>
  static constexpr TR_HD Acc identity() {
    return std::is_floating_point<Acc>::value ? std::numeric_limits<Acc>::infinity() : std::numeric_limits<Acc>::max();
  }
  template <class Acc>
  static TR_HD Acc combine(Acc a, Acc b) {
    return extreme<Acc, false>(a, b);
  }
  template <class Acc>
  static TR_HD Acc finish(Acc a, int64_t) {
    return a;
  }
};

// Whether any order of combining gives the same bits.
template <class O, class Acc>
constexpr bool order_free = std::is_integral<Acc>::value || std::is_same<O, Max>::value || std::is_same<O, Min>::value;

inline bool is_order_free(Op op, DType compute) { return op == Op::Max || op == Op::Min || !is_floating(compute); }

// The type in which `op` accumulates elements of type `in` for a result of type `out`: fp32 for fp16, bf16 and
// fp32, fp64 where either side is fp64, int64 for integers and for every integer or bool result. A product of
// integers with a floating result leaves int64 soon, so it accumulates in fp64.
inline DType compute_type(Op op, DType in, DType out) {
  if (op == Op::Max || op == Op::Min)
    return !is_floating(in) ? DType::Int64 : in == DType::Float64 ? in : DType::Float32;
  if (!is_floating(out)) return DType::Int64;
  if (!is_floating(in)) return op == Op::Prod ? DType::Float64 : DType::Int64;
  return in == DType::Float64 || out == DType::Float64 ? DType::Float64 : DType::Float32;
}

}  // namespace torch_reduce
