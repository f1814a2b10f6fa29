// Where the elements of two tensors lie side by side, and what they make together.
#pragma once

#include "core/cpu/element/with_type.h"
#include "core/cpu/job/cursor.h"
#include "core/cpu/tree/leaves.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// A run of elements of both.
struct Run {
  const char *own, *other;
  int64_t own_stride, other_stride;  // in elements
};

// The elements that count, and in the place of the others `identity`.
template <class Bits>
void keep_counted(const Run& r, int64_t count, uint64_t identity, char* to) {
  const Bits* own = reinterpret_cast<const Bits*>(r.own);
  const uint8_t* other = reinterpret_cast<const uint8_t*>(r.other);
  Bits* out = reinterpret_cast<Bits*>(to);
  const Bits missing = static_cast<Bits>(identity);
  if (r.own_stride == 1 && r.other_stride == 1) {
    for (int64_t i = 0; i < count; ++i) out[i] = other[i] != 0 ? own[i] : missing;
  } else {
    for (int64_t i = 0; i < count; ++i) out[i] = other[i * r.other_stride] != 0 ? own[i * r.own_stride] : missing;
  }
}

inline void keep_counted(const Run& r, int64_t size, int64_t count, uint64_t identity, char* to) {
  switch (size) {
    case 1:
      return keep_counted<uint8_t>(r, count, identity, to);
    case 2:
      return keep_counted<uint16_t>(r, count, identity, to);
    case 4:
      return keep_counted<uint32_t>(r, count, identity, to);
    default:
      return keep_counted<uint64_t>(r, count, identity, to);
  }
}

// Walks on through the elements of one output in both tensors, or through those of neighbours.
class PairCursor {
 public:
  PairCursor(const Problem& p, const Layout& other)
      : own_layout_(p.layout),
        other_layout_(other),
        own_size_(static_cast<int64_t>(size_of(p.in))),
        other_size_(static_cast<int64_t>(size_of(p.partner.type))),
        own_(p.layout, own_size_),
        other_(other, other_size_) {}

  void start(const char* own, const char* other, int64_t output, int64_t k) {
    own_.start(own + kept_offset(own_layout_, output) * own_size_);
    other_.start(other + kept_offset(other_layout_, output) * other_size_);
    own_.move_to(k);
    other_.move_to(k);
  }
  int64_t left() const { return own_.left(); }
  void advance(int64_t count) {
    own_.advance(count);
    other_.advance(count);
  }
  // From here on along the innermost reduced dim, or across the outputs.
  Run along() const { return {own_.row(), other_.row(), stride_of(own_layout_), stride_of(other_layout_)}; }
  Run across() const {
    return {own_.row(), other_.row(), own_layout_.kept[own_layout_.kept_dims - 1].in_stride,
            other_layout_.kept[other_layout_.kept_dims - 1].in_stride};
  }

 private:
  static int64_t stride_of(const Layout& l) { return l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 1; }
  static int64_t kept_offset(const Layout& l, int64_t output) {
    int64_t offset = 0;
    for (int d = l.kept_dims - 1; d >= 0; --d) {
      offset += output % l.kept[d].size * l.kept[d].in_stride;
      output /= l.kept[d].size;
    }
    return offset;
  }

  const Layout &own_layout_, &other_layout_;
  int64_t own_size_, other_size_;
  Cursor own_, other_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
