// Host memory, by the CPU's kernels.
#include <new>
#include <stdexcept>

#include "core/cpu/dispatch/reduce.h"
#include "describe.h"

namespace torch_reduce::core {
namespace {

void alone(int64_t count, int64_t, void* context, cpu::Task task) { task(context, 0, count); }

}  // namespace

Status reduce_on_host(const Reduction& r, const void* in, void* out, const Threads& given) noexcept {
  Problem p;
  Status status = describe(r, p);
  if (status == Status::success) status = check_pointers(in, out, p);
  if (status != Status::success || is_empty(p)) return status;
  const bool several = given.parallel_for != nullptr && given.count > 1;
  const cpu::Threads threads{several ? given.count : 1, several ? given.parallel_for : alone};
  try {
    cpu::reduce(cpu::make_work(p, threads.count), {in, out}, threads);
    return Status::success;
  } catch (const std::invalid_argument&) {  // a plan refused, before anything was written
    return Status::too_large;
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory;
  }
}

}  // namespace torch_reduce::core
