// Scans, for one instruction set (dispatch/kernels.h).
#include "core/cpu/scan/kernels.h"

#include <new>

#include "core/contract/integers.h"
#include "core/cpu/scan/free.h"
#include "core/cpu/scan/read.h"
#include "core/cpu/scan/rows.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

template <class Kernel, class Job>
void scan_tasks(void* context, int64_t begin, int64_t end) {
  Kernel kernel(*static_cast<const Job*>(context));
  for (int64_t task = begin; task < end; ++task) kernel.scan(task);
}
template <class Kernel, class Job>
void reduce_tasks(void* context, int64_t begin, int64_t end) {
  Kernel kernel(*static_cast<const Job*>(context));
  for (int64_t task = begin; task < end; ++task) kernel.reduce(task);
}

template <class Kernel, class Job>
void scan_by(Job job, const Threads& threads) {
  using Node = typename Kernel::Node;
  const int64_t tasks = Kernel::tasks(job);
  const auto all = [&](Task task) {
    if (job.plan.alone) return task(&job, 0, tasks);
    threads.parallel_for(tasks, 1, &job, task);
  };
  if (job.plan.pieces == 1) return all(scan_tasks<Kernel, Job>);
  constexpr std::align_val_t kAlignment{alignof(Node) > 16 ? alignof(Node) : 16};
  job.partials = static_cast<char*>(::operator new(static_cast<size_t>(tasks) * sizeof(Node), kAlignment));
  all(reduce_tasks<Kernel, Job>);
  all(scan_tasks<Kernel, Job>);
  ::operator delete(job.partials, kAlignment);
}

template <class O, class Acc>
Write<Acc> scan_writer_to(const Problem& p) {
  if constexpr (O::selects && may_be_flipped<O, Acc>) {
    if (p.in == DType::UInt64) return write_flipped<O, Acc>;
  }
  return writer_to<O, Acc>(p.out);
}

template <class O, class Acc>
void scan_in(const Problem& p, const ScanPlan& plan, const char* in, char* out, const Threads& threads) {
  using Word = word_of<Acc>;
  Write<Word> write_words = nullptr;
  if constexpr (multiplies_plain<O, Acc>) write_words = writer_to<Product, Word>(p.out);
  const ScanJob<O, Acc> job{
      p, plan, scan_reader_of<O, number_of<Acc>>(p), scan_writer_to<O, Acc>(p), write_words, in, out, nullptr};
  if constexpr (order_free<O, Acc>) {
    plan.across ? scan_by<FreeScan<O, Acc, true>>(job, threads) : scan_by<FreeScan<O, Acc, false>>(job, threads);
  } else {
    plan.across ? scan_by<OrderedScan<O, Acc, true>>(job, threads) : scan_by<OrderedScan<O, Acc, false>>(job, threads);
  }
}

}  // namespace

void run_scan(const Problem& p, const ScanPlan& plan, const void* in, void* out, const Threads& threads) {
  const auto* x = static_cast<const char*>(in);
  auto* y = static_cast<char*>(out);
  with_scanned(p.op, [&](auto tag) {
    using O = scanned<typename decltype(tag)::type>;
    switch (p.compute) {
      case DType::Float32:
        return scan_in<O, accumulator_of<O, float>>(p, plan, x, y, threads);
      case DType::Float64:
        return scan_in<O, accumulator_of<O, double>>(p, plan, x, y, threads);
      case DType::Int128:
        if constexpr (computes_in<O, Int128>) return scan_in<O, Int128>(p, plan, x, y, threads);
        break;
      default:
        if constexpr (computes_in<O, int64_t>) return scan_in<O, accumulator_of<O, int64_t>>(p, plan, x, y, threads);
    }
  });
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
