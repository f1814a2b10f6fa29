// Reduced dims that lie in memory in another order than in the shape, as in a full sum of a transposed matrix:
// neighbours in the order are far apart, and each would fetch a cache line of its own. Tiles of some lines of the
// innermost dim are copied into their logical order, so that a cache line is used whole.
#pragma once

#include "core/cpu/job/job.h"
#include "core/cpu/simd/copy_tile.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

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
