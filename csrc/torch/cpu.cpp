// CPU: the core's kernels on torch's threads.
#include <ATen/EmptyTensor.h>

#include "planning.h"
#include "strided.h"
#include "threads.h"

namespace torch_reduce {
namespace {

struct Cpu {
  // Not at::empty, which would go through the dispatcher a second time.
  static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor&) {
    return at::Tensor(at::detail::empty_cpu(sizes, type));
  }
  static void run(const Request& r, const Checked& checked, const at::Tensor& self, const at::Tensor& out) {
    const Problem p = make_problem(r, checked, self, out.strides());
    const cpu::Threads threads = torch_threads();
    cpu::reduce(p, cpu_plan_for(p, threads.count), self.const_data_ptr(), out.mutable_data_ptr(), threads);
  }
};

}  // namespace

TORCH_LIBRARY_IMPL(reduce, CPU, m) { register_kernels<Strided<Cpu>>(m); }

}  // namespace torch_reduce
