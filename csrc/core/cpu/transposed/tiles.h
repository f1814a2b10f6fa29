// Reduced dims that lie in memory in another order than in the shape, as in a full sum of a transposed matrix:
// neighbours in the order are far apart, and each would fetch a cache line of its own. Tiles of some lines of the
// innermost dim are copied into their logical order, so that a cache line is used whole.
#pragma once

#include "core/cpu/job/job.h"
#include "core/cpu/simd/copy.h"
#include "core/cpu/simd/vectors.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The side of a tile's squares. 16-byte vectors of 2-byte words: whole registers of them fill more registers than there
// are. Strides that are powers of two map a column of the tile to one set of the first cache: 8 lines of it fit.
template <class Word>
constexpr int kSquare = sizeof(Word) >= 4 ? kLanes<Word> : 8;

// Values of a and b in turn, from the first (Offset 0) or second half of each part of a vector.
template <int Offset, int Parts, class V, int... I>
TR_HD V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kAll = sizeof...(I), kPart = kAll / Parts;
  return TR_SHUFFLE(a, b, I % 2 * kAll + I / kPart * kPart + Offset * kPart / 2 + I % kPart / 2);
}

// y[i * pitch + j] = x[i + j * stride] for i, j < kSquare: a square in registers. Each stage rotates the bits of
// (register, lane) by one place; in AVX2, whose interleaving stays within halves of a vector, those of each half, after
// the first bits of both have changed places. Rows pass through a variable, as GCC copies 32 bytes to an array in
// halves by way of memory.
template <class Word, class Any>
TR_HD void transpose_square(const Any* x, int64_t stride, Any* y, int64_t pitch) {
  constexpr int kSide = kSquare<Word>;
  constexpr std::make_integer_sequence<int, kSide> lanes{};
  using Row = typename VectorOf<Word, kSide>::type;
  constexpr int kParts = sizeof(Row) == 32 ? 2 : 1, kPart = kSide / kParts;
  Row a[kSide], b[kSide];
  TR_UNROLL
  for (int j = 0; j < kSide; ++j) {
    Row row;
    __builtin_memcpy(&row, x + j * stride, sizeof(row));
    a[j] = row;
  }
  if constexpr (kParts == 2) {
    TR_UNROLL
    for (int j = 0; j < kPart; ++j) {
      b[j] = halves<0>(a[j], a[j + kPart], lanes);
      b[j + kPart] = halves<1>(a[j], a[j + kPart], lanes);
    }
    TR_UNROLL
    for (int j = 0; j < kSide; ++j) a[j] = b[j];
  }
  TR_UNROLL
  for (int stage = 1; stage < kPart; stage *= 2) {
    TR_UNROLL
    for (int j = 0; j < kSide; j += 2) {
      const int left = j / kPart * kPart + j % kPart / 2;
      b[j] = interleave<0, kParts>(a[left], a[left + kPart / 2], lanes);
      b[j + 1] = interleave<1, kParts>(a[left], a[left + kPart / 2], lanes);
    }
    TR_UNROLL
    for (int j = 0; j < kSide; ++j) a[j] = b[j];
  }
  TR_UNROLL
  for (int i = 0; i < kSide; ++i) {
    const Row row = a[i];
    __builtin_memcpy(y + i * pitch, &row, sizeof(row));
  }
}

// y[i * length + j] = x[i * line_stride + j * stride] for i < rows, j < columns: a square or what there is of one.
template <class Word, class Any>
TR_HD void copy_square(const Any* x, int64_t rows, int64_t line_stride, int64_t columns, int64_t stride, Any* y,
                       int64_t length) {
  if constexpr (sizeof(Word) >= 2) {
    if (line_stride == 1 && rows == kSquare<Word> && columns == kSquare<Word>) {
      return transpose_square<Word>(x, stride, y, length);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[r * length + c] = x[r * line_stride + c * stride];
  }
}

// y[i * length + j] = x[i * line_stride + j * stride] for i < lines, j < length.
template <class Word>
void copy_tile(const char* bytes, int64_t lines, int64_t line_stride, int64_t length, int64_t stride, char* out) {
  using Any = typename AnyWord<Word>::type;
  const Any* x = reinterpret_cast<const Any*>(bytes);
  Any* y = reinterpret_cast<Any*>(out);
  // Squares that fill a cache line of y one after the other, before it may be lost to the lines beside it.
  constexpr int64_t kSide = kSquare<Word>, kWhole = 64 / sizeof(Word), kBlock = kWhole > kSide ? kWhole : kSide;
  for (int64_t block = 0; block < length; block += kBlock) {
    const int64_t end = smaller(block + kBlock, length);
    for (int64_t j = end; j < smaller(end + kBlock, length); ++j) {  // the next block: no prefetcher follows the stride
      prefetch_bytes(reinterpret_cast<const char*>(x + j * stride), lines * static_cast<int64_t>(sizeof(Word)));
    }
    for (int64_t i = 0; i < lines; i += kSide) {
      const int64_t rows = smaller(kSide, lines - i);
      for (int64_t j = block; j < end; j += kSide) {
        const int64_t columns = smaller(kSide, end - j);
        copy_square<Word>(x + i * line_stride + j * stride, rows, line_stride, columns, stride, y + i * length + j,
                          length);
      }
    }
  }
}

// The elements of one output after another, in their logical order.
template <class Op, class Acc>
class Tiles {
 public:
  // `buffer` has room for the lines of a tile and a chunk.
  Tiles(const Job<Op, Acc>& job, char* buffer)
      : layout_(job.layout()), size_(job.elements.size), lines_(job.plan.tile_lines), buffer_(buffer) {}

  // Starts on elements [k, end) of the output at x.
  void start(const char* x, int64_t k, int64_t end) {
    x_ = x;
    k_ = k;
    end_ = end;
    held_ = given_ = 0;
  }

  // Elements that follow, contiguous; a multiple of kChunk unless they are the last. 0 when there are no more.
  int64_t next(const char** data) {
    held_ -= given_;
    __builtin_memmove(buffer_, buffer_ + given_ * size_, static_cast<size_t>(held_ * size_));
    while (held_ < kChunk && k_ < end_) append();
    given_ = k_ < end_ ? held_ / kChunk * kChunk : held_;
    *data = buffer_;
    return given_;
  }

 private:
  // Appends some lines, or what is left of one.
  void append() {
    const ReducedDim &inner = layout_.reduced[layout_.reduced_dims - 1],
                     &outer = layout_.reduced[layout_.reduced_dims - 2];
    int64_t rest = k_ / inner.size, offset = k_ % inner.size * inner.stride;
    const int64_t line = rest % outer.size;
    for (int d = layout_.reduced_dims - 2; d >= 0; --d) {
      offset += rest % layout_.reduced[d].size * layout_.reduced[d].stride;
      rest /= layout_.reduced[d].size;
    }
    const char* x = x_ + offset * size_;
    char* out = buffer_ + held_ * size_;
    int64_t count = smaller(inner.size - k_ % inner.size, end_ - k_);
    if (count < inner.size) {
      copy_elements(x, size_, inner.stride, count, out);
    } else {
      const int64_t lines = smaller(smaller(lines_, outer.size - line), (end_ - k_) / inner.size);
      count = lines * inner.size;
      if (size_ == 1) copy_tile<uint8_t>(x, lines, outer.stride, inner.size, inner.stride, out);
      if (size_ == 2) copy_tile<uint16_t>(x, lines, outer.stride, inner.size, inner.stride, out);
      if (size_ == 4) copy_tile<uint32_t>(x, lines, outer.stride, inner.size, inner.stride, out);
      if (size_ == 8) copy_tile<uint64_t>(x, lines, outer.stride, inner.size, inner.stride, out);
    }
    k_ += count;
    held_ += count;
  }

  const Layout& layout_;
  int64_t size_, lines_;
  char* const buffer_;
  const char* x_ = nullptr;
  int64_t k_ = 0, end_ = 0;       // next to read
  int64_t held_ = 0, given_ = 0;  // elements in the buffer, and those that next() gave last
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
