// CPU: the core's kernels on torch's threads.
#include <ATen/EmptyTensor.h>

#include "../planning/planning.h"
#include "core/cpu/dispatch/accumulators.h"
#include "core/cpu/dispatch/reduce.h"
#include "exact.h"
#include "logits.h"
#include "selection.h"
#include "strided.h"
#include "threads.h"
#include "two.h"

namespace torch_reduce {
namespace {

struct Cpu {
  static constexpr int kMostDims = kMaxDims;
  // Not at::empty, which would go through the dispatcher a second time.
  static at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type, const at::Tensor&) {
    return at::Tensor(at::detail::empty_cpu(sizes, type));
  }
  static void permit(const Request&, const Checked&, const at::Tensor&) {}
  static void run(const Request& r, const Checked& checked, const at::Tensor& self, const at::Tensor& out) {
    run(make_problem(r, checked, self, out.strides()), self, out);
  }
  static void run(const Problem& p, const at::Tensor& self, const at::Tensor& out) {
    const cpu::Threads threads = cpu::is_for_one_thread(p) ? cpu::Threads{1, nullptr} : torch_threads();
    cpu::reduce(cpu_work_for(p, threads.count), {self.const_data_ptr(), out.mutable_data_ptr()}, threads);
  }
  static void run(const Problem& p, const at::Tensor& self, const at::Tensor& other, const at::Tensor& counts,
                  const at::Tensor& out) {
    const cpu::Threads threads = cpu::is_for_one_thread(p) ? cpu::Threads{1, nullptr} : torch_threads();
    cpu::reduce(cpu_work_for(p, threads.count),
                {self.const_data_ptr(), out.mutable_data_ptr(), other.const_data_ptr(), counts_in(counts)}, threads);
  }

  static void run(const Selection& s, const at::Tensor& self, const at::Tensor& out) {
    cpu::select(s, self.const_data_ptr(), out.mutable_data_ptr<int64_t>(), torch_threads());
  }

  static void accumulate(const Problem& p, const at::Tensor& self, const at::Tensor& out) {
    const cpu::Threads threads = torch_threads();
    cpu::reduce(cpu_work_for(p, threads.count, /*words=*/true), {self.const_data_ptr(), out.mutable_data_ptr()},
                threads);
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
  m.impl("_of_two", TORCH_FN(of_two<Cpu>));
  m.impl("_logits", TORCH_FN(logits<Cpu>));
  m.impl("_topk_indices", TORCH_FN(select<Cpu>));
}

}  // namespace torch_reduce
