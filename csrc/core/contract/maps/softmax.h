// Shares of the sum of exponentials, and their logarithms.
#pragma once

#include "core/contract/maps/exponential_of.h"
#include "core/contract/maps/map.h"

namespace torch_reduce {

// Each element's exponential as logsumexp has it, brought from its own reference to the sum's in two equal steps, so
// that nothing overflows on the way and what underflows does so in the end alone. As torch's, a row of nothing but
// -infinity, and one with +infinity, is NaN.
//
// Of elements times a positive scale; those that a mask leaves out are -infinity.
struct Softmax : MapTraits {
  using Reduces = LogSumExp;
  static constexpr bool scales = true, takes_mask = true;
  static constexpr double kMasked = -std::numeric_limits<double>::infinity();
  template <class Word>
  struct Row {
    Word reference, sum, inverse;
  };
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NoWords<Word>&) {
    return at.x;
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Exponentials<Word>* total, const RowOf<Word>&, const NoWords<Word>&) {
    const Word zero = total->reference - total->reference;  // or NaN
    return {total->reference, total->sum, 1 / total->sum + zero};
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return share(LogSumExp::lift(at.x), row);
  }
  // The same bits where elements are near 0, or masked, and so no exponential is scaled.
  static constexpr bool has_common_value = true, keeps_lifted = true;
  template <class Word>
  static TR_HD bool is_common_row(const Row<Word>& row) {
    return row.reference == 0;
  }
  template <class Word>
  static TR_HD Word kept_value(Word exponential, const Row<Word>& row) {
    return quotient(exponential, row);
  }
  // A kept 0 is that of -infinity.
  template <class Word>
  static TR_HD Word any_kept_value(Word exponential, const Row<Word>& row) {
    const Word reference = exponential > 0 ? Word(0) : -std::numeric_limits<Word>::infinity();
    return share(Exponentials<Word>{exponential, reference}, row);
  }
  template <class Word>
  static TR_HD bool is_common(const AtPlace<Word>& at, const Row<Word>& row) {
    const bool is_near = order::magnitude_of(at.x) <= LogSumExp::kNear;
    return is_common_row(row) & (is_near | (at.x == -std::numeric_limits<Word>::infinity()));
  }
  template <class Word>
  static TR_HD Word common_value(const AtPlace<Word>& at, const Row<Word>& row) {
    const Word exponential = exp_of_near(at.x);  // NaN of -infinity
    return kept_value(exponential > 0 ? exponential : Word(0), row);
  }

 private:
  template <class Word>
  static TR_HD Word share(const Exponentials<Word>& own, const Row<Word>& row) {
    const Word step = exp_of((own.reference - row.reference) / 2);
    return step == 1 ? quotient(own.sum, row) : (own.sum * step) * (step * row.inverse);
  }
  // An exponential over the sum, corrected by what the product lacks: so the only one of a row gives 1.
  template <class Word>
  static TR_HD Word quotient(Word exponential, const Row<Word>& row) {
    const Word share = exponential * row.inverse;
    return multiply_add(multiply_add(-row.sum, share, exponential), row.inverse, share);
  }
};

// x - log(sum of exp), of which a whole number is taken off first. The rest is less than 1, or what that lacks. No
// share is more than 1.
struct LogSoftmax : Softmax {
  static constexpr bool has_common_value = false, keeps_lifted = false;
  template <class Word>
  struct Row {
    Word whole, rest;
  };
  template <class Word>
  static TR_HD Row<Word> finish(const Exponentials<Word>* total, const RowOf<Word>&, const NoWords<Word>&) {
    const TwoParts<Word> log = LogSumExp::parts(*total);
    return {log.first, log.second};
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return logarithm(at.x, row.whole, row.rest);
  }
  template <class Word>
  static TR_HD Word logarithm(Word x, Word whole, Word rest) {
    const Word y = (x - whole) - rest;
#if defined(__CUDA_ARCH__)
    if constexpr (std::is_same<Word, float>::value) return Min::combine(y, 0.0f);  // one instruction
#endif
    return y > 0 ? Word(0) : y;
  }
};

// Of the gradient, and in second place the result y: y (g - sum(g y)), times the scale. No gradient reaches what a mask
// left out.
struct SoftmaxBackward : MapTraits {
  static constexpr bool reads_second = true, takes_mask = true;
  static constexpr double kMasked = 0;
  template <class Word>
  struct Row {
    Word sum, scale;
  };
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NoWords<Word>&) {
    return at.x * at.second;
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word* total, const RowOf<Word>& row, const NoWords<Word>&) {
    return {*total, row.scale};
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return (at.second * (at.x - row.sum)) * row.scale;
  }
};

// The same of the logarithm: g - exp(y) sum(g), times the scale.
struct LogSoftmaxBackward : SoftmaxBackward {
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const NoWords<Word>&) {
    return at.x;
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return (at.x - exp_of(at.second) * row.sum) * row.scale;
  }
  static constexpr bool has_common_value = true;
  template <class Word>
  static TR_HD bool is_common(const AtPlace<Word>& at, const Row<Word>&) {
    return order::magnitude_of(at.second) <= LogSumExp::kNear;
  }
  template <class Word>
  static TR_HD Word common_value(const AtPlace<Word>& at, const Row<Word>& row) {
    return (at.x - exp_of_near(at.second) * row.sum) * row.scale;
  }
};

// Of a row of logits, as log_softmax has it, and two numbers: the share of each, scaled and shifted.
struct CrossEntropyBackward : MapTraits {
  static constexpr bool reduces = false;
  template <class Word>
  struct Row {
    LogSoftmax::Row<Word> logits;
    Word scale, shift;
  };
  template <class Word>
  using Read = Row<Word>;
  template <int, class Word>
  static TR_HD Word number(const AtPlace<Word>& at, const Row<Word>&) {
    return at.x;
  }
  template <class Word>
  static TR_HD Row<Word> finish(const Word*, const RowOf<Word>&, const Row<Word>& row) {
    return row;
  }
  template <class Word>
  static TR_HD Word value(const AtPlace<Word>& at, const Row<Word>& row) {
    return exp_of(LogSoftmax::value(at, row.logits)) * row.scale - row.shift;
  }
  static constexpr bool has_common_value = true;
  template <class Word>
  static TR_HD bool is_common(const AtPlace<Word>& at, const Row<Word>& row) {
    return order::magnitude_of(LogSoftmax::value(at, row.logits)) <= LogSumExp::kNear;
  }
  template <class Word>
  static TR_HD Word common_value(const AtPlace<Word>& at, const Row<Word>& row) {
    return exp_of_near(LogSoftmax::value(at, row.logits)) * row.scale - row.shift;
  }
};

}  // namespace torch_reduce
