#include "core/cpu/job/scratch.h"

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

#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu {
namespace {

#if TR_WITH_ASAN
constexpr int64_t kGap = 64;  // or nobody would see a worker write what is another one's
#else
constexpr int64_t kGap = 0;
#endif
constexpr std::align_val_t kLine{kCacheLine};

}  // namespace

Scratch::Scratch(const CpuPlan& plan)
    : pitch_(plan.held_bytes > 0 ? plan.held_bytes + kGap : 0), workers_(plan.workers * pitch_) {
  const int64_t bytes = workers_ + plan.partial_bytes;
  if (bytes > 0) data_ = static_cast<char*>(::operator new(static_cast<size_t>(bytes), kLine));
#if TR_WITH_ASAN
  for (int64_t gap = plan.held_bytes; gap < workers_; gap += pitch_) ASAN_POISON_MEMORY_REGION(data_ + gap, kGap);
#endif
}

Scratch::~Scratch() {
#if TR_WITH_ASAN
  ASAN_UNPOISON_MEMORY_REGION(data_, workers_);
#endif
  ::operator delete(data_, kLine);
}

}  // namespace torch_reduce::cpu
