// Bundles of columns (plan/cpu/bundle.h): leaves of many chunks at a time, one in each lane of a vector, in the order
// of the lines of memory. No line is read twice, and the trees need no transposition.
#pragma once

#include "core/cpu/job/source.h"
#include "core/cpu/tree/tree.h"
#include "core/plan/cpu/bundle.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

template <class Op, class Acc>
class BundlesKernel {
 public:
  BundlesKernel(const Job<Op, Acc>& job, char* held)
      : job_(job),
        bundle_(bundle_of(job.layout())),
        in_line_(bundles_in_line(job.layout(), bundle_)),
        stack_(bundle_.chunks * bundle_.parts * job.plan.strip, kLogLeaves, reinterpret_cast<Acc*>(held)),
        source_(job, 1, 1) {}

  // An item is a strip of bundles.
  void run(int64_t begin, int64_t end) {
    const Layout& l = job_.layout();
    const int64_t strips = job_.plan.strips, strip = job_.plan.strip, size = job_.elements.size;
    const int64_t outers = job_.plan.tasks / (l.outputs * strips);
    for (int64_t item = begin; item < end; ++item) {
      const int64_t behind = item % strips * strip, outer = item / strips % outers, output = item / strips / outers;
      const int64_t first = smaller(behind, in_line_ - strip);  // the last strip begins before the one before it ends
      const char* const x = job_.input_of(output);
      Acc* const partials = job_.partials + output * job_.plan.split;
      reduce(x + (reduced_offset(l, l.reduced_dims - 2, outer) + first * bundle_.columns) * size);
      deliver(partials + (outer * in_line_ + first) * bundle_.chunks, behind - first);
      if (item % strips == strips - 1 && outer == outers - 1)
        reduce_rest(x, partials, outers * in_line_ * bundle_.chunks);
    }
  }

 private:
  static constexpr int kLogLeaves = log2_of(kLeaves);
  static_assert(kBundleRows == kLogLeaves + 2, "what a ColumnStack holds, as the plan counts it");

  void reduce(const char* x) {
    const int64_t line = job_.layout().reduced[job_.layout().reduced_dims - 1].stride * job_.elements.size;
    BundleLeaves<Acc> b{bundle_};
    b.stride = line;
    b.count = b.out_stride = job_.plan.strip;
    stack_.start(bundle_.chunks * bundle_.parts * job_.plan.strip);
    for (int64_t leaf = 0; leaf < bundle_.leaves; leaf += kBundleLeaves) {
      b.x = x + leaf * line;
      b.out = stack_.top();
      job_.elements.bundle_leaves(b);
      stack_.push(kLogBundleLeaves);
    }
  }

  // All but the first `skipped` bundles.
  void deliver(Acc* partials, int64_t skipped) {
    Acc* const result = stack_.result();
    const int64_t strip = job_.plan.strip;
    for (int64_t c = 0; c < bundle_.chunks; ++c) {
      Acc* const chunk = result + c * bundle_.parts * strip;
      fold_columns<Op>(chunk, bundle_.parts, strip);
      for (int64_t i = skipped; i < strip; ++i) partials[i * bundle_.chunks + c] = chunk[i];
    }
  }

  // The chunks of an output's columns behind the last bundle, element by element.
  void reduce_rest(const char* x, Acc* partials, int64_t chunk) {
    source_.start(x);
    for (; chunk < job_.plan.split; ++chunk) {
      Acc leaf[kLeaves];
      source_.leaves(chunk * kChunk, 0, kLeaves, leaf);
      fold<Op>(leaf, kLeaves, 1);
      partials[chunk] = leaf[0];
    }
  }

  const Job<Op, Acc>& job_;
  const Bundle bundle_;
  const int64_t in_line_;
  ColumnStack<Op, Acc> stack_;  // rows of [subtree][bundle]
  Source<Op, Acc> source_;
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
