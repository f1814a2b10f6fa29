// Scans in the canonical order: rows one at a time, or as many neighbouring rows as a vector has lanes.
#pragma once

#include "core/cpu/scan/chunk.h"
#include "core/cpu/scan/job.h"
#include "core/cpu/scan/powers.h"
#include "core/cpu/simd/copy_tile.h"
#include "core/cpu/simd/range.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class O, class Acc, bool Across>
class OrderedScan {
 public:
  static constexpr bool kTriesPlain = multiplies_plain<O, Acc>;
  using Prefixes = ChunkPrefixes<std::conditional_t<kTriesPlain, ChunkProduct, O>, Acc, Across>;
  using Values = typename Prefixes::Values;
  using Node = typename Prefixes::Node;
  using Number = number_of<Acc>;
  static constexpr int kWidth = Prefixes::L::kWidth, kRows = Across ? kWidth : 1;

  explicit OrderedScan(const ScanJob<O, Acc>& job) : job_(job) {}

  static int64_t tasks(const ScanJob<O, Acc>& job) { return job.units_of(kRows) * job.plan.pieces; }

  // A piece of some rows, behind the pieces before it.
  void scan(int64_t task) {
    const int64_t pieces = job_.plan.pieces, chunks = chunk_count(job_.layout().n);
    const int64_t unit = pieces == 1 ? task : task / pieces,
                  piece = task - unit * pieces;  // short rows notice divisions
    const auto* partials = reinterpret_cast<const Node*>(job_.partials) + unit * pieces;
    const int log_piece = log2_above(job_.plan.piece_chunks);
    rows_ = job_.rows_of(unit, kRows);
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
      stack_.push(as_combined(prefixes_.total_of(elements(chunk * kChunk, kChunk))));
    }
    Node value = stack_.level[log2_above(job_.plan.piece_chunks)];
    __builtin_memcpy(job_.partials + task * sizeof(Node), &value, sizeof(Node));
  }

 private:
  struct None {
    using type = None;
  };
  struct Some {
    using type = ChunkPrefixes<Product, word_of<Acc>, Across>;
  };
  using Plain = typename std::conditional_t<kTriesPlain, Some, None>::type;

  static constexpr int kCarefulChunks = 8;

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

  void scan_chunk(int64_t first, bool another) {
    Values left[64];
    int count = 0;
    for (int k = 0; stack_.waiting.count() >> k; ++k) {
      if ((stack_.waiting.count() >> k) & 1) left[count++] = Prefixes::spread(stack_.level[k]);
    }
    const int64_t n = smaller(kChunk, job_.layout().n - first);
    if constexpr (kTriesPlain) {
      if (careful_ == 0) {
        if (scan_plain(first, n, left, count)) {
          if (another) stack_.push(lift<O>(plain_.total()));
          return;
        }
        careful_ = kCarefulChunks;
      }
      --careful_;
      for (int i = 0; i < count; ++i) left[i] = Powers<Vector<word_of<Acc>>>::of_units(left[i]);
    }
    prefixes_.scan(n, elements(first, n), left, count);
    write_prefixes(first, n);
    if (another) stack_.push(as_combined(prefixes_.total()));
  }

  // A chunk's value as O combines it.
  static Node as_combined(const Node& total) {
    if constexpr (kTriesPlain) {
      return Powers<decltype(total.significand)>::in_units(total);
    } else {
      return total;
    }
  }

  // Products, if they need no exponent of their own.
  bool scan_plain(int64_t first, int64_t n, const Values* scaled_left, int count) {
    using Word = word_of<Acc>;
    Vector<Word> left[64];
    for (int i = 0; i < count; ++i) {
      left[i] = scaled_left[i].significand;
      for (int lane = 0; lane < kWidth; ++lane) {
        if (scaled_left[i].exponent[lane] != 0) return false;
      }
    }
    const auto factors = elements(first, n);
    const auto factor = [&](int group) { return load<Word>(factors.numbers(group)); };
    if (!stays_in_range([&] { plain_.scan(n, factor, left, count); })) return false;
    write(plain_, first, n, job_.write_words);
    return true;
  }

  void write_prefixes(int64_t first, int64_t n) {
    if constexpr (kTriesPlain) {
      using P = Powers<Vector<word_of<Acc>>>;
      const bool is_bfloat16 = job_.problem.out == DType::BFloat16;  // which has subnormal numbers where float has
      for (int g = 0; g < Prefixes::groups_of(n); ++g) {
        const Values prefix = prefixes_.prefix[g];
        plain_.prefix[g] = is_bfloat16 ? P::template words<true>(prefix) : P::template words<false>(prefix);
      }
      write(plain_, first, n, job_.write_words);
    } else {
      write(prefixes_, first, n, job_.write);
    }
  }

  // The elements of a chunk, a group of leaves at a time.
  struct Groups {
    OrderedScan& scan;
    const char* from;
    int64_t pitch;  // bytes from a group to the next
    bool are_numbers;

    const Number* numbers(int group) const {
      const char* const at = from + group * pitch;
      return are_numbers ? reinterpret_cast<const Number*>(at) : scan.read_rows(at);
    }
    Values operator()(int group) const { return Prefixes::L::lifted(numbers(group)); }
  };

  // The n elements from `first` on.
  Groups elements(int64_t first, int64_t n) {
    constexpr int64_t kVector = kWidth * static_cast<int64_t>(sizeof(Number));
    const int64_t stride = scanned_stride(job_.problem), pitch = stride * job_.in_bytes();
    const char* const from = rows_.in + first * pitch;
    const bool are_numbers = job_.reads_numbers(stride);
    if constexpr (Across) {
      if (!are_packed(stride, job_.inner().in_stride)) {
        return {*this, from, pitch, rows_.count == kWidth && job_.reads_numbers(job_.inner().in_stride)};
      }
      alignas(64) Number tile[kMostPacked * kWidth];
      if (!are_numbers) job_.read(from, 1, kWidth * n, tile);
      turn(are_numbers ? reinterpret_cast<const Number*>(from) : tile, n, kWidth, number_);
    } else {
      if (are_numbers && n % kWidth == 0) return {*this, from, kVector, true};
      job_.read(from, stride, n, number_);
      for (int64_t i = n; i % kWidth != 0; ++i) number_[i] = O::template identity<Number>();
    }
    return {*this, reinterpret_cast<const char*>(number_), kVector, true};
  }

  // An element of each row.
  const Number* read_rows(const char* from) {
    job_.read(from, job_.inner().in_stride, rows_.count, number_);
    for (int64_t i = rows_.count; i < kWidth; ++i) number_[i] = O::template identity<Number>();
    return number_;
  }

  template <class P, class T>
  void write(const P& prefixes, int64_t first, int64_t n, Write<T> write) const {
    const int64_t stride = *job_.problem.scan_stride, bytes = job_.out_bytes();
    char* const to = rows_.out + first * stride * bytes;
    alignas(64) T value[Across ? kWidth : kLeaves];
    if constexpr (Across) {
      if (are_packed(stride, job_.inner().out_stride)) {
        alignas(64) T tile[kMostPacked * kWidth], turned[kMostPacked * kWidth];
        for (int64_t i = 0; i < n; ++i) P::L::store(prefixes.prefix[i], turned + i * kWidth);
        turn(turned, kWidth, n, tile);
        return write(tile, kWidth * n, n, to, 1);
      }
      using Of = typename P::Combines;
      if constexpr (std::is_same<decltype(Of::finish(value[0], first)), T>::value) {
        if (rows_.count == kWidth && job_.writes_words(job_.inner().out_stride)) {
          for (int64_t i = 0; i < n; ++i) {
            P::L::store(prefixes.prefix[i], value);
            T* const result = reinterpret_cast<T*>(to + i * stride * bytes);
            for (int lane = 0; lane < kWidth; ++lane) result[lane] = Of::finish(value[lane], first + i + 1);
          }
          return;
        }
      }
      for (int64_t i = 0; i < n; ++i) {
        P::L::store(prefixes.prefix[i], value);
        write(value, rows_.count, first + i + 1, to + i * stride * bytes, job_.inner().out_stride);
      }
    } else if constexpr (is_scalar<T>) {
      write(reinterpret_cast<const T*>(prefixes.prefix), n, first + 1, to, stride);
    } else {
      for (int64_t at = 0; at < n; at += kLeaves) {
        const int64_t leaves = smaller(kLeaves, n - at);
        for (int64_t i = 0; i < leaves; i += kWidth) P::L::store(prefixes.prefix[(at + i) / kWidth], value + i);
        write(value, leaves, first + at + 1, to + at * stride * bytes, stride);
      }
    }
  }

  const ScanJob<O, Acc>& job_;
  typename ScanJob<O, Acc>::Rows rows_{};
  alignas(64) Number number_[Across ? kMostPacked * kWidth : kChunk];
  Prefixes prefixes_;
  Plain plain_;
  Stack<O, Node> stack_;
  int careful_ = 0;  // chunks before products are tried as words again
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
