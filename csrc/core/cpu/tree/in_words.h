// Chunks and trees of what has an exponent of its own, by the loops of one word: where no result leaves the range of
// that, an exponent without an end changes no rounding. Else others do the work again.
#pragma once

#include "core/cpu/simd/range.h"
#include "core/cpu/tree/chunks.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The operator that combines words.
template <class Op, class Acc>
using in_words = std::conditional_t<Op::multiplies, Product, Op>;

// What is combined of plain numbers.
TR_HD EndlessSum with_exponent(double word, EndlessSum) { return of_plain(word); }
template <class Word>
TR_HD order::Scaled<Word> with_exponent(Word word, order::Scaled<Word>) {
  return order::scaled(word);
}

// The loops of Elements. `Careful` makes those of others, whose exponents have no end.
template <class Op, class T, class Acc, Elements<Acc> (*Careful)()>
struct TreesInWords {
  using Word = word_of<Acc>;
  using WordOp = in_words<Op, Acc>;
  static constexpr int64_t kBlock = 512;

  static void take(const Word* word, int64_t count, Acc* out) {
    int64_t i = 0;
    if constexpr (has_lanes_of_words<Op, Acc>) {
      for (; i + kLanes<Acc> <= count; i += kLanes<Acc>) store_lanes<Op>(order::scaled(load(word + i)), out + i);
    }
    for (; i < count; ++i) out[i] = with_exponent(word[i], Acc());
  }

  // Leaves that a loop over rows takes some at a time: read(rows, leaves, out) does so.
  template <class O, class A, class Read>
  static void leaves_of(const char* const* row, int steps, int leaves, int64_t width, A* out, Read read) {
    int at_once = leaves;
    while (at_once > 1 && at_once * steps > kRowsAtOnce<O>) at_once /= 2;
    for (int l = 0; l < leaves; l += at_once) read(row + l * steps, at_once, out + l / at_once * width);
    fold_columns<O>(out, leaves / at_once, width);
  }

  static void leaves(const char* const* x, int steps, int leaves, int64_t count, Acc* out) {
    constexpr int kMost = kRowsOfCall<Op, Acc>;
    for (int64_t i = 0; i < count; i += kLeaves) {
      const int64_t width = smaller(kLeaves, count - i);
      const char* row[kMost];
      for (int r = 0; r < steps * leaves; ++r) row[r] = x[r] + i * static_cast<int64_t>(sizeof(T));
      Word word[kMost / kRowsAtOnce<WordOp>][kLeaves];
      const auto read = [&](const char* const* rows, int at_once, Word* to) {
        cpu::TR_CPU_NAMESPACE::leaves<WordOp, T, Word>(rows, steps, at_once, width, to);
      };
      if (stays_in_range([&] { leaves_of<WordOp>(row, steps, leaves, width, word[0], read); })) {
        take(word[0], width, out + i);
        continue;
      }
      Acc careful[kMost / kRowsAtOnce<Op>][kLeaves];
      leaves_of<Op>(row, steps, leaves, width, careful[0], [&](const char* const* rows, int at_once, Acc* to) {
        Careful().leaves(rows, steps, at_once, width, to);
      });
      for (int64_t j = 0; j < width; ++j) out[i + j] = careful[0][j];
    }
  }

  static void trees(const char* bytes, int levels, int64_t count, Acc* out) {
    const int read = levels < kReadTreeLevels ? levels : kReadTreeLevels;
    for (int64_t i = 0, step = kBlock >> (levels - read); i < count; i += step) {
      const int64_t size = smaller(step, count - i), few = size << (levels - read);
      const char* const x = bytes + (i << levels) * static_cast<int64_t>(sizeof(T));
      Word word[kBlock];
      const auto combine = [&] {
        cpu::TR_CPU_NAMESPACE::trees<WordOp, T, Word>(x, read, few, word);
        fold<WordOp>(word, few / size, size);
      };
      if (stays_in_range(combine)) {
        take(word, size, out + i);
        continue;
      }
      Acc careful[kBlock];
      Careful().trees(x, read, few, careful);
      fold<Op>(careful, few / size, size);
      for (int64_t j = 0; j < size; ++j) out[i + j] = careful[j];
    }
  }

  static void windows(const char* const* x, int steps, int64_t group, int64_t prefetch, Acc* out) {
    Word word[kSubtrees];
    if (stays_in_range([&] { cpu::TR_CPU_NAMESPACE::windows<WordOp, T, Word>(x, steps, group, prefetch, word); })) {
      return take(word, kSubtrees, out);
    }
    Careful().windows(x, steps, group, 0, out);
  }

  static void chunks(const char* x, int64_t count, Ahead ahead, Acc* out) {
    constexpr int64_t kMost = kBlock / kSubtrees;
    for (int64_t left = count, size; left > 0; left -= size) {
      size = smaller(kMost, left);
      Word word[kBlock];
      if (stays_in_range([&] { cpu::TR_CPU_NAMESPACE::chunks<WordOp, T, Word>(x, size, ahead, word); })) {
        take(word, size * kSubtrees, out);
      } else {
        Careful().chunks(x, size, Ahead::Nothing, out);
      }
      x += size * kChunk * static_cast<int64_t>(sizeof(T));
      out += size * kSubtrees;
    }
  }

  static void rest(const char* x, int64_t n, Ahead ahead, Acc* out) {
    Word word[kSubtrees];
    if (stays_in_range([&] { cpu::TR_CPU_NAMESPACE::rest<WordOp, T, Word>(x, n, ahead, word); })) {
      return take(word, kSubtrees, out);
    }
    Careful().rest(x, n, Ahead::Nothing, out);
  }
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
