// From a plan to the arguments of element_products.cuh.
#include "core/cuda/exact/element_products.cuh"
#include "core/cuda/exact/element_products.h"
#include "core/cuda/exact/launch.cuh"

namespace torch_reduce::cuda {

template <class In>
static cudaError_t launch_typed(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                                bool dependent) {
  const auto* products = std::get_if<exact::ElementProductsPlan>(&plan.kernel);
  if (products == nullptr) return cudaSuccess;  // there is no output
  const Layout& own = p.layout;
  const Layout other = layout_of_factors(p);
  const ElementProductsArgs a{b.in,
                              is_of_two(p) ? b.other : b.in,
                              own.n,
                              own.outputs,
                              plan.units,
                              products->unit_elements,
                              products->worker == exact::Worker::Cta,
                              {{own, 0}, {other, 0}},
                              {ReducedIndex<Access::Strided>(own), ReducedIndex<Access::Strided>(other), 0},
                              make_exact_sink(plan, p, b),
                              static_cast<int64_t*>(b.scratch)};
  const Launch l{plan.grid, plan.block, 0, stream, dependent};
  if (products->worker == exact::Worker::Lane) return start(exact_few_element_products<In>, a, l);
  const cudaError_t status = products->across == 1
                                 ? start(exact_element_products<In, 1>, a, l)
                                 : start(exact_element_products<In, exact::kElementProductsAcross>, a, l);
  if (status != cudaSuccess || plan.units == 1) return status;
  return start(exact_finish_element_products, a,
               Launch{own.outputs, exact::kElementProductsFinishWarps * kWarp, 0, stream, dependent});
}

cudaError_t launch_element_products(const exact::ExactPlan& plan, const Problem& p, const Buffers& b,
                                    cudaStream_t stream, bool dependent) {
  switch (p.in) {
    case DType::Float16:
      return launch_typed<Half>(plan, p, b, stream, dependent);
    case DType::BFloat16:
      return launch_typed<BFloat16>(plan, p, b, stream, dependent);
    case DType::Float32:
      return launch_typed<float>(plan, p, b, stream, dependent);
    default:
      return launch_typed<double>(plan, p, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
