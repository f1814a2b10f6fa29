#include "core/problem/build_problem.h"

namespace torch_reduce {

int alignment_of(uintptr_t address) {
  int alignment = 16;
  while (address % static_cast<uintptr_t>(alignment) != 0) alignment /= 2;
  return alignment;
}

Problem build_problem(const Description& d) {
  const DType compute = compute_type(d.op, d.in, d.out);
  const bool as_bool = !traits_of(d.op).selects && d.out == DType::Bool && d.in != DType::Bool;
  const bool free = (is_order_free(d.op, compute) || d.mode != Mode::Deterministic) && !traits_of(d.op).needs_index;
  // The layout is made in its place: it has 2.5 KiB, whose copy a small call would notice.
  Problem p{d.op,
            d.mode,
            d.in,
            d.out,
            compute,
            as_bool,
            d.in_alignment,
            make_layout(d.ndim, d.sizes, d.strides, d.reduced, d.out_strides, free ? Order::Any : Order::Logical)};
  // A word of fp32 has no room for the number of an element.
  if (traits_of(d.op).needs_index && compute == DType::Float32 && p.layout.n >= int64_t{1} << 32) {
    p.compute = DType::Float64;
  }
  return p;
}

}  // namespace torch_reduce
