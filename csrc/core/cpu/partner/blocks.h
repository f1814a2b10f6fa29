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
  const void* rows;  // as Buffers::rows
};

// An element that changes no result of the operator, as it lies in memory.
template <class Op>
uint64_t identity_of(const Problem& p) {
  if (p.tested) return with_tested_type(p.in, [](auto t) { return identity_bits<Op, decltype(t)>(); });
  return with_type(p.in, [](auto t) { return identity_bits<Op, decltype(t)>(); });
}

template <class Acc>
Join join_of(const Problem& p) {
  if constexpr (is_scalar<Acc>) {
    if constexpr (std::is_floating_point<Acc>::value) {
      if (p.partner.role == Role::NormalFactor) {
        return with_read_type<Acc, Join>(p, [](auto t) { return multiply_normals<decltype(t), Acc>; });
      }
    }
    if (p.partner.role == Role::Factor) {
      return with_read_type<number_of<Acc>, Join>(p, [](auto t) { return multiply_pairs<decltype(t), Acc>; });
    }
  }
  return counted_of(static_cast<int64_t>(size_of(p.in)));
}

// A Reducer is made of the problem of a block; its reduce(in, values) reduces one into what is combined.
template <class Op, class Acc, class Reducer>
class PairBlocks {
 public:
  PairBlocks(const Problem& problem, const PartnerPlan& plan, const PairBuffers& buffers)
      : problem_(problem),
        plan_(plan),
        buffers_(buffers),
        other_layout_(layout_of(problem.partner, problem.layout)),
        join_(join_of<Acc>(problem)),
        inputs_{identity_of<Op>(problem), buffers.rows, problem.partner.row_words},
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
    if (multiplies(p.partner.role)) p.op = kAddition;
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
    char* const block = static_cast<char*>(::operator new(static_cast<size_t>(elements * self.size_), kAlignment));
    PairCursor cursor(self.problem_, self.other_layout_);
    const Reducer reducer(block_of(self.problem_, self.plan_, self.plan_.width, self.plan_.length, words_of<Acc>));
    for (int64_t task = begin; task < end; ++task) {
      self.reduce_block(task / self.plan_.pieces, task % self.plan_.pieces, cursor, reducer, block);
    }
    ::operator delete(block, kAlignment);
  }

  // `whole` reduces blocks that are.
  void reduce_block(int64_t group, int64_t piece, PairCursor& cursor, const Reducer& whole, char* block) const {
    const Outputs outputs = outputs_of(group);
    const int64_t k = piece * plan_.length, length = smaller(plan_.length, problem_.layout.n - k);
    Acc few[kMostWidthOfPieces];
    Acc* const values = plan_.pieces == 1 ? partials_ + outputs.first : few;
    if (length > 0) {
      fill(outputs, k, length, cursor, block);
      if (outputs.count == plan_.width && length == plan_.length) {
        whole.reduce(block, values);
      } else {
        Reducer(block_of(problem_, plan_, outputs.count, length, words_of<Acc>)).reduce(block, values);
      }
    } else {
      for (int64_t i = 0; i < outputs.count; ++i) values[i] = Op::template identity<Acc>();
    }
    if (plan_.pieces == 1) return;
    for (int64_t i = 0; i < outputs.count; ++i) partials_[(outputs.first + i) * plan_.pieces + piece] = values[i];
  }

  void fill(const Outputs& outputs, int64_t k, int64_t length, PairCursor& cursor, char* block) const {
    // Neighbours are taken together where none of their elements lie in another run.
    for (int64_t output = 0, together; output < outputs.count; output += together) {
      cursor.start(buffers_.own, buffers_.other, outputs.first + output, k);
      const bool are_together = plan_.across || cursor.left() >= length;
      together = are_together ? smaller(cursor.neighbours(), outputs.count - output) : 1;
      for (int64_t left = length; left > 0;) {
        const int64_t count = smaller(cursor.left(), left);
        join_(plan_.across ? cursor.across(together, count) : cursor.along(together, count), inputs_, block);
        cursor.advance(count);
        block += together * count * size_;
        left -= count;
      }
    }
  }

  static void write_outputs(void* context, int64_t begin, int64_t end) {
    auto& self = *static_cast<const PairBlocks*>(context);
    const Layout& l = self.problem_.layout;
    const int64_t out_size = static_cast<int64_t>(size_of(self.problem_.out));
    for (int64_t output = begin, together; output < end; output += together) {
      int64_t place = 0, rest = output;
      for (int d = l.kept_dims - 1; d >= 0; --d) {
        place += rest % l.kept[d].size * l.kept[d].out_stride;
        rest /= l.kept[d].size;
      }
      char* const out = self.buffers_.out + place * out_size;
      if (self.plan_.pieces == 1 && self.buffers_.counts == nullptr) {  // neighbours, as they are
        const int64_t size = l.kept_dims ? l.kept[l.kept_dims - 1].size : 1;
        const int64_t stride = l.kept_dims ? l.kept[l.kept_dims - 1].out_stride : 1;
        together = smaller(size - output % size, end - output);
        self.write_(self.partials_ + output, together, count_of_elements(self.problem_), out, stride);
        continue;
      }
      together = 1;
      Stack<Op, Acc> stack;
      for (int64_t piece = 0; piece < self.plan_.pieces; ++piece) {
        stack.push(self.partials_[output * self.plan_.pieces + piece]);
      }
      const Acc result = stack.result();
      const Count count = self.buffers_.counts != nullptr
                              ? counted(self.buffers_.counts[place], self.problem_.correction)
                              : count_of_elements(self.problem_);
      self.write_(&result, 1, count, out, 1);
    }
  }

  const Problem& problem_;
  const PartnerPlan& plan_;
  const PairBuffers& buffers_;
  Layout other_layout_;
  Join join_;
  JoinInputs inputs_;
  Write<Acc> write_;
  int64_t size_;             // of an element in a block
  Acc* partials_ = nullptr;  // [output][piece]
};

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
