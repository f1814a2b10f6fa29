// As launch.cuh, of products.
#pragma once

#include "core/cuda/exact/launch.cuh"
#include "core/cuda/exact/products.cuh"
#include "core/cuda/exact/short_products.cuh"

namespace torch_reduce::cuda {

// Their elements: those of one tensor where it has no partner.
struct Factors {
  const void* data;
  Layout layout;
  bool squares;

  Factors(const Problem& p, const Buffers& b)
      : data(is_of_two(p) ? b.other : b.in), layout(layout_of_factors(p)), squares(!is_of_two(p)) {}
};

template <class In>
cudaError_t start_products(const exact::ShortRowsPlan& rows, const exact::ExactPlan&, const Problem& p,
                           const Buffers& b, const ExactSink& sink, const Launch& l) {
  if constexpr (exact::have_short_products(dtype_of<In>::value)) {
    const Factors factors(p, b);
    const ExactKept<Access::Contiguous> own(p.layout, 0), other(factors.layout, 0);
    const ExactShortProductsArgs a{b.in,          factors.data,     sink,
                                   p.layout.n,    p.layout.outputs, rows.log_lanes,
                                   own.in_stride, other.in_stride,  own.out_stride};
    return start(exact_short_products<In>, a, l);
  } else {
    return cudaErrorInvalidValue;  // is not planned
  }
}

template <class In>
cudaError_t start_products(const exact::RowsPlan& rows, const exact::ExactPlan& plan, const Problem& p,
                           const Buffers& b, const ExactSink& sink, const Launch& l) {
  constexpr Access A = Access::Contiguous;
  constexpr int kLoads = exact::kProductLoads, kMostLoads = exact::product_most_loads(dtype_of<In>::value);
  const Factors factors(p, b);
  const ProductRows<In, A> source{row_source<In, A>(rows.span, p.layout, b.in),
                                  row_source<In, A>(rows.span, factors.layout, factors.data), rows.span,
                                  factors.squares};
  const TwoKept<Access::Strided> kept{{p.layout, 0}, {factors.layout, 0}};
  return start_rows<kLoads, kMostLoads>(source, kept, rows, plan, p.layout, b, sink, l);
}

// Of rows that are read 16 bytes at a time: element_products.cuh has those that are read by single elements.
template <class In>
cudaError_t launch_exact_products(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                                  bool dependent) {
  const ExactSink sink = make_exact_sink(plan, p, b);
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, dependent};
  if (const auto* rows = std::get_if<exact::RowsPlan>(&plan.kernel)) {
    return start_products<In>(*rows, plan, p, b, sink, l);
  }
  if (const auto* rows = std::get_if<exact::ShortRowsPlan>(&plan.kernel)) {
    return start_products<In>(*rows, plan, p, b, sink, l);
  }
  return cudaSuccess;  // planned for nothing
}

}  // namespace torch_reduce::cuda
