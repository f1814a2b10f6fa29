// Scans in the canonical order: rows one at a time, or as many neighbouring rows as a vector has lanes.
#pragma once

#include "core/cpu/scan/chunk.h"
#include "core/cpu/scan/job.h"
#include "core/cpu/scan/plain.h"
#include "core/cpu/simd/copy_tile.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc, bool Across>
class OrderedScan {
 public:
  using Prefixes = ChunkPrefixes<O, Acc, Across>;
  using Values = typename Prefixes::Values;
  using Node = typename Prefixes::Node;
  using Number = number_of<Acc>;
  static constexpr int kWidth = Prefixes::L::kWidth, kRows = Across ? kWidth : 1;

  explicit OrderedScan(const ScanJob<O, Acc>& job) : job_(job) {}

  static int64_t tasks(const ScanJob<O, Acc>& job) { return job.units_of(kRows) * job.plan.pieces; }

  // A piece of some rows, behind the pieces before it.
  void scan(int64_t task) {
    const int64_t pieces = job_.plan.pieces, piece = task % pieces, chunks = chunk_count(job_.layout().n);
    const auto* partials = reinterpret_cast<const Node*>(job_.partials) + task / pieces * pieces;
    const int log_piece = log2_above(job_.plan.piece_chunks);
    rows_ = job_.rows_of(task / pieces, kRows);
    stack_.waiting.clear();
    for (int64_t i = 0; i < piece; ++i) stack_.push(partials[i], log_piece);
    const int64_t begin = piece * job_.plan.piece_chunks, end = smaller(begin + job_.plan.piece_chunks, chunks);
    for (int64_t chunk = begin; chunk < end; ++chunk) scan_chunk(chunk * kChunk, chunk + 1 < end);
  }

  // The value of a piece, for those behind it.
  void reduce(int64_t task) {
    const int64_t pieces = job_.plan.pieces, piece = task % pieces, chunks = chunk_count(job_.layout().n);
    if (piece + 1 == pieces) return;
    rows_ = job_.rows_of(task / pieces, kRows);
    stack_.waiting.clear();
    const int64_t begin = piece * job_.plan.piece_chunks, end = smaller(begin + job_.plan.piece_chunks, chunks);
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      for (int step = 0; step < kSteps; ++step) {
        read(prefixes_, chunk * kChunk + step * kLeaves, kLeaves);
        step == 0 ? prefixes_.template add<true>() : prefixes_.template add<false>();
      }
      stack_.push(prefixes_.total_of_added());
    }
    Node value = stack_.level[log2_above(job_.plan.piece_chunks)];
    __builtin_memcpy(job_.partials + task * sizeof(Node), &value, sizeof(Node));
  }

 private:
  static constexpr bool kTriesPlain = multiplies_plain<O, Acc>;
  struct None {
    using type = None;
  };
  struct Some {
    using type = PlainPrefixes<word_of<Acc>, Across>;
  };
  using Plain = typename std::conditional_t<kTriesPlain, Some, None>::type;

  // Whether a vector's rows are few elements each, one row behind the other: they are read and written as one.
  static constexpr int64_t kMostPacked = 32;
  bool are_packed(int64_t along, int64_t across) const {
    const int64_t n = job_.layout().n;
    return n <= kMostPacked && rows_.count == kWidth && across == n && (along == 1 || n == 1);
  }

  // to[i * columns + j] = from[j * rows + i].
  template <class T>
  static void turn(const T* from, int64_t rows, int64_t columns, T* to) {
    if constexpr (sizeof(T) == 4 || sizeof(T) == 8) {
      using Word = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
      copy_tile<Word>(reinterpret_cast<const char*>(from), rows, 1, columns, rows, reinterpret_cast<char*>(to));
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) to[i * columns + j] = from[j * rows + i];
      }
    }
  }

  static int groups_of(int64_t leaves) {
    return static_cast<int>((leaves + Prefixes::kLeavesAtOnce - 1) / Prefixes::kLeavesAtOnce);
  }
  // How many leaves have an element in the step from `at` on.
  int64_t leaves_at(int64_t at) const { return smaller(kLeaves, job_.layout().n - at); }

  void scan_chunk(int64_t first, bool another) {
    Values left[64];
    int count = 0;
    for (int k = 0; stack_.waiting.count() >> k; ++k) {
      if ((stack_.waiting.count() >> k) & 1) left[count++] = Prefixes::spread(stack_.level[k]);
    }
    const int64_t end = smaller(first + kChunk, job_.layout().n);
    int64_t at = first;
    if constexpr (kTriesPlain) {
      at = scan_plain(first, end, left, count);
      if (at >= end) {
        if (another) stack_.push(lift<O>(plain_.total()));
        return;
      }
    }
    for (int64_t past = first; past < at; past += kLeaves) step(prefixes_, past, past == first, left, 0);
    for (; at < end; at += kLeaves) {
      step(prefixes_, at, at == first, left, count);
      write_prefixes(at);
    }
    if (another) stack_.push(prefixes_.total());
  }

  // Products as far as they need no exponent of their own: where others begin.
  int64_t scan_plain(int64_t first, int64_t end, const Values* scaled_left, int count) {
    using Words = Vector<word_of<Acc>>;
    Words left[64], product = Words{} + 1;
    for (int i = 0; i < count; ++i) {
      left[i] = scaled_left[i].significand;
      product *= left[i];
      for (int lane = 0; lane < kWidth; ++lane) {
        if (scaled_left[i].exponent[lane] != 0 || !decltype(plain_.seen)::may_be_left(product[lane])) return first;
      }
    }
    plain_.seen = {};
    for (int64_t at = first; at < end; at += kLeaves) {
      step(plain_, at, at == first, left, count);
      if (!plain_.seen.are_plain()) return at;
      write(plain_, at, job_.write_words);
    }
    return end;
  }

  // Scaled products as words, if those round once: bfloat16, which has the exponents of float, rounds subnormal ones
  // again.
  void write_prefixes(int64_t at) {
    if constexpr (kTriesPlain) {
      bool are_words = sizeof(word_of<Acc>) == 8 || job_.problem.out != DType::BFloat16;
      for (int g = 0; g < groups_of(leaves_at(at)); ++g) {
        plain_.value[g] = unscaled(prefixes_.value[g]);
        if (!are_words && has_subnormal(plain_.value[g])) return write(prefixes_, at, job_.write);
      }
      return write(plain_, at, job_.write_words);
    }
    write(prefixes_, at, job_.write);
  }

  template <class P>
  void step(P& prefixes, int64_t at, bool is_first, const typename P::Values* left, int count) {
    const int64_t leaves = leaves_at(at);
    read(prefixes, at, leaves);
    is_first ? prefixes.template step<true>(groups_of(leaves), left, count)
             : prefixes.template step<false>(groups_of(leaves), left, count);
  }

  // Elements of the rows from `at` on, one of each leaf.
  template <class P>
  void read(P& prefixes, int64_t at, int64_t leaves) {
    const int64_t stride = scanned_stride(job_.problem), bytes = job_.in_bytes();
    alignas(64) Number number[Across ? kWidth : kLeaves];
    if constexpr (Across) {
      if (are_packed(stride, job_.inner().in_stride)) {
        alignas(64) Number tile[kMostPacked * kWidth], turned[kMostPacked * kWidth];
        const Number* x = job_.reads_numbers(stride) ? reinterpret_cast<const Number*>(rows_.in) : tile;
        if (x == tile) job_.read(rows_.in, 1, kWidth * leaves, tile);
        turn(x, leaves, kWidth, turned);
        for (int64_t i = 0; i < leaves; ++i) prefixes.value[i] = P::L::lifted(turned + i * kWidth);
        return;
      }
      const bool reads_numbers = rows_.count == kWidth && job_.reads_numbers(job_.inner().in_stride);
      for (int64_t i = rows_.count; i < kWidth; ++i) number[i] = O::template identity<Number>();
      for (int64_t i = 0; i < leaves; ++i) {
        const char* const from = rows_.in + (at + i) * stride * bytes;
        if (!reads_numbers) job_.read(from, job_.inner().in_stride, rows_.count, number);
        prefixes.value[i] = P::L::lifted(reads_numbers ? reinterpret_cast<const Number*>(from) : number);
      }
    } else {
      const char* const from = rows_.in + at * stride * bytes;
      const Number* x = number;
      if (leaves % kWidth == 0 && job_.reads_numbers(stride)) {
        x = reinterpret_cast<const Number*>(from);
      } else {
        job_.read(from, stride, leaves, number);
        for (int64_t i = leaves; i % kWidth != 0; ++i) number[i] = O::template identity<Number>();
      }
      for (int64_t i = 0; i < leaves; i += kWidth) prefixes.value[i / kWidth] = P::L::lifted(x + i);
    }
  }

  template <class P, class T>
  void write(const P& prefixes, int64_t at, Write<T> write) const {
    const int64_t stride = *job_.problem.scan_stride, bytes = job_.out_bytes(), leaves = leaves_at(at);
    alignas(64) T value[Across ? kWidth : kLeaves];
    char* const to = rows_.out + at * stride * bytes;
    if constexpr (Across) {
      if (are_packed(stride, job_.inner().out_stride)) {
        alignas(64) T tile[kMostPacked * kWidth], turned[kMostPacked * kWidth];
        for (int64_t i = 0; i < leaves; ++i) P::L::store(prefixes.value[i], turned + i * kWidth);
        turn(turned, kWidth, leaves, tile);
        return write(tile, kWidth * leaves, leaves, to, 1);
      }
      using Of = typename P::Combines;
      if constexpr (std::is_same<decltype(Of::finish(value[0], at)), T>::value) {
        if (rows_.count == kWidth && job_.writes_words(job_.inner().out_stride)) {
          for (int64_t i = 0; i < leaves; ++i) {
            P::L::store(prefixes.value[i], value);
            T* const result = reinterpret_cast<T*>(to + i * stride * bytes);
            for (int lane = 0; lane < kWidth; ++lane) result[lane] = Of::finish(value[lane], at + i + 1);
          }
          return;
        }
      }
      for (int64_t i = 0; i < leaves; ++i) {
        P::L::store(prefixes.value[i], value);
        write(value, rows_.count, at + i + 1, to + i * stride * bytes, job_.inner().out_stride);
      }
    } else {
      for (int64_t i = 0; i < leaves; i += kWidth) P::L::store(prefixes.value[i / kWidth], value + i);
      write(value, leaves, at + 1, to, stride);
    }
  }

  const ScanJob<O, Acc>& job_;
  typename ScanJob<O, Acc>::Rows rows_{};
  Prefixes prefixes_;
  Plain plain_;
  Stack<O, Node> stack_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
