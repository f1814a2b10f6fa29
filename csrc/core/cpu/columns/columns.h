// Columns: adjacent outputs side by side, so that vectors lie across them. A strip of columns goes through its
// leaves in order; the partial trees are rows of the strip.
#pragma once

#include "core/cpu/job/source.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op, class Acc>
class ColumnsKernel {
 public:
  ColumnsKernel(const Job<Op, Acc>& job, char* held)
      : job_(job),
        innermost_(job.layout().kept[job.layout().kept_dims - 1]),
        stack_(job.plan.strip, levels(job.plan.piece_chunks * kLeaves), reinterpret_cast<Acc*>(held)),
        block_rows_(job.elements.blocks ? job.plan.block_rows : 0) {}

  // An item is a piece of a strip.
  void run(int64_t begin, int64_t end) {
    const CpuPlan& plan = job_.plan;
    for (int64_t item = begin; item < end; ++item) {
      // Divisions only where they are needed: they cost as much as a short column.
      const int64_t strip = plan.split == 1 ? item : item / plan.split, piece = item - strip * plan.split;
      const int64_t outer = plan.strips == 1 ? strip : strip / plan.strips;
      const int64_t column = (strip - outer * plan.strips) * plan.strip;
      const int64_t output = outer * innermost_.size + column;
      reduce(output, smaller(plan.strip, innermost_.size - column), piece);
    }
  }

 private:
  static constexpr int64_t kCapacity = 2048;

  static int levels(int64_t leaves) {
    int l = 0;
    while ((int64_t{1} << l) < leaves) ++l;
    return l;
  }

  void reduce(int64_t output, int64_t width, int64_t piece) {
    const int64_t first = piece * job_.plan.piece_chunks * kChunk;
    const int64_t end = smaller(first + job_.plan.piece_chunks * kChunk, job_.layout().n);
    Source<Op, Acc> source(job_, width, innermost_.in_stride);
    source.start(job_.input_of(output));
    stack_.start(width);
    for (int64_t k = first; k < end; k += kChunk) {
      const int64_t rows = smaller(kChunk, end - k);
      if (goes_by_blocks(source, width, k, rows)) {
        job_.elements.blocks(source.row(k), source.pitch(), rows, width, stack_.top());
        stack_.push(levels(kLeaves));
      } else if (width >= kManyColumns || (width >= kNarrowColumns && (!source.packed() || end - k < kLeaves))) {
        push_rows(source, k, smaller(kLeaves, end - k));
      } else if (source.has_windows()) {
        push_chunk(source, width, k);
      } else {
        push_groups(source, width, k, smaller(kLeaves, end - k));
      }
    }
    if (first >= end) {  // no element: the identity
      for (int64_t c = 0; c < width; ++c) stack_.top()[c] = Op::template identity<Acc>();
      stack_.push(0);
    }
    job_.deliver(output, piece, width, stack_.result());
  }

  // The last strip may be narrower than a block, and chunks may have fewer rows, or some of several runs.
  bool goes_by_blocks(const Source<Op, Acc>& source, int64_t width, int64_t k, int64_t rows) const {
    return block_rows_ > 0 && rows >= block_rows_ && source.run(k) >= rows &&
           width * job_.elements.size >= kFewestBlockBytes;
  }

  // Many columns: some rows at a time.
  void push_rows(const Source<Op, Acc>& source, int64_t k, int64_t leaves) {
    for (int64_t leaf = 0; leaf < leaves;) {
      int steps;
      const int at_once = source.leaves_at_once(k, leaf, &steps);
      if (at_once > 0) {
        source.read_leaves(k, leaf, at_once, steps, job_.prefetch() > 0, copies_, stack_.top());
      } else {
        source.leaves(k, leaf, 1, stack_.top());
      }
      stack_.push(levels(at_once));
      leaf += at_once > 0 ? at_once : 1;
    }
  }

  // A few columns: a chunk at a time, the lower tree levels in registers.
  void push_chunk(Source<Op, Acc>& source, int64_t width, int64_t k) {
    const bool whole = k + kChunk <= job_.layout().n;
    if (!whole && !filled_) source.fill(tail_);
    filled_ |= !whole;  // every output's last chunk lacks the same elements
    const char* window[kSteps];
    source.windows(k, whole ? copies_ : tail_, window);
    job_.elements.windows(window, source.steps(k), width, job_.prefetch() ? chunk_prefetch(kIsWide) : 0, leaves_);
    push_tree(kSubtrees, width, 8);
  }

  // Some columns: as many leaves at a time as the buffers hold and as there are.
  void push_groups(const Source<Op, Acc>& source, int64_t width, int64_t k, int64_t leaves) {
    int64_t group = 1;
    while (group < leaves && 2 * group * width <= kCapacity) group *= 2;
    for (int64_t leaf = 0; leaf < leaves; leaf += group) {
      if (job_.prefetch()) source.prefetch_rows(k + leaf, group);
      source.leaves(k, leaf, group, leaves_);
      push_tree(group, width, levels(group));
    }
  }

  // The tree over leaves_[subtree][column].
  void push_tree(int64_t subtrees, int64_t width, int height) {
    const Acc* result = leaves_;
    if (width == 8) {
      fold_few_columns<Op, 8>(leaves_, subtrees);
    } else if (width == 4) {
      fold_few_columns<Op, 4>(leaves_, subtrees);
    } else if (width < kNarrowColumns) {
      transpose(leaves_, subtrees, width, transposed_);
      fold<Op>(transposed_, subtrees, width);
      result = transposed_;
    } else {
      fold_columns<Op>(leaves_, subtrees, width);
    }
    for (int64_t c = 0; c < width; ++c) stack_.top()[c] = result[c];
    stack_.push(height);
  }

  const Job<Op, Acc>& job_;
  const KeptDim& innermost_;
  alignas(64) Acc leaves_[kCapacity];
  alignas(64) Acc transposed_[kCapacity];
  ColumnStack<Op, Acc> stack_;
  const int64_t block_rows_;  // chunks of as many go by blocks; 0: none do
  bool filled_ = false;
  alignas(64) char copies_[kChunk * kMaxGroup * 8];
  static_assert(kMostRowsAtOnce * kColumnStripBytes <= kChunk * kMaxGroup * 8, "rows of a strip are copied there");
  alignas(64) char tail_[kChunk * kMaxGroup * 8];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
