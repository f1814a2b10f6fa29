// Copies of elements as they are, by size: a gather of scattered elements into a short contiguous block.
#pragma once

#include <cstdint>

#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Words that may hold elements of any type.
template <class Word>
struct AnyWord {
  typedef Word type __attribute__((may_alias));
};

template <class Word>
void copy_words(const char* bytes, int64_t stride, int64_t count, char* __restrict out) {
  using Any = typename AnyWord<Word>::type;
  const Any* x = reinterpret_cast<const Any*>(bytes);
  Any* __restrict y = reinterpret_cast<Any*>(out);
  if (stride == 2) {  // every other element, the common case, in vectors
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * 2];
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
  }
}

template <class Word>
void fill_words(uint64_t bits, int64_t count, char* out) {
  using Any = typename AnyWord<Word>::type;
  Any* y = reinterpret_cast<Any*>(out);
  for (int64_t i = 0; i < count; ++i) y[i] = static_cast<Word>(bits);
}

// Vectors, as compilers copy by 16 bytes at a time on their own.
template <int Block>
TR_HD void copy_block(const char* x, char* out) {
  constexpr int kBytes = Block < kVectorBytes ? Block : kVectorBytes;
  TR_UNROLL
  for (int i = 0; i < Block; i += kBytes) {
    typename VectorOf<uint8_t, kBytes>::type v;
    __builtin_memcpy(&v, x + i, kBytes);
    __builtin_memcpy(out + i, &v, kBytes);
  }
}

// A short copy without a call: whole blocks, the last of which may overlap the one before.
template <int Block>
TR_HD void copy_blocks(const char* x, int64_t bytes, char* out) {
  int64_t i = 0;
  if constexpr (Block > kVectorBytes) {  // aligned stores: those that cross a line take twice as long
    copy_block<kVectorBytes>(x, out);
    i = kVectorBytes - (reinterpret_cast<uintptr_t>(out) & (kVectorBytes - 1));
  }
  for (; i + Block < bytes; i += Block) copy_block<Block>(x + i, out + i);
  copy_block<Block>(x + bytes - Block, out + bytes - Block);
}

TR_HD void copy_bytes(const char* x, int64_t bytes, char* out) {
  if (bytes >= 2 * kVectorBytes) {
    copy_blocks<2 * kVectorBytes>(x, bytes, out);
  } else if (bytes >= 16) {
    copy_blocks<16>(x, bytes, out);
  } else {
    for (int64_t i = 0; i < bytes; ++i) out[i] = x[i];
  }
}

// A call, as every kernel that copies would hold these loops four times.
__attribute__((noinline)) inline void copy_strided(const char* x, int64_t size, int64_t stride, int64_t count,
                                                   char* out) {
  if (size == 1) {
    copy_words<uint8_t>(x, stride, count, out);
  } else if (size == 2) {
    copy_words<uint16_t>(x, stride, count, out);
  } else if (size == 4) {
    copy_words<uint32_t>(x, stride, count, out);
  } else {
    copy_words<uint64_t>(x, stride, count, out);
  }
}

// The stride counts elements.
TR_HD void copy_elements(const char* x, int64_t size, int64_t stride, int64_t count, char* out) {
  if (stride == 1) return copy_bytes(x, count * size, out);
  copy_strided(x, size, stride, count, out);
}

TR_HD void fill_elements(uint64_t bits, int64_t size, int64_t count, char* out) {
  if (size == 1) {
    fill_words<uint8_t>(bits, count, out);
  } else if (size == 2) {
    fill_words<uint16_t>(bits, count, out);
  } else if (size == 4) {
    fill_words<uint32_t>(bits, count, out);
  } else {
    fill_words<uint64_t>(bits, count, out);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
