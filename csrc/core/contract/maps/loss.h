// The cross entropy of a row of logits, from what log_softmax has of the row and the logit of its target; its
// derivative, of every logit and of the target's.
#pragma once

#include "core/contract/maps/softmax.h"
#include "core/contract/ops.h"

namespace torch_reduce {

// The reduction whose result, in two words, is kept of a row of logits, and that of which smoothing is a share.
constexpr Op kOfLogits = Op::LogSumExp, kOfSmoothing = Op::Mean;

template <class Word>
using LogitsRow = LogSoftmax::Row<Word>;
template <class Word>
using GradientRow = CrossEntropyBackward::Row<Word>;

// What a caller asks for: targets of `ignored` do not count; how much of the loss is that of the mean logit; and how
// much of the squared logarithm of the sum of exponentials is added.
struct LossOptions {
  int64_t classes, ignored;
  double smoothing, z;
};

template <class Word>
TR_HD Word loss_of(Word x, const LogitsRow<Word>& row, Word mean, const LossOptions& o) {
  Word loss = -LogSoftmax::logarithm(x, row.whole, row.rest);
  if (o.smoothing != 0) {
    const Word rest = LogSoftmax::logarithm(mean, row.whole, row.rest) * static_cast<Word>(o.smoothing);
    loss = loss * static_cast<Word>(1 - o.smoothing) - rest;
  }
  if (o.z != 0) {
    const Word log = row.whole + row.rest;
    loss = loss + log * log * static_cast<Word>(o.z);
  }
  return loss;
}

// By what each logit's share is scaled and shifted, for a gradient g of the loss: 0 where that does not count.
template <class Word>
TR_HD GradientRow<Word> gradient_row(Word g, const LogitsRow<Word>& row, const LossOptions& o) {
  const Word log = row.whole + row.rest;
  return {row, o.z == 0 ? g : g * (log * static_cast<Word>(2 * o.z) + Word(1)),
          o.smoothing == 0 ? Word(0) : g * static_cast<Word>(o.smoothing / static_cast<double>(o.classes))};
}

// The same of the target's logit.
template <class Word>
TR_HD Word target_gradient(Word x, Word g, GradientRow<Word> row, const LossOptions& o) {
  row.shift += g * static_cast<Word>(1 - o.smoothing);
  return CrossEntropyBackward::value(AtPlace<Word>{x, 0, 1, 0}, row);
}

// The steps that are a number or two a row.
enum class LossStep : uint8_t { Losses, GradientRows, TargetGradients };

// Pointers and strides are those of MapProblem, whose rows are logits: x, and the targets in second place. Words of
// rows lie in order.
template <class Word>
struct LossBuffers {
  const void* x;
  const int64_t* target;
  const LogitsRow<Word>* row;
  const Word *mean, *gradient;  // null: not given
  GradientRow<Word>* gradient_rows;
  Word* losses;
  void* out;
};

// The step of a row. Its places are those of its first logit, of its target and of the first logit's gradient. False
// where the target is no class.
template <LossStep step, class In, class Word>
TR_HD bool do_loss_step(const LossBuffers<Word>& b, const LossOptions& o, int64_t row, int64_t x, int64_t target,
                        int64_t out, int64_t stride, int64_t out_stride) {
  const int64_t index = b.target[target];
  const bool counts = index != o.ignored;
  if (counts && (index < 0 || index >= o.classes)) return false;
  const auto logit = [&] { return widen<Word>(static_cast<const In*>(b.x)[x + index * stride]); };
  if constexpr (step == LossStep::Losses) {
    b.losses[row] = counts ? loss_of(logit(), b.row[row], b.mean == nullptr ? Word(0) : b.mean[row], o) : Word(0);
  } else if constexpr (step == LossStep::GradientRows) {
    b.gradient_rows[row] = gradient_row(counts ? b.gradient[row] : Word(0), b.row[row], o);
  } else if (counts) {
    const Word gradient = target_gradient(logit(), b.gradient[row], b.gradient_rows[row], o);
    static_cast<In*>(b.out)[out + index * out_stride] = Narrow<In, Word>::from(gradient);
  }
  return true;
}

}  // namespace torch_reduce
