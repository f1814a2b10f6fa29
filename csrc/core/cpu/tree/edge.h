// The last elements of a chunk that is not whole, where they do not fill a vector.
#pragma once

#include "core/cpu/simd/copy.h"
#include "core/cpu/simd/vectors.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// How many elements are read at a time: a vector of leaves, or of their pairs.
template <class T, class Acc>
constexpr int kReadWidth = kLanes<Acc> << kReadLevels<T, Acc, 1>;

// Up to `count` elements from x on, fewer than a read takes, and then identities: where a whole read finds them. No
// byte behind the elements is touched.
template <class Op, class T, class Acc>
class Edge {
 public:
  TR_HD Edge(const char* x, int64_t count) {
    fill_elements(identity_bits<Op, T>(), sizeof(T), kReadWidth<T, Acc>, bytes_);
    if (count == 0) return;
#if defined(__AVX512F__)
    const uint32_t present = (uint32_t{1} << count) - 1;
    if constexpr (kBytes == 32 && sizeof(T) == 2) {
      const __m256i others = _mm256_load_si256(reinterpret_cast<__m256i*>(bytes_));
      _mm256_store_si256(reinterpret_cast<__m256i*>(bytes_), _mm256_mask_loadu_epi16(others, present, x));
    } else if constexpr (kBytes < 64) {  // elements that become doubles
      copy_bytes(x, count * sizeof(T), bytes_);
    } else {
      __m512i v = _mm512_load_si512(bytes_);
      if constexpr (sizeof(T) == 2) v = _mm512_mask_loadu_epi16(v, present, x);
      if constexpr (sizeof(T) == 4) v = _mm512_mask_loadu_epi32(v, static_cast<__mmask16>(present), x);
      if constexpr (sizeof(T) == 8) v = _mm512_mask_loadu_epi64(v, static_cast<__mmask8>(present), x);
      _mm512_store_si512(bytes_, v);
    }
#else
    copy_bytes(x, count * sizeof(T), bytes_);
#endif
  }

  const char* bytes() const { return bytes_; }

 private:
  static constexpr int kBytes = kReadWidth<T, Acc> * sizeof(T);
  alignas(64) char bytes_[kBytes];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
