// The exact kernels behind one C function, for tests/support/emulated.py.
#define TORCH_REDUCE_EMULATED
// clang-format off: the emulator's names come before the kernels
#include "emulator.h"
#include "core/cuda/exact/launch_products.cuh"
#include "core/cuda/exact/element_products.cu"
#include "core/problem/build_problem.h"
// clang-format on

#include <cstdlib>
#include <exception>

using namespace torch_reduce;

// Reduces the tensor of these sizes and strides (in elements) at `in`; `out_strides` are those of the kept dims, by dim
// of the input. Types are numbered as DType, families as Family (-1 for the plan's choice). Returns a cudaError_t, or
// -1 for a constraint that is not legal.
extern "C" int emulate(int in_type, int out_type, int mean, int words, int ndim, const int64_t* sizes,
                       const int64_t* strides, const unsigned char* reduced, const int64_t* out_strides, const void* in,
                       void* out, int sms, int family, int vector, int64_t* units) {
  Problem p{};
  p.op = mean ? Op::Mean : Op::Sum;
  p.mode = Mode::Exact;
  p.in = static_cast<DType>(in_type);
  p.out = static_cast<DType>(out_type);
  p.compute = compute_type(p.op, p.in, p.out, p.correction);
  bool mask[kMaxDims] = {};
  for (int d = 0; d < ndim; ++d) mask[d] = reduced[d] != 0;
  p.layout = make_layout(ndim, sizes, strides, mask, out_strides, Order::Any);
  p.in_alignment = 16;
  while (reinterpret_cast<uintptr_t>(in) % static_cast<uintptr_t>(p.in_alignment) != 0) p.in_alignment /= 2;
  try {
    const auto plan = exact::make_exact_plan(p, words != 0, make_gpu(sms, 9, 0), Constraint{family, vector, 0});
    *units = plan.units;
    if (plan.scratch_bytes > kMaxScratch) return -2;
    void* scratch = std::aligned_alloc(16, static_cast<size_t>(plan.scratch_bytes + 16));
    std::memset(scratch, 0x5a, static_cast<size_t>(plan.scratch_bytes + 16));
    const cuda::Buffers buffers{in, out, scratch};
    cudaError_t status = cudaSuccess;
    if (p.layout.outputs == 0) {
    } else if (p.in == DType::Float16) {
      status = cuda::launch_exact_typed<Half>(plan, p, buffers, nullptr, true);
    } else if (p.in == DType::BFloat16) {
      status = cuda::launch_exact_typed<BFloat16>(plan, p, buffers, nullptr, true);
    } else if (p.in == DType::Float32) {
      status = cuda::launch_exact_typed<float>(plan, p, buffers, nullptr, true);
    } else {
      status = cuda::launch_exact_typed<double>(plan, p, buffers, nullptr, true);
    }
    std::free(scratch);
    return status;
  } catch (const std::exception&) {
    return -1;
  }
}

// The same of products of two tensors' elements, or, where `other` is null, of squares. `other_strides` are by dim.
extern "C" int emulate_products(int in_type, int out_type, int ndim, const int64_t* sizes, const int64_t* strides,
                                const int64_t* other_strides, const unsigned char* reduced, const int64_t* out_strides,
                                const void* in, const void* other, void* out, int sms, int family, int vector,
                                int64_t* units) {
  bool mask[kMaxDims] = {};
  for (int d = 0; d < ndim; ++d) mask[d] = reduced[d] != 0;
  Description description{};
  description.op = other == nullptr ? Op::Sumsq : Op::Dot;
  description.mode = Mode::Exact;
  description.in = static_cast<DType>(in_type);
  description.out = static_cast<DType>(out_type);
  description.in_alignment = alignment_of(reinterpret_cast<uintptr_t>(in));
  description.ndim = ndim;
  description.sizes = sizes;
  description.strides = strides;
  description.reduced = mask;
  description.out_strides = out_strides;
  if (other != nullptr) {
    description.role = Role::Factor;
    description.other_type = description.in;
    description.other_alignment = alignment_of(reinterpret_cast<uintptr_t>(other));
    description.other_strides = other_strides;
  }
  const Problem p = build_problem(description);
  try {
    const auto plan = exact::make_exact_plan(p, false, make_gpu(sms, 9, 0), Constraint{family, vector, 0});
    *units = plan.units;
    if (plan.scratch_bytes > kMaxScratch) return -2;
    void* scratch = std::aligned_alloc(16, static_cast<size_t>(plan.scratch_bytes + 16));
    std::memset(scratch, 0x5a, static_cast<size_t>(plan.scratch_bytes + 16));
    const cuda::Buffers buffers{in, out, scratch, other};
    cudaError_t status = cudaSuccess;
    if (p.layout.outputs == 0) {
    } else if (std::holds_alternative<exact::ElementProductsPlan>(plan.kernel)) {
      status = cuda::launch_element_products(plan, p, buffers, nullptr, true);
    } else if (p.in == DType::Float16) {
      status = cuda::launch_exact_products<Half>(plan, p, buffers, nullptr, true);
    } else if (p.in == DType::BFloat16) {
      status = cuda::launch_exact_products<BFloat16>(plan, p, buffers, nullptr, true);
    } else {
      status = cuda::launch_exact_products<float>(plan, p, buffers, nullptr, true);
    }
    std::free(scratch);
    return status;
  } catch (const std::exception&) {
    return -1;
  }
}

// What a kernel writes for the sum (high * 2^64 + low) * 2^exponent.
extern "C" void emulate_result(int in_type, int out_type, int64_t divisor, int64_t high, uint64_t low, int exponent,
                               void* out) {
  const cuda::ExactSink sink{out, static_cast<DType>(out_type), false, divisor};
  const auto sum = (static_cast<cuda::int128>(high) << 64) + low;
  switch (static_cast<DType>(in_type)) {
    case DType::Float16:
      return cuda::finish_value<Half>(sink, 0, sum, exponent);
    case DType::BFloat16:
      return cuda::finish_value<BFloat16>(sink, 0, sum, exponent);
    case DType::Float32:
      return cuda::finish_value<float>(sink, 0, sum, exponent);
    default:
      return cuda::finish_value<double>(sink, 0, sum, exponent);
  }
}
