// Copies of elements as they are, by size: a gather of scattered elements into a short contiguous block.
#pragma once

#include <cstdint>

#include "../types.h"

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

// A short copy without a call: whole blocks, the last of which may overlap the one before.
template <int Block>
TR_HD void copy_blocks(const char* x, int64_t bytes, char* out) {
  for (int64_t i = 0; i + Block < bytes; i += Block) __builtin_memcpy(out + i, x + i, Block);
  __builtin_memcpy(out + bytes - Block, x + bytes - Block, Block);
}

TR_HD void copy_bytes(const char* x, int64_t bytes, char* out) {
  if (bytes >= 64) {
    copy_blocks<64>(x, bytes, out);
  } else if (bytes >= 16) {
    copy_blocks<16>(x, bytes, out);
  } else {
    for (int64_t i = 0; i < bytes; ++i) out[i] = x[i];
  }
}

// The stride counts elements.
TR_HD void copy_elements(const char* x, int64_t size, int64_t stride, int64_t count, char* out) {
  if (stride == 1) {
    copy_bytes(x, count * size, out);
  } else if (size == 1) {
    copy_words<uint8_t>(x, stride, count, out);
  } else if (size == 2) {
    copy_words<uint16_t>(x, stride, count, out);
  } else if (size == 4) {
    copy_words<uint32_t>(x, stride, count, out);
  } else {
    copy_words<uint64_t>(x, stride, count, out);
  }
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
