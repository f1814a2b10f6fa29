// Short rows: at most 256 elements an output, so that an output is a tree with one element a leaf. A block of outputs
// at a time, with vectors across them.
#pragma once

#include "core/cpu/job/source.h"
#include "core/cpu/tree/places.h"
#include "core/cpu/tree/tree.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op, class Acc>
class ShortRowsKernel {
 public:
  ShortRowsKernel(const Job<Op, Acc>& job, char*) : job_(job), source_(job, 1, 1), n_(job.layout().n) {
    const Layout& l = job.layout();
    const KeptDim inner = l.kept_dims ? l.kept[l.kept_dims - 1] : KeptDim{1, n_, 1};
    kept_stride_ = inner.in_stride;
    rows_ = kCapacity;
    for (; pitch_ < n_; pitch_ *= 2) rows_ /= 2;
    const bool contiguous = l.reduced_dims == 0 || (l.reduced_dims == 1 && l.reduced[0].stride == 1);
    const bool has_trees = job.elements.trees != nullptr && !(Op::needs_index && n_ < kFewestOfPlace);
    if (n_ == 0) {
      fold_ = Fold::Empty;
    } else if (!has_trees || (!contiguous && n_ < kAcross && inner.size >= kAcross) || n_ == 1) {
      fold_ = Fold::Across;
    } else if (contiguous && n_ == pitch_ && kept_stride_ == n_) {
      fold_ = Fold::InPlace;
    } else {
      fold_ = n_ < kAcross && inner.size >= kAcross ? Fold::Across : Fold::Padded;
    }
  }

  // An item is an output.
  void run(int64_t begin, int64_t end) {
    if (fold_ == Fold::Padded) {  // rows leave the ends of their pitch as they are
      fill_elements(job_.elements.identity, job_.elements.size, smaller(rows_, end - begin) * pitch_, copies_);
    }
    while (begin < end) {
      int64_t count = smaller(rows_, end - begin);
      switch (fold_) {
        case Fold::Empty:
          for (int64_t i = 0; i < count; ++i) values_[i] = Op::template identity<Acc>();
          break;
        case Fold::Across:
          fold_across(begin, count);
          break;
        case Fold::InPlace: {
          count = smaller(count, job_.neighbours(begin));
          const char* x = job_.input_of(begin);
          const int64_t bytes = count * n_ * job_.elements.size;
          fold_rows(x, count, job_.prefetch() ? bytes : 0);
          break;
        }
        case Fold::Padded:
          pad_rows(begin, count);
          fold_rows(copies_, count, 0);
          break;
      }
      job_.write_results(begin, count, values_);
      begin += count;
    }
  }

 private:
  enum class Fold {
    Empty,
    InPlace,  // rows are whole trees, one after the other in memory
    Padded,   // rows are copied and filled up to whole trees
    Across,   // element i of many rows, then element i + 1 of them: no copy of a few elements at a time
  };
  static constexpr int64_t kCapacity = 4096;
  static constexpr int64_t kAcross = 16;

  // Trees over `count` rows of pitch_ elements. As many elements `prefetch` bytes ahead are fetched unless it is 0.
  void fold_rows(const char* x, int64_t count, int64_t prefetch) {
    int levels = 0;
    int64_t n = pitch_;
    // Fewer results do not fill a vector; indices take all levels.
    const auto takes = [&] { return n > 1 && (Op::needs_index || count * n > kLanes<Acc>); };
    for (; levels < kTreeLevels<Op, Acc> && takes(); n /= 2) ++levels;
    const int64_t size = job_.elements.size, step = prefetch ? (kBurstBytes / size) >> levels : count * n;
    for (int64_t i = 0; i < count * n; i += step) {
      const int64_t trees = smaller(step, count * n - i);
      const char* y = x + (i << levels) * size;
      if (prefetch) prefetch_bytes(y + prefetch, (trees << levels) * size);
      job_.elements.trees(y, levels, trees, values_ + i);
    }
    fold<Op>(values_, n, count);
  }

  void pad_rows(int64_t output, int64_t count) {
    const int64_t size = job_.elements.size;
    for (int64_t r = 0; r < count;) {
      const int64_t run = smaller(job_.neighbours(output + r), count - r);
      const char* x = job_.input_of(output + r);
      for (int64_t i = 0; i < run; ++i, ++r, x += kept_stride_ * size) {
        if (source_.packed() && source_.run(0) >= n_) {
          if (job_.prefetch()) prefetch_bytes(x + kCapacity, n_ * size);
          copy_bytes(x, n_ * size, copies_ + r * pitch_ * size);
        } else {
          source_.start(x);
          source_.copy(0, n_, copies_ + r * pitch_ * size);
        }
      }
    }
  }

  // values_ holds element i of all rows, then element i + 1 of all rows.
  void fold_across(int64_t output, int64_t count) {
    for (int64_t done = 0; done < count;) {
      const int64_t run = smaller(job_.neighbours(output + done), count - done);
      source_.start(job_.input_of(output + done));
      for (int64_t i = 0; i < n_; ++i) {
        job_.elements.convert(source_.row(i), kept_stride_, run, i, 0, job_.elements.order, values_ + i * count + done);
      }
      done += run;
    }
    for (int64_t n = n_; n > 1; n = (n + 1) / 2) {
      for (int64_t i = 0; i < n / 2; ++i) combine_rows(values_ + 2 * i * count, count, values_ + i * count);
      if (n % 2) {
        for (int64_t c = 0; c < count; ++c) values_[n / 2 * count + c] = values_[(n - 1) * count + c];
      }
    }
  }

  static void combine_rows(const Acc* x, int64_t count, Acc* y) { combine_all<Op>(x, x + count, count, y); }

  const Job<Op, Acc>& job_;
  Source<Op, Acc> source_;
  int64_t n_, kept_stride_;
  int64_t pitch_ = 1;  // the power of two from n on
  int64_t rows_;       // outputs in a block
  Fold fold_;
  alignas(64) Acc values_[kCapacity];
  alignas(64) char copies_[kCapacity * 8];
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
