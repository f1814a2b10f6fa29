// A reduction of two tensors: what they make together comes into memory block by block, and is reduced there.
#pragma once

#include <new>

#include "core/cpu/job/results.h"
#include "core/cpu/partner/pairs.h"
#include "core/cpu/tree/read.h"
#include "core/cpu/tree/tree.h"
#include "core/plan/cpu/partner.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {

// The memory of a reduction of two tensors.
struct PairBuffers {
  const char *own, *other;
  const int64_t* counts;  // of elements that count, by output, with its strides; null where none is asked for
  char* out;
};

// An element that changes no result of the operator, as it lies in memory.
template <class Op>
uint64_t identity_of(const Problem& p) {
  if (p.tested) return with_tested_type(p.in, [](auto t) { return identity_bits<Op, decltype(t)>(); });
  return with_type(p.in, [](auto t) { return identity_bits<Op, decltype(t)>(); });
}

// reduce(problem, in, values) reduces a block into what is combined.
template <class Op, class Acc, class Reduce>
class PairBlocks {
 public:
  PairBlocks(const Problem& problem, const PartnerPlan& plan, const PairBuffers& buffers, Reduce reduce)
      : problem_(problem),
        plan_(plan),
        buffers_(buffers),
        reduce_(reduce),
        other_layout_(layout_of(problem.partner, problem.layout)),
        read_(reader_of<number_of<Acc>>(problem)),
        identity_(identity_of<Op>(problem)),
        write_(make_writer<Op, Acc>(of_blocks(problem))),
        size_(static_cast<int64_t>(size_of(plan.type))) {}

  void run(const Threads& threads) {
    const int64_t tasks = plan_.groups * plan_.pieces;
    const auto bytes = static_cast<size_t>(problem_.layout.outputs * plan_.pieces) * sizeof(Acc);
    partials_ = static_cast<Acc*>(::operator new(bytes, kAlignment));
    plan_.alone ? reduce_blocks(this, 0, tasks) : threads.parallel_for(tasks, 1, this, reduce_blocks);
    plan_.alone ? write_outputs(this, 0, problem_.layout.outputs)
                : threads.parallel_for(problem_.layout.outputs, kOutputsAtOnce, this, write_outputs);
    ::operator delete(partials_, kAlignment);
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr int64_t kOutputsAtOnce = 1024;

  // As the operator of one tensor that reduces the blocks.
  static Problem of_blocks(Problem p) {
    if (p.partner.role == Role::Factor) p.op = kAddition;
    return p;
  }

  struct Outputs {
    int64_t first, count;
  };
  Outputs outputs_of(int64_t group) const {
    const Layout& l = problem_.layout;
    if (!plan_.across) {
      const int64_t first = group * plan_.width;
      return {first, smaller(plan_.width, l.outputs - first)};
    }
    const int64_t columns = l.kept[l.kept_dims - 1].size, strips = (columns + plan_.width - 1) / plan_.width;
    const int64_t column = group % strips * plan_.width;
    return {group / strips * columns + column, smaller(plan_.width, columns - column)};
  }

  static void reduce_blocks(void* context, int64_t begin, int64_t end) {
    auto& self = *static_cast<const PairBlocks*>(context);
    const int64_t elements = self.plan_.width * self.plan_.length;
    const int64_t row = self.plan_.across ? self.plan_.width : self.plan_.length;
    // A block, and of products a run of the second factors.
    char* const block =
        static_cast<char*>(::operator new(static_cast<size_t>((elements + row) * self.size_), kAlignment));
    PairCursor cursor(self.problem_, self.other_layout_);
    for (int64_t task = begin; task < end; ++task) {
      self.reduce_block(task / self.plan_.pieces, task % self.plan_.pieces, cursor, block);
    }
    ::operator delete(block, kAlignment);
  }

  void reduce_block(int64_t group, int64_t piece, PairCursor& cursor, char* block) const {
    const Outputs outputs = outputs_of(group);
    const int64_t k = piece * plan_.length, length = smaller(plan_.length, problem_.layout.n - k);
    Acc few[kMostWidthOfPieces];
    Acc* const values = plan_.pieces == 1 ? partials_ + outputs.first : few;
    if (length > 0) {
      fill(outputs, k, length, cursor, block);
      reduce_(block_of(problem_, plan_, outputs.count, length), block, values);
    } else {
      for (int64_t i = 0; i < outputs.count; ++i) values[i] = Op::template identity<Acc>();
    }
    if (plan_.pieces == 1) return;
    for (int64_t i = 0; i < outputs.count; ++i) partials_[(outputs.first + i) * plan_.pieces + piece] = values[i];
  }

  void fill(const Outputs& outputs, int64_t k, int64_t length, PairCursor& cursor, char* block) const {
    char* const factors = block + plan_.width * plan_.length * size_;
    if (plan_.across) {
      cursor.start(buffers_.own, buffers_.other, outputs.first, k);
      for (int64_t i = 0; i < length; ++i, block += outputs.count * size_) {
        join(cursor.across(), outputs.count, factors, block);
        cursor.advance(1);
      }
      return;
    }
    for (int64_t output = 0; output < outputs.count; ++output) {
      cursor.start(buffers_.own, buffers_.other, outputs.first + output, k);
      for (int64_t left = length; left > 0;) {
        const int64_t run = smaller(cursor.left(), left);
        join(cursor.along(), run, factors, block);
        cursor.advance(run);
        block += run * size_;
        left -= run;
      }
    }
  }

  void join(const Run& r, int64_t count, char* factors, char* to) const {
    if constexpr (is_scalar<Acc>) {
      if (problem_.partner.role == Role::Factor) {
        Acc* const x = reinterpret_cast<Acc*>(to);
        Acc* const y = reinterpret_cast<Acc*>(factors);
        read_(r.own, r.own_stride, count, x);
        read_(r.other, r.other_stride, count, y);
        for (int64_t i = 0; i < count; ++i) x[i] = multiply_numbers(x[i], y[i]);
        return;
      }
    }
    keep_counted(r, size_, count, identity_, to);
  }

  static void write_outputs(void* context, int64_t begin, int64_t end) {
    auto& self = *static_cast<const PairBlocks*>(context);
    const Layout& l = self.problem_.layout;
    const int64_t out_size = static_cast<int64_t>(size_of(self.problem_.out));
    for (int64_t output = begin; output < end; ++output) {
      Stack<Op, Acc> stack;
      for (int64_t piece = 0; piece < self.plan_.pieces; ++piece) {
        stack.push(self.partials_[output * self.plan_.pieces + piece]);
      }
      int64_t place = 0, rest = output;
      for (int d = l.kept_dims - 1; d >= 0; --d) {
        place += rest % l.kept[d].size * l.kept[d].out_stride;
        rest /= l.kept[d].size;
      }
      const Acc result = stack.result();
      const Count count = self.buffers_.counts != nullptr
                              ? counted(self.buffers_.counts[place], self.problem_.correction)
                              : count_of_elements(self.problem_);
      self.write_(&result, 1, count, self.buffers_.out + place * out_size, 1);
    }
  }

  const Problem& problem_;
  const PartnerPlan& plan_;
  const PairBuffers& buffers_;
  Reduce reduce_;
  Layout other_layout_;
  Read<number_of<Acc>> read_;
  uint64_t identity_;
  Write<Acc> write_;
  int64_t size_;             // of an element in a block
  Acc* partials_ = nullptr;  // [output][piece]
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
