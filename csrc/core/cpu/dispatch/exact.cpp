#include "core/cpu/dispatch/exact.h"

#include <algorithm>
#include <cstring>

#include "core/contract/exact/round.h"

namespace torch_reduce::cpu {
namespace {

constexpr int64_t kGroup = 32;           // columns: two to four cache lines of each row
constexpr int64_t kPiece = 1 << 16;      // elements; what a thread is woken for
constexpr int64_t kPiecesPerThread = 4;  // so that a thread that is held up does not hold up the others for long

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

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

ExactPlan make_exact_plan(const Problem& p, int threads) {
  const Layout& l = p.layout;
  ExactPlan plan;
  if (l.outputs == 0) return plan;
  // Outputs that lie closer together than the elements of one share cache lines.
  if (l.kept_dims > 0 && l.reduced_dims > 0) {
    const KeptDim& kept = l.kept[l.kept_dims - 1];
    if (kept.in_stride < l.reduced[l.reduced_dims - 1].stride) plan.group = std::min(kGroup, kept.size);
  }
  plan.groups = ceil_div(l.outputs, plan.group);
  plan.piece = std::max<int64_t>(l.n, 1);
  if (threads > 1 && plan.groups > 0 && plan.groups < threads * kPiecesPerThread) {
    const int64_t pieces = std::min(ceil_div(threads * kPiecesPerThread, plan.groups), ceil_div(l.n, kPiece));
    if (pieces > 1) plan.piece = ceil_div(l.n, pieces);
  }
  plan.split = std::max<int64_t>(ceil_div(l.n, plan.piece), 1);
  if (plan.split > 1) plan.scratch_bytes = l.outputs * plan.split * exact::words_of(p.in) * 8;
  return plan;
}

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
