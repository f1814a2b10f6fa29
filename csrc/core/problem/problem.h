// One reduction or scan, described: everything that a plan may look at. No pointers.
#pragma once

#include <optional>

#include "core/contract/ops.h"
#include "core/contract/types.h"
#include "core/problem/layout.h"
#include "core/problem/partner.h"

namespace torch_reduce {

enum class Mode : uint8_t { Atomic, Deterministic, Exact };

inline const char* name(Mode mode) {
  constexpr const char* names[] = {"atomic", "deterministic", "exact"};
  return names[static_cast<int>(mode)];
}

struct Problem {
  Op op;
  Mode mode;
  DType in, out, compute;
  bool tested;        // elements convert to bool first: operators of bools, and bool results of another type of input
  int in_alignment;   // the largest power of two up to 16 that divides the input's address, in bytes
  double correction;  // taken off the number of elements, for the degrees of freedom; or the order of a norm
  int64_t second;     // elements of the output from a first result to the second one; 0: there is one
  // Of a scan, whose results are those of every element and all before it along the one reduced dim: elements of the
  // output from one such result to the next.
  std::optional<int64_t> scan_stride;
  Layout layout;
  Partner partner;
};

inline bool is_of_two(const Problem& p) { return p.partner.role != Role::None; }
inline bool is_masked(const Problem& p) { return p.partner.role == Role::Mask; }
// Whether outputs have counts of their own.
inline bool divides_by_counts(const Problem& p) { return is_masked(p) && divides_by_count(p.op); }

// Of an output with n elements.
TR_HD Count counted(int64_t n, double correction) {
  const double degrees = static_cast<double>(n) - correction;
  return {n, degrees < 0 ? 0 : degrees};
}
TR_HD Count count_of_elements(const Problem& p) {
  return traits_of(p.op).has_order ? Count{p.layout.n, p.correction} : counted(p.layout.n, p.correction);
}

// Of a scan: elements of the input along the reduced dim.
inline int64_t scanned_stride(const Problem& p) { return p.layout.reduced_dims > 0 ? p.layout.reduced[0].stride : 0; }

// Whether there is nothing to write.
inline bool is_empty(const Problem& p) { return p.layout.outputs == 0 || (p.scan_stride && p.layout.n == 0); }

// Bytes of what the operator combines.
inline int64_t accumulator_bytes(const Problem& p) { return accumulator_bytes(traits_of(p.op), p.compute); }

// Whether superaccumulators do the work. Sums of integers are exact in every mode.
inline bool is_accumulated(Mode mode, DType in, DType compute) {
  return mode == Mode::Exact && is_floating(in) && is_floating(compute);
}
inline bool is_accumulated(const Problem& p) { return is_accumulated(p.mode, p.in, p.compute); }

// Whether products are added up: those of two tensors, or of a tensor and itself.
inline bool multiplies(const Problem& p) { return multiplies(p.partner.role) || traits_of(p.op).squares; }
// Whether they are wider than fp64, which has those of elements of up to 32 bits without an error.
inline bool has_wide_products(const Problem& p) { return multiplies(p) && p.in == DType::Float64; }
// The type of the numbers that a superaccumulator adds up, where that has them.
inline DType accumulated_type(const Problem& p) { return multiplies(p) ? DType::Float64 : p.in; }
// The loop nest over the second factors.
inline Layout layout_of_factors(const Problem& p) { return is_of_two(p) ? layout_of(p.partner, p.layout) : p.layout; }

}  // namespace torch_reduce
