// Copies of some lines of strided elements into contiguous ones, so that a cache line is used whole.
#pragma once

#include "core/cpu/simd/copy.h"
#include "core/cpu/simd/vectors.h"

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

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
