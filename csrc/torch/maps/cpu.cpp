// Maps on the CPU: the core's kernels on torch's threads.
#include <ATen/EmptyTensor.h>

#include "../device/threads.h"
#include "../planning/planning.h"
#include "batch_norm.h"
#include "core/cpu/dispatch/reduce.h"
#include "core/cpu/map/losses.h"
#include "kernels.h"

namespace torch_reduce {
namespace {

const void* address(const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; }
void* address_to(const at::Tensor& t) { return t.defined() ? t.mutable_data_ptr() : nullptr; }

struct Cpu {
  static constexpr int kMostDims = kMaxDims;
  static at::Tensor empty(at::SymIntArrayRef sizes, at::ScalarType type, const at::Tensor&) {
    return at::Tensor(at::detail::empty_cpu(C10_AS_INTARRAYREF_SLOW(sizes), type));
  }
  static void run(const MapProblem& p, const MapInputs& in, const MapOutputs& to) {
    const cpu::MapBuffers buffers{
        address(in.x),      address(in.second),     address(in.weight),
        address(in.bias),   address(in.row),        static_cast<const bool*>(address(in.mask)),
        address_to(to.out), address_to(to.written), address_to(to.sum)};
    cpu::map(p, buffers, torch_threads());
  }
  static bool run_gradients(const MapProblem&, const MapInputs&, const MapOutputs&, const at::Tensor&) { return false; }
  static void run(const Problem& p, const WeightInputs& in, const at::Tensor& out) {
    const cpu::Threads threads = torch_threads();
    cpu::reduce(cpu_work_for(p, threads.count),
                {address(in.grad), address_to(out), address(in.self), nullptr, address(in.row)}, threads);
  }
  static void run(const ChannelProblem& p, const ChannelTensors& t) {
    cpu::map(p,
             {address(t.x), address(t.second), address(t.mean), address(t.variance), address(t.weight), address(t.bias),
              address(t.sums), address_to(t.row), address_to(t.out)},
             torch_threads());
  }
  static void run(LossStep step, const LossCall& call, const LossInputs& in, const at::Tensor& out) {
    const int64_t* const bad = call.rows.compute == DType::Float64
                                   ? cpu::loss_step(step, call.rows, loss_buffers<double>(in, out), call.options)
                                   : cpu::loss_step(step, call.rows, loss_buffers<float>(in, out), call.options);
    TORCH_CHECK_INDEX(bad == nullptr, "Target ", *bad, " is out of bounds.");
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CPU, m) {
  MapKernels<Cpu>::register_all(m);
  BatchNormKernels<Cpu>::register_all(m);
}

}  // namespace torch_reduce
