// CPU: the core's kernels on ATen's thread pool.
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>

#include "../core/cpu/exact.h"
#include "exact.h"
#include "planning.h"
#include "strided.h"

namespace torch_reduce {
namespace {

void parallel_for(int64_t count, int64_t grain, void* context, cpu::Task task) {
  at::parallel_for(0, count, grain, [=](int64_t begin, int64_t end) { task(context, begin, end); });
}

struct Cpu {
  // Not at::empty, which would go through the dispatcher a second time.
  static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor&) {
    return at::Tensor(at::detail::empty_cpu(sizes, type));
  }
  static void run(const Request& r, const Checked& checked, const at::Tensor& self, const at::Tensor& out) {
    const Problem p = make_problem(r, checked, self, out.strides(), /*atomic_is_unordered=*/false);
    const cpu::Threads threads{at::get_num_threads(), parallel_for};
    if (is_accumulated(p)) return cpu::reduce_exactly(p, false, self.const_data_ptr(), out.mutable_data_ptr(), threads);
    cpu::reduce(p, cpu_plan_for(p, threads.count), self.const_data_ptr(), out.mutable_data_ptr(), threads);
  }

  static void accumulate(const Problem& p, const at::Tensor& self, const at::Tensor& out) {
    const cpu::Threads threads{at::get_num_threads(), parallel_for};
    cpu::reduce_exactly(p, true, self.const_data_ptr(), out.mutable_data_ptr(), threads);
  }
  static void round(const Accumulators& a, int64_t divisor, DType type, const at::Tensor& out) {
    cpu::round_accumulators(a.data, a.count, a.words, divisor, type, out.mutable_data_ptr());
  }
  static void normalize(const Accumulators& a, const at::Tensor& out) {
    cpu::normalize_accumulators(a.data, a.count, a.words, out.mutable_data_ptr<int64_t>());
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CPU, m) {
  register_kernels<Strided<Cpu>>(m);
  register_exact<Cpu>(m);
}

}  // namespace torch_reduce
