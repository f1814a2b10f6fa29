// As launch.cuh, of products.
#pragma once

#include "core/cuda/exact/launch.cuh"
#include "core/cuda/exact/products.cuh"

namespace torch_reduce::cuda {

// Their elements: those of one tensor where it has no partner.
struct Factors {
  const void* data;
  Layout layout;
  bool squares;

  Factors(const Problem& p, const Buffers& b)
      : data(is_of_two(p) ? b.other : b.in), layout(layout_of_factors(p)), squares(!is_of_two(p)) {}
};

// Of rows that are read 16 bytes at a time: element_products.cuh has those that are read by single elements.
template <class In>
cudaError_t launch_exact_products(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                                  bool dependent) {
  constexpr Access A = Access::Contiguous;
  const auto* rows = std::get_if<exact::RowsPlan>(&plan.kernel);
  if (rows == nullptr) return cudaSuccess;  // planned for nothing
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, dependent};
  const Factors factors(p, b);
  const ProductRows<In, A> source{row_source<In, A>(rows->span, p.layout, b.in),
                                  row_source<In, A>(rows->span, factors.layout, factors.data), rows->span,
                                  factors.squares};
  const TwoKept<Access::Strided> kept{{p.layout, 0}, {factors.layout, 0}};
  return start_rows<exact::kProductLoads, exact::kProductLoads>(source, kept, *rows, plan, p.layout, b,
                                                                make_exact_sink(plan, p, b), l);
}

}  // namespace torch_reduce::cuda
