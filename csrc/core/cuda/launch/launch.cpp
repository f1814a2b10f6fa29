#include "core/cuda/launch/launch.h"

#include "core/contract/scans.h"
#include "core/cuda/exact/element_products.h"

namespace torch_reduce::cuda {
namespace {

template <class O>
cudaError_t launch_operator(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  switch (p.compute) {
    case DType::Float32:
      return launch_typed<O, float>(plan, p, b, stream, dependent);
    case DType::Float64:
      return launch_typed<O, double>(plan, p, b, stream, dependent);
    case DType::Endless:
      return launch_typed<O, Endless>(plan, p, b, stream, dependent);
    case DType::Int128:
      return launch_typed<O, Int128>(plan, p, b, stream, dependent);
    default:
      return launch_typed<O, int64_t>(plan, p, b, stream, dependent);
  }
}

cudaError_t launch_plan(const Plan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  return with_operator(p.op, [&](auto tag) {
    using O = typename decltype(tag)::type;
    if constexpr (O::role == Role::Factor) {
      if (p.partner.role == Role::NormalFactor) return launch_operator<NormalDot>(plan, p, b, stream, dependent);
    }
    if constexpr (has_mask<O>) {
      if (is_masked(p)) return launch_operator<Masked<gpu_kernels<O>>>(plan, p, b, stream, dependent);
    }
    return launch_operator<gpu_kernels<O>>(plan, p, b, stream, dependent);
  });
}

cudaError_t launch_plan(const exact::ExactPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                        bool dependent) {
  if (std::holds_alternative<exact::ElementProductsPlan>(plan.kernel))
    return launch_element_products(plan, p, b, stream, dependent);
  if (multiplies(p)) {
    return p.in == DType::Float16    ? launch_exact_products<Half>(plan, p, b, stream, dependent)
           : p.in == DType::BFloat16 ? launch_exact_products<BFloat16>(plan, p, b, stream, dependent)
                                     : launch_exact_products<float>(plan, p, b, stream, dependent);
  }
  switch (p.in) {
    case DType::Float16:
      return launch_exact_typed<Half>(plan, p, b, stream, dependent);
    case DType::BFloat16:
      return launch_exact_typed<BFloat16>(plan, p, b, stream, dependent);
    case DType::Float32:
      return launch_exact_typed<float>(plan, p, b, stream, dependent);
    default:
      return launch_exact_typed<double>(plan, p, b, stream, dependent);
  }
}

cudaError_t launch_plan(const ScanPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  return with_scanned(p.op, [&](auto tag) {
    using O = scanned<gpu_kernels<typename decltype(tag)::type>>;
    switch (p.compute) {
      case DType::Float32:
        return launch_scan_typed<O, float>(plan, p, b, stream, dependent);
      case DType::Float64:
        return launch_scan_typed<O, double>(plan, p, b, stream, dependent);
      case DType::Int128:
        return launch_scan_typed<O, Int128>(plan, p, b, stream, dependent);
      default:
        return launch_scan_typed<O, int64_t>(plan, p, b, stream, dependent);
    }
  });
}

}  // namespace

cudaError_t launch(const Work& work, const Buffers& b, cudaStream_t stream, bool dependent) {
  if (is_empty(work.problem)) return cudaSuccess;
  return std::visit([&](const auto& plan) { return launch_plan(plan, work.problem, b, stream, dependent); }, work.plan);
}

}  // namespace torch_reduce::cuda
