// What a reduction holds beside its result, in one allocation: some memory for each worker, and the partials behind it.
// All of them begin with a line of the cache, as vectors that cross lines take twice as long to store.
#pragma once

#include "core/contract/types.h"
#include "core/plan/cpu/plan.h"

namespace torch_reduce::cpu {

class Scratch {
 public:
  explicit Scratch(const CpuPlan& plan);  // throws std::bad_alloc
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  TR_HD char* of_worker(int64_t worker) const { return data_ + worker * pitch_; }
  TR_HD char* partials() const { return data_ + workers_; }

 private:
  int64_t pitch_, workers_;  // bytes of a worker, and of all
  char* data_ = nullptr;
};

}  // namespace torch_reduce::cpu
