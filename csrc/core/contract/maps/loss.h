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

}  // namespace torch_reduce
