#include "core/cpu/dispatch/exact.h"

#include <algorithm>
#include <cstring>

#include "core/contract/exact/round.h"
#include "core/cpu/dispatch/reduce.h"
#include "core/cpu/exact/kernels.h"

namespace torch_reduce::cpu {
namespace {

template <class F>
void round_all(const int64_t* word, int64_t count, int64_t divisor, DType type, void* out) {
  for (int64_t i = 0; i < count; ++i, word += F::kWords) {
    const auto at = [&](int w) { return word[w]; };
    exact::store_bits(out, i, type, exact::round_words<F>(at, divisor, exact::target_of(type)));
  }
}

template <class F>
void normalize_all(const int64_t* word, int64_t count, int64_t* out) {
  for (int64_t i = 0; i < count; ++i, word += F::kWords, out += F::kWords) {
    std::copy(word, word + F::kWords, out);
    exact::normalize<F>(out);
  }
}

RunExactly* chosen() {
#if defined(__x86_64__)
  const char* name = capability();
  if (std::strcmp(name, "avx512") == 0) return avx512::run_exactly;
  if (std::strcmp(name, "avx2") == 0) return avx2::run_exactly;
#endif
  return baseline::run_exactly;
}

}  // namespace

void reduce_exactly(const Problem& p, bool words, const void* in, void* out, const Threads& threads) {
  const ExactPlan plan = make_exact_plan(p, threads.count);
  if (plan.groups > 0) chosen()(p, plan, words, in, out, threads);
}

void round_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type, void* out) {
  (words == exact::Double::kWords ? round_all<exact::Double> : round_all<exact::Single>)(accumulators, count, divisor,
                                                                                         type, out);
}

void normalize_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t* out) {
  (words == exact::Double::kWords ? normalize_all<exact::Double> : normalize_all<exact::Single>)(accumulators, count,
                                                                                                 out);
}

}  // namespace torch_reduce::cpu
