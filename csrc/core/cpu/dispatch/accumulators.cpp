#include "core/cpu/dispatch/accumulators.h"

#include <algorithm>

#include "core/contract/exact/round.h"

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

}  // namespace

void round_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t divisor, DType type, void* out) {
  (words == exact::Double::kWords ? round_all<exact::Double> : round_all<exact::Single>)(accumulators, count, divisor,
                                                                                         type, out);
}

void normalize_accumulators(const int64_t* accumulators, int64_t count, int words, int64_t* out) {
  (words == exact::Double::kWords ? normalize_all<exact::Double> : normalize_all<exact::Single>)(accumulators, count,
                                                                                                 out);
}

}  // namespace torch_reduce::cpu
