// at::parallel_for is a template: it runs on several threads only in code that is compiled for OpenMP, which links the
// compiler's OpenMP runtime. That may be another one than torch's, with a pool that torch.set_num_threads does not
// reach, or one that is not found where the library is loaded. So regions are entered through the runtime that torch
// has brought into the process: every one of them (GNU, LLVM, Intel) has these functions.
#include "threads.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>

// Weak: no library is linked for them, and a torch without OpenMP is none the worse for it.
extern "C" {
__attribute__((weak, visibility("default"))) void GOMP_parallel(void (*)(void*), void*, unsigned threads, unsigned);
__attribute__((weak, visibility("default"))) int omp_get_num_threads();
__attribute__((weak, visibility("default"))) int omp_get_thread_num();
}

namespace torch_reduce {
namespace {

struct Region {
  int64_t count, grain;
  void* context;
  cpu::Task task;
  std::atomic_flag failed = ATOMIC_FLAG_INIT;
  std::exception_ptr error = nullptr;
};

// What each thread does: one contiguous share, the same one in every call, as part of it may still be in its cache.
void work(void* data) {
  Region& r = *static_cast<Region*>(data);
  const int64_t threads = std::min<int64_t>(omp_get_num_threads(), (r.count + r.grain - 1) / r.grain);
  const int64_t thread = omp_get_thread_num();
  if (thread >= threads) return;
  const int64_t share = r.count / threads, longer = r.count % threads;
  const int64_t begin = thread * share + std::min(thread, longer);
  try {
    const at::internal::ThreadIdGuard id(static_cast<int>(thread));
    const c10::ParallelGuard parallel(true);
    r.task(r.context, begin, begin + share + (thread < longer));
  } catch (...) {
    if (!r.failed.test_and_set()) r.error = std::current_exception();
  }
}

void parallel_for(int64_t count, int64_t grain, void* context, cpu::Task task) {
  if (count <= grain || at::in_parallel_region()) return task(context, 0, count);
  if (GOMP_parallel == nullptr || omp_get_num_threads == nullptr || omp_get_thread_num == nullptr) {
    return at::parallel_for(0, count, grain, [=](int64_t begin, int64_t end) { task(context, begin, end); });
  }
  Region region{count, grain, context, task};
  GOMP_parallel(work, &region, 0, 0);  // 0: as many threads as torch has set
  if (region.error) std::rethrow_exception(region.error);
}

}  // namespace

cpu::Threads torch_threads() { return {at::get_num_threads(), parallel_for}; }

}  // namespace torch_reduce
