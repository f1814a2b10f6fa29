// Sums of columns of one-byte integers, two to a register, sixteen bits each. In 32 bits each a thread's sixteen
// columns and the sums of its batches took 122 registers, so that an SM had 16 of its 64 warps, and two instructions an
// element.
#pragma once

#include "core/cuda/lane/vector.cuh"

namespace torch_reduce::cuda {

constexpr int kPackedColumns = 16, kPackedWords = kPackedColumns / 2;

// A lane's batch is so many loads. A warp adds up one batch for each lane side by side before it widens their sums:
// with those of the lanes above each other, 256 elements.
constexpr int kLoadsOfPacked = 8;
static_assert(255 * kLoadsOfPacked * kWarp <= 0xffff, "sums of two columns stay apart");

// Four elements as bytes without a sign: unpack() knows what was added.
template <class In>
__device__ __forceinline__ uint32_t unsigned_bytes(uint32_t four) {
  if constexpr (std::is_same<In, Bool>::value) return bytes_that_are_set(four);
  return std::is_same<In, int8_t>::value ? four ^ 0x80808080u : four;
}

// Word 2i has columns 4i and 4i + 2, the next one those after them.
template <class In>
__device__ __forceinline__ void pack(const uint4& raw, uint32_t (&word)[kPackedWords]) {
  const uint32_t fours[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const uint32_t bytes = unsigned_bytes<In>(fours[i]);
    word[2 * i] = bytes & 0x00ff00ffu;
    word[2 * i + 1] = __byte_perm(bytes, 0, 0x4341);
  }
}

// Four columns' sums of `elements` elements, from the two words that have them.
template <class In>
__device__ __forceinline__ void unpack(uint32_t even, uint32_t odd, int elements, int (&sum)[4]) {
  const int added = std::is_same<In, int8_t>::value ? 128 * elements : 0, shift = std::is_same<In, Bool>::value ? 7 : 0;
  sum[0] = static_cast<int>((even & 0xffffu) >> shift) - added;
  sum[1] = static_cast<int>((odd & 0xffffu) >> shift) - added;
  sum[2] = static_cast<int>(even >> (16 + shift)) - added;
  sum[3] = static_cast<int>(odd >> (16 + shift)) - added;
}

}  // namespace torch_reduce::cuda
