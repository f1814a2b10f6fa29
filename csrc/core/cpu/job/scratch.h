// What a reduction holds beside its result, in one allocation: some memory for each worker, and the partials behind it.
// All of them begin with a line of the cache, as vectors that cross lines take twice as long to store.
#pragma once

#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define TR_WITH_ASAN 1
#elif defined(__has_feature)  // Clang's way
#define TR_WITH_ASAN __has_feature(address_sanitizer)
#else
#define TR_WITH_ASAN 0
#endif
#if TR_WITH_ASAN
#include <sanitizer/asan_interface.h>
#endif

#include "core/plan/cpu/plan.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

class Scratch {
 public:
  explicit Scratch(const CpuPlan& plan)
      : pitch_(plan.held_bytes > 0 ? plan.held_bytes + kGap : 0), workers_(plan.workers * pitch_) {
    const int64_t bytes = workers_ + plan.partial_bytes;
    if (bytes > 0) data_ = static_cast<char*>(::operator new(static_cast<size_t>(bytes), kLine));
#if TR_WITH_ASAN
    for (int64_t gap = plan.held_bytes; gap < workers_; gap += pitch_) ASAN_POISON_MEMORY_REGION(data_ + gap, kGap);
#endif
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
#if TR_WITH_ASAN
    ASAN_UNPOISON_MEMORY_REGION(data_, workers_);
#endif
    ::operator delete(data_, kLine);
  }

  char* of_worker(int64_t worker) const { return data_ + worker * pitch_; }
  char* partials() const { return data_ + workers_; }

 private:
#if TR_WITH_ASAN
  static constexpr int64_t kGap = 64;  // or nobody would see a worker write what is another one's
#else
  static constexpr int64_t kGap = 0;
#endif
  static constexpr std::align_val_t kLine{kCacheLine};
  int64_t pitch_, workers_;  // bytes of a worker, and of all
  char* data_ = nullptr;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
