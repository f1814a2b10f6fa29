// Where the lines of a vector of rows lie (strips.h). Some streams of them, 256 lines apart, are read at a time.
#pragma once

#include "core/cpu/job/job.h"
#include "core/cpu/simd/copy.h"
#include "core/cpu/transposed/strip_group.h"
#include "core/plan/cpu/strip_rows.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

constexpr int kPeriodsTogether = kStripPeriods, kMostStreams = kPeriodsTogether * kSteps;

// What the strips of a problem have in common: rows of `length` elements, of which neighbours in one dim are neighbours
// in memory. `lines` of them are evenly apart wherever a group of them begins.
struct StripShape {
  const Layout& layout;
  int dim;
  int64_t rows, length;     // of that dim; of a row
  int64_t size;             // bytes of an element
  int64_t stride;           // bytes from line to line
  int64_t lines;            // of a group
  const char *begin, *end;  // of the tensor
  const char* identity;     // a vector of elements that change no result

  StripShape(const Problem& problem, int64_t element_size, const char* in, const char* identities)
      : layout(problem.layout),
        dim(strip_dim(layout)),
        rows(layout.reduced[dim].size),
        length(strip_row_length(layout)),
        size(element_size),
        stride(inner().stride * size),
        lines(kMostLinesInGroup),
        begin(in),
        end(in + size),
        identity(identities) {
    while (inner().size % lines != 0) lines /= 2;
    for (int d = 0; d < layout.kept_dims; ++d) end += (layout.kept[d].size - 1) * layout.kept[d].in_stride * size;
    for (int d = 0; d < layout.reduced_dims; ++d) end += (layout.reduced[d].size - 1) * layout.reduced[d].stride * size;
  }

  const ReducedDim& inner() const { return layout.reduced[layout.reduced_dims - 1]; }

  // Bytes to a place of the dims outside of the rows' one, and to an element of a row.
  int64_t outer_offset(int64_t place) const { return reduced_offset(layout, dim, place) * size; }
  int64_t offset_in_row(int64_t element) const {
    if (dim == layout.reduced_dims - 2) return element * stride;
    int64_t offset = 0;
    for (int d = layout.reduced_dims - 1; d > dim; --d) {
      offset += element % layout.reduced[d].size * layout.reduced[d].stride;
      element /= layout.reduced[d].size;
    }
    return offset * size;
  }
};

// Lines of `lanes` elements, of which the first ones are at x, the others at z; z_stride may be 0.
template <class Word, int Lanes>
void merge_lines(const char* x, int64_t stride, const char* z, int64_t z_stride, int64_t lanes_at_x, int64_t lines,
                 const StripShape& shape, char* out) {
  using Any = typename VectorOf<Word, Lanes>::type;
  constexpr int64_t kAll = sizeof(Any);
  const int64_t here = lanes_at_x * static_cast<int64_t>(sizeof(Word));
  int64_t i = 0;
  if (z_stride == 0 || z - here >= shape.begin) {  // whole vectors, as far as there is memory
    const char* const from = z_stride == 0 ? z : z - here;
    Any place;
    for (int l = 0; l < Lanes; ++l) place[l] = static_cast<Word>(l);
    const auto is_here = place < static_cast<Word>(lanes_at_x);
    for (; i < lines && x + i * stride + kAll <= shape.end; ++i) {
      Any a, b;
      __builtin_memcpy(&a, x + i * stride, kAll);
      __builtin_memcpy(&b, from + i * z_stride, kAll);
      a = is_here ? a : b;
      __builtin_memcpy(out + i * kAll, &a, kAll);
    }
  }
  for (; i < lines; ++i) {
    copy_bytes(x + i * stride, here, out + i * kAll);
    copy_bytes(z + i * z_stride, kAll - here, out + i * kAll + here);
  }
}

template <class Acc>
class StripStreams {
 public:
  // Streams of `lines` lines in all. The first one begins at line `first` of the rows from `row` on, which may lie
  // behind their end: lines go on at the first one, a row further. `here` is the first row's first element, `there`
  // that of the first row at the outer dims' next place; null: there is none.
  void start(const StripShape& shape, const char* here, const char* there, int64_t row, int64_t first, int64_t lines) {
    here_ = here;
    there_ = there;
    row_ = row;
    first_ = first;
    lines_ = lines;
    copied_count_ = 0;
    next_until_ = kLeaves;
    for (int64_t s = 0; s < streams(0); ++s) place(shape, s, 0);
  }

  // Of which there is a line at a slot.
  int64_t streams(int64_t slot) const { return (lines_ - slot + kLeaves - 1) / kLeaves; }

  // Lines from a slot on, to be added up; says how many there are, at most `most`. Some are copied to `buffer`.
  int64_t get(const StripShape& shape, int64_t slot, int64_t most, char* buffer, StripGroups<Acc>& g) {
    if (slot == next_until_) move_on(shape, slot);
    const int64_t count = smaller(most, next_until_ - slot);
    for (int i = 0; i < copied_count_; ++i) copy(shape, copied_[i], count, buffer + i * copy_bytes_of(shape));
    g.line = line_;
    g.stride = stride_;
    g.step = step_;
    g.lines = static_cast<int>(shape.lines);
    g.groups = count / shape.lines;
    g.slot = slot;
    g.left = lines_ - slot;
    return count;
  }

  void advance(const StripGroups<Acc>& g) {
    for (int64_t s = 0; s < streams(g.slot); ++s) line_[s] += step_[s] * g.groups;
  }

 private:
  static constexpr int kWidth = kLanes<Acc>;
  static constexpr int kMostCopied =
      kMostStripCopies;  // a row further are at most 1023 lines and those of the first chunk's place

  static int64_t copy_bytes_of(const StripShape& shape) { return kStripLines * kWidth * shape.size; }

  void move_on(const StripShape& shape, int64_t slot) {
    copied_count_ = 0;
    next_until_ = kLeaves;
    for (int64_t s = 0; s < streams(slot); ++s) {
      if (until_[s] == slot) {
        place(shape, s, slot);
      } else {
        keep(s);
      }
    }
  }

  void place(const StripShape& shape, int64_t s, int64_t slot) {
    int64_t row = row_, line = first_ + s * kLeaves + slot;
    for (; line >= shape.length; line -= shape.length) ++row;
    const int64_t offset = shape.offset_in_row(line);
    until_[s] = slot + shape.inner().size - line % shape.inner().size;
    lanes_here_[s] = kWidth;
    const bool is_there = row >= shape.rows;
    const char* const x = is_there ? there_ : here_;
    if (row + kWidth <= shape.rows || is_there) {
      line_[s] = x ? x + (row - (is_there ? shape.rows : 0)) * shape.size + offset : shape.identity;
      stride_[s] = x ? shape.stride : 0;
    } else {
      lanes_here_[s] = shape.rows - row;
      at_here_[s] = here_ + row * shape.size + offset;
      at_there_[s] = there_ ? there_ + offset : shape.identity;
      stride_[s] = kWidth * shape.size;
    }
    step_[s] = shape.lines * stride_[s];
    keep(s);
  }

  void keep(int64_t s) {
    next_until_ = smaller(next_until_, until_[s]);
    if (lanes_here_[s] < kWidth) copied_[copied_count_++] = static_cast<int>(s);
  }

  // Lines of which some lanes are rows at the next place of the outer dims, or none.
  void copy(const StripShape& shape, int s, int64_t lines, char* out) {
    const int64_t there_stride = there_ ? shape.stride : 0;
    const auto merge = shape.size == 2   ? merge_lines<uint16_t, kWidth>
                       : shape.size == 4 ? merge_lines<uint32_t, kWidth>
                                         : merge_lines<uint64_t, kWidth>;
    merge(at_here_[s], shape.stride, at_there_[s], there_stride, lanes_here_[s], lines, shape, out);
    line_[s] = out;
    at_here_[s] += lines * shape.stride;
    at_there_[s] += lines * there_stride;
  }

  const char *here_, *there_;
  int64_t row_, first_, lines_;
  const char* line_[kMostStreams];
  int64_t stride_[kMostStreams], step_[kMostStreams];  // bytes to the next line and to the next group
  int64_t until_[kMostStreams];                        // the slot before which lines are evenly apart
  int64_t next_until_;
  int copied_[kMostCopied], copied_count_;
  // Of streams that are copied: how many lanes are rows of this place, and where its part and the other one are.
  int64_t lanes_here_[kMostStreams];
  const char *at_here_[kMostStreams], *at_there_[kMostStreams];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
