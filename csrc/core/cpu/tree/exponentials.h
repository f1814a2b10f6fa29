// Chunks and trees of exponentials, by the loops of sums: those of elements near zero, or -infinity, need no reference.
// Else others do the work again.
#pragma once

#include "core/contract/plain.h"
#include "core/cpu/simd/plain_leaves.h"
#include "core/cpu/tree/chunks.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The loops of Elements. `Careful` makes those of others, which have references.
template <class Op, class T, class Acc, Elements<Acc> (*Careful)()>
struct TreesOfExponentials {
  using Word = word_of<Acc>;
  using WordOp = typename Plain<Acc>::Words;
  using V = Vector<Word>;
  static constexpr int64_t kBlock = kChunk;

  // Of vectors or words x: 0 for -infinity.
  template <class X>
  static TR_HD X exponential(X x, X& largest) {
    const X magnitude = order::magnitude_of(x), none = X{} - std::numeric_limits<Word>::infinity();
    largest = PlainExponentials<X>::larger(x == none ? X{} : magnitude, largest);
    return PlainExponentials<X>::positive(exp_of_near(x));
  }

  // Exponentials of `count` neighbours, and whether those are what counts. A call, as it is long.
  static __attribute__((noinline)) bool exponentials(const char* bytes, int64_t count, Word* to) {
    V largest{};
    int64_t i = 0;
    for (; i + kLanes<Word> <= count; i += kLanes<Word>) {
      const V v = exponential(load_at<T, Word>(bytes + i * static_cast<int64_t>(sizeof(T)), 0), largest);
      __builtin_memcpy(to + i, &v, sizeof(v));
    }
    Word largest_left{};
    for (; i < count; ++i) to[i] = exponential(element<Word>(reinterpret_cast<const T*>(bytes)[i]), largest_left);
    return !any_negative(~(largest <= V{} + Op::kNear)) && largest_left <= Op::kNear;
  }

  static void take(const Word* sum, int64_t count, Acc* out) {
    const Acc none = Op::template identity<Acc>();
    for (int64_t i = 0; i < count; ++i) out[i] = {sum[i] > 0 ? sum[i] : none.sum, sum[i] > 0 ? 0 : none.reference};
  }

  static const char* bytes_of(const Word* x) { return reinterpret_cast<const char*>(x); }

  static void leaves(const char* const* x, int steps, int leaves, int64_t count, Acc* out) {
    constexpr int kMost = kRowsOfCall<Op, Acc>;
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t width = smaller(kLeaves, count - i);
      Word word[kMost][kLeaves], sum[kLeaves];
      const char *row[kMost], *from[kMost];
      bool are_plain = true;
      for (int r = 0; r < steps * leaves; ++r) {
        from[r] = x[r] + i * static_cast<int64_t>(sizeof(T));
        row[r] = bytes_of(word[r]);
        are_plain = are_plain && exponentials(from[r], width, word[r]);
      }
      if (are_plain) {
        cpu::TR_CPU_NAMESPACE::leaves<WordOp, Word, Word>(row, steps, leaves, width, sum);
        take(sum, width, out + i);
      } else {
        Careful().leaves(from, steps, leaves, width, out + i);
      }
    }
  }

  static void trees(const char* bytes, int levels, int64_t count, Acc* out) {
    const int read = levels < kReadTreeLevels ? levels : kReadTreeLevels;
    for (int64_t i = 0, step = kBlock >> levels; i < count; i += step) {
      const int64_t size = smaller(step, count - i), few = size << (levels - read);
      const char* const x = bytes + (i << levels) * static_cast<int64_t>(sizeof(T));
      Word word[kBlock], sum[kBlock];
      if (exponentials(x, size << levels, word)) {
        cpu::TR_CPU_NAMESPACE::trees<WordOp, Word, Word>(bytes_of(word), read, few, sum);
        fold<WordOp>(sum, few / size, size);
        take(sum, size, out + i);
        continue;
      }
      Acc careful[kBlock];
      Careful().trees(x, read, few, careful);
      fold<Op>(careful, few / size, size);
      for (int64_t j = 0; j < size; ++j) out[i + j] = careful[j];
    }
  }

  static void windows(const char* const* x, int steps, int64_t group, int64_t, Acc* out) {
    Word word[kSteps][kLeaves], sum[kSubtrees];
    const char* window[kSteps];
    bool are_plain = true;
    for (int s = 0; s < steps; ++s) {
      window[s] = bytes_of(word[s]);
      are_plain = are_plain && exponentials(x[s], kLeaves, word[s]);
    }
    if (!are_plain) return Careful().windows(x, steps, group, 0, out);
    cpu::TR_CPU_NAMESPACE::windows<WordOp, Word, Word>(window, steps, group, 0, sum);
    take(sum, kSubtrees, out);
  }

  static void chunks(const char* x, int64_t count, Ahead ahead, Acc* out) {
    for (int64_t c = 0; c < count; ++c, out += kSubtrees, x += kChunk * sizeof(T)) {
      Word word[kChunk], sum[kSubtrees];
      if (exponentials(x, kChunk, word)) {
        cpu::TR_CPU_NAMESPACE::chunks<WordOp, Word, Word>(bytes_of(word), 1, Ahead::Nothing, sum);
        take(sum, kSubtrees, out);
      } else {
        Careful().chunks(x, 1, ahead, out);
      }
    }
  }

  static void rest(const char* x, int64_t n, Ahead ahead, Acc* out) {
    Word word[kChunk], sum[kSubtrees];
    if (!exponentials(x, n, word)) return Careful().rest(x, n, ahead, out);
    cpu::TR_CPU_NAMESPACE::rest<WordOp, Word, Word>(bytes_of(word), n, Ahead::Nothing, sum);
    take(sum, kSubtrees, out);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
