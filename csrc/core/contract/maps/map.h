// What a map is made of. docs/order.md defines the bits of each.
#pragma once

#include "core/contract/ops.h"

namespace torch_reduce {

// What stands at one place of a row. Tensors that a map does not read, or that are not given, leave 0 in `second`, 1 in
// `weight` and -0 in `bias`, which change nothing.
template <class Word>
struct AtPlace {
  Word x, second, weight, bias;
};

// What a row has beside its elements: how many there are, one over that, and numbers of the caller.
template <class Word>
struct RowOf {
  int64_t n;
  double share;
  Word epsilon, scale;
};

// Nothing is kept of a row.
template <class Word>
struct NoWords {};
template <class Words, class Word>
constexpr int count_of_words = std::is_empty<Words>::value ? 0 : static_cast<int>(sizeof(Words) / sizeof(Word));

// Each map's struct overrides what holds for it, and has templates by Word:
//   Row                        a struct: what its elements need to know of the row
//   number<Which>(at, read)    a Word: what sum number `Which` reduces of an element
//   finish(total, of, read)    the Row, of the accumulators of all sums, which no operator has finished
//   value(at, row)             a Word: the result of an element, which is rounded once, to the output's type
// `at` is an AtPlace, `of` a RowOf, `read` a Read, all of Word.
struct MapTraits {
  // The operator by which each of `sums` numbers is reduced.
  using Reduces = Sum;
  static constexpr int sums = 1;
  // Not where all of a row is read.
  static constexpr bool reduces = true;
  static constexpr bool reads_second = false, reads_weight = false, reads_bias = false;
  // Before all else, x becomes x times the caller's scale;
  static constexpr bool scales = false;
  // or the sum of x and `second`, rounded to their type and written too: what is reduced and mapped is that.
  static constexpr bool adds_second = false;
  // Whether there may be a mask. Where it is false, x is kMasked.
  static constexpr bool takes_mask = false;
  // Weight and bias are of channels, which have some neighbouring places of a row each; else of places.
  static constexpr bool has_channels = false;
  // number() is of the weight too.
  static constexpr bool weighs_numbers = false;
  // Its Row is written beside the result, for a derivative; or alone, and there is no value().
  static constexpr bool writes_row = false, writes_values = true;
  // Of a norm's derivative: how many parameters have gradients that are sums over the rows.
  static constexpr int parameters = 0;
  // is_common() says where common_value() has the bits of value(), for kernels that may branch.
  static constexpr bool has_common_value = false;
  // any_kept_value() has the bits of value(): it is of what was lifted as it is (plain.h), 0 of -infinity. So has
  // kept_value(), where is_common_row() says so.
  static constexpr bool keeps_lifted = false;
  // What a derivative reads of that.
  template <class Word>
  using Read = NoWords<Word>;
};

}  // namespace torch_reduce
