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

template <class In, Access A>
cudaError_t start_product_rows(const exact::RowsPlan& rows, const exact::ExactPlan& plan, const Layout& layout,
                               const Factors& factors, const Buffers& b, const ExactSink& sink, const Launch& l) {
  constexpr int kLoads = A == Access::Strided ? exact::kProductElements : exact::kProductLoads;
  const ProductRows<In, A> source{row_source<In, A>(rows.span, layout, b.in),
                                  row_source<In, A>(rows.span, factors.layout, factors.data), rows.span,
                                  factors.squares};
  const TwoKept<Access::Strided> kept{{layout, 0}, {factors.layout, 0}};
  return start_rows<kLoads, kLoads>(source, kept, rows, plan, layout, b, sink, l);
}

template <class In>
ProductColumns<In, Access::Strided> product_columns(const Layout& layout, const Factors& factors, const Buffers& b) {
  const auto own = column_source<In, Access::Strided>(layout, b.in);
  return {own,
          column_source<In, Access::Strided>(factors.layout, factors.data),
          own.n,
          own.columns,
          own.column_out_stride,
          factors.squares};
}

template <class In>
cudaError_t start_products(const exact::RowsPlan& rows, const exact::ExactPlan& plan, const Layout& layout,
                           const Factors& factors, const Buffers& b, const ExactSink& sink, const Launch& l) {
  return plan.access == Access::Contiguous
             ? start_product_rows<In, Access::Contiguous>(rows, plan, layout, factors, b, sink, l)
             : start_product_rows<In, Access::Strided>(rows, plan, layout, factors, b, sink, l);
}
template <class In>
cudaError_t start_products(const exact::ShortColumnsPlan& columns, const exact::ExactPlan&, const Layout& layout,
                           const Factors& factors, const Buffers& b, const ExactSink& sink, const Launch& l) {
  return start_short_columns<exact::kProductColumnsLoads>(product_columns<In>(layout, factors, b), columns, layout, b,
                                                          sink, l);
}
template <class In>
cudaError_t start_products(const exact::ColumnsPlan& cut, const exact::ExactPlan& plan, const Layout& layout,
                           const Factors& factors, const Buffers& b, const ExactSink& sink, const Launch& l) {
  return start_columns<exact::kProductColumnsLoads>(product_columns<In>(layout, factors, b), cut, plan, layout, b, sink,
                                                    l);
}

template <class In>
cudaError_t launch_exact_products(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                                  bool dependent) {
  const ExactSink sink = make_exact_sink(plan, p, b);
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, dependent};
  const Factors factors(p, b);
  return std::visit(
      [&](const auto& kernel) -> cudaError_t {
        using Kernel = std::decay_t<decltype(kernel)>;
        if constexpr (std::is_same<Kernel, std::monostate>::value ||
                      std::is_same<Kernel, exact::ShortRowsPlan>::value ||
                      std::is_same<Kernel, exact::WideProductsPlan>::value) {
          return cudaSuccess;  // planned for nothing
        } else {
          return start_products<In>(kernel, plan, p.layout, factors, b, sink, l);
        }
      },
      plan.kernel);
}

}  // namespace torch_reduce::cuda
