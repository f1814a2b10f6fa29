// Where the elements of two tensors lie side by side, and what they make together.
#pragma once

#include "core/cpu/element/with_type.h"
#include "core/cpu/job/cursor.h"
#include "core/cpu/tree/leaves.h"
#include "core/problem/problem.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// Elements of both in lines. Strides, and pitches from a line to the next, count elements.
struct PairLines {
  const char *own, *other;
  int64_t own_stride, other_stride, own_pitch, other_pitch;
  int64_t lines, count;  // of each line
  int64_t first;         // the first element's number among those of its output: the next line's is by one more,
  bool across;           // or else the next element's
};

// What there is beside: an element that changes nothing, for masks; and of normalised factors, what a norm keeps of
// each row, and of how many words.
struct JoinInputs {
  uint64_t identity;
  const void* rows;
  int row_words;
};

// What each pair makes, without gaps.
using Join = void (*)(PairLines pairs, const JoinInputs& in, char* to);

// Calls f(x, x_stride, y, y_stride, count, to) for each line. Lines that follow one another in both are one.
template <class T, class U, class Out, class F>
TR_HD void for_lines(PairLines p, char* to, F f) {
  const T* own = reinterpret_cast<const T*>(p.own);
  const U* other = reinterpret_cast<const U*>(p.other);
  Out* out = reinterpret_cast<Out*>(to);
  if (p.own_pitch == p.count * p.own_stride && p.other_pitch == p.count * p.other_stride) {
    p.count *= p.lines;
    p.lines = 1;
  }
  for (int64_t i = 0; i < p.lines; ++i, own += p.own_pitch, other += p.other_pitch, out += p.count) {
    f(own, p.own_stride, other, p.other_stride, p.count, out);
  }
}

// The elements that count, and in the place of the others `identity`.
template <class Bits>
void keep_counted(PairLines pairs, const JoinInputs& in, char* to) {
  const Bits missing = static_cast<Bits>(in.identity);
  for_lines<Bits, uint8_t, Bits>(
      pairs, to, [missing](auto own, auto step, auto other, auto other_step, auto count, auto* __restrict out) {
        if (step == 1 && other_step == 1) {
          for (int64_t i = 0; i < count; ++i) out[i] = other[i] != 0 ? own[i] : missing;
        } else {
          for (int64_t i = 0; i < count; ++i) out[i] = other[i * other_step] != 0 ? own[i * step] : missing;
        }
      });
}

inline Join counted_of(int64_t size) {
  switch (size) {
    case 1:
      return keep_counted<uint8_t>;
    case 2:
      return keep_counted<uint16_t>;
    case 4:
      return keep_counted<uint32_t>;
    default:
      return keep_counted<uint64_t>;
  }
}

// Elements that vectors load.
template <class T>
constexpr bool is_vector_element =
    std::is_floating_point<T>::value || std::is_same<T, Half>::value || std::is_same<T, BFloat16>::value;

// Products of elements as numbers of the compute type.
template <class T, class Number>
void multiply_pairs(PairLines pairs, const JoinInputs&, char* to) {
  for_lines<T, T, Number>(
      pairs, to, [](const T* x, int64_t x_stride, const T* y, int64_t y_stride, int64_t count, Number* __restrict out) {
        int64_t i = 0;
        if constexpr (is_vector_element<T> && std::is_floating_point<Number>::value) {
          constexpr int kWidth = kLanes<Number>;
          if (x_stride == 1 && y_stride == 1) {
            for (; i + kWidth <= count; i += kWidth) {
              const Vector<Number> v = load_at<T, Number>(reinterpret_cast<const char*>(x), i) *
                                       load_at<T, Number>(reinterpret_cast<const char*>(y), i);
              __builtin_memcpy(out + i, &v, sizeof(v));
            }
          }
        }
        for (; i < count; ++i) {
          out[i] = multiply_numbers(element<Number>(x[i * x_stride]), element<Number>(y[i * y_stride]));
        }
      });
}

// The same of factors that are normalised first.
template <class T, class Number>
void multiply_normals(PairLines p, const JoinInputs& in, char* to) {
  const T* own = reinterpret_cast<const T*>(p.own);
  const T* other = reinterpret_cast<const T*>(p.other);
  Number* __restrict out = reinterpret_cast<Number*>(to);
  const auto row_of = [&](int64_t i) { return norm_row<Number>(in.rows, in.row_words, p.first + i); };
  for (int64_t line = 0; line < p.lines; ++line, own += p.own_pitch, other += p.other_pitch, out += p.count) {
    const NormRow<Number> of_line = row_of(p.across ? line : 0);
    int64_t i = 0;
    if constexpr (is_vector_element<T>) {
      constexpr int kWidth = kLanes<Number>;
      if (p.across && p.own_stride == 1 && p.other_stride == 1) {
        for (; i + kWidth <= p.count; i += kWidth) {
          const Vector<Number> v = load_at<T, Number>(reinterpret_cast<const char*>(own), i) *
                                   of_line.normal(load_at<T, Number>(reinterpret_cast<const char*>(other), i));
          __builtin_memcpy(out + i, &v, sizeof(v));
        }
      }
    }
    for (; i < p.count; ++i) {
      out[i] = NormalDot::join(element<Number>(own[i * p.own_stride]), element<Number>(other[i * p.other_stride]),
                               p.across ? of_line : row_of(i));
    }
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
    k_ = k;
    neighbours_ = own_layout_.kept_dims ? kept(own_layout_).size - output % kept(own_layout_).size : 1;
  }
  // Outputs from this one on that follow one another along the innermost kept dim.
  int64_t neighbours() const { return neighbours_; }
  int64_t left() const { return own_.left(); }
  void advance(int64_t count) {
    own_.advance(count);
    other_.advance(count);
    k_ += count;
  }
  // From here on `count` elements, at most left(), of each of some neighbours: a line of each, or a line across them of
  // each element.
  PairLines along(int64_t neighbours, int64_t count) const {
    return {own_.row(),
            other_.row(),
            reduced_stride(own_layout_),
            reduced_stride(other_layout_),
            kept_stride(own_layout_),
            kept_stride(other_layout_),
            neighbours,
            count,
            k_,
            /*across=*/false};
  }
  PairLines across(int64_t neighbours, int64_t count) const {
    return {own_.row(),
            other_.row(),
            kept_stride(own_layout_),
            kept_stride(other_layout_),
            reduced_stride(own_layout_),
            reduced_stride(other_layout_),
            count,
            neighbours,
            k_,
            /*across=*/true};
  }

 private:
  static const KeptDim& kept(const Layout& l) { return l.kept[l.kept_dims - 1]; }
  static int64_t kept_stride(const Layout& l) { return l.kept_dims ? kept(l).in_stride : 1; }
  static int64_t reduced_stride(const Layout& l) { return l.reduced_dims ? l.reduced[l.reduced_dims - 1].stride : 1; }
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
  int64_t neighbours_ = 1, k_ = 0;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
