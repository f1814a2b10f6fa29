// What kernels, plans and checks ask of an operator in place of its name.
#pragma once

#include "core/contract/numeric.h"

namespace torch_reduce {

// The type of a result: named by the caller, else that of torch's sum; the same, but a floating one; the elements';
// int64; bool, or uint8 for elements of that type.
enum class Gives : uint8_t { Chosen, Floating, Element, Int64, Truth };

// What becomes of what was combined: the operator's own finish. Kernels that serve several operators know the others.
enum class Ending : uint8_t { Own, Quotient, IsAny, IsAll, Root, IfAll, Largest };

// What a finish may ask beside what was combined: the elements, and the degrees of freedom that they leave.
struct Count {
  int64_t n;
  double degrees;
  constexpr TR_HD Count(int64_t elements = 0, double left = 0) : n(elements), degrees(left) {}
};

// What a second tensor is, whose elements stand beside those of the first: none; factors of theirs; bools, which say
// whether they count; or factors that a norm's words of their row normalise first, the row being their number among the
// elements of their output.
enum class Role : uint8_t { None, Factor, Mask, NormalFactor };
constexpr bool multiplies(Role role) { return role == Role::Factor || role == Role::NormalFactor; }

// A result in two words, whose sum it is.
template <class Word>
struct TwoParts {
  Word first, second;
};

// Each operator's struct overrides what holds for it.
struct Traits {
  // The accumulator, by the compute type.
  template <class Word>
  using Accumulator = Word;
  // Whether lift() changes floating elements, and whether integers; both are of the compute type then. A kernel reads
  // identity() in place of a missing element and lifts it: that must give the accumulator's identity(), but for the
  // index.
  static constexpr bool lifts = false, lifts_integers = false;
  template <class Acc>
  static TR_HD Acc lift(Acc x) {
    return x;
  }
  // No element lifts to the identity, so a missing one becomes it without being lifted; and no integer does.
  static constexpr bool masks_missing = false;
  static constexpr bool masks_missing_integers = false;
  // lift() makes the square of an element.
  static constexpr bool squares = false;
  // lift() takes the element's number among those of its output too.
  static constexpr bool needs_index = false;
  // combine() is addition of Exponentials.
  static constexpr bool adds_exponentials = false;
  // combine() is addition: CTAs may add into the output, and small integers, where nothing lifts them, add up packed.
  static constexpr bool adds = false;
  // combine() is multiplication, of floating elements that of order::Scaled.
  static constexpr bool multiplies = false;
  // combine(), of which combine(a, b) and combine(b, a) have the same bits, takes one of the two: any order gives the
  // same. There must be an element.
  static constexpr bool selects = false;
  static constexpr Gives gives = Gives::Chosen;
  // join() makes one number of an element and of that beside it.
  static constexpr Role role = Role::None;
  // Elements convert to bool first.
  static constexpr bool tests = false;
  // The smallest is the largest of mirrored elements: the GPU's kernels are those of its mirror image.
  static constexpr bool mirrored = false;
  // By a quotient a result is floating.
  static constexpr Ending ending = Ending::Own;
  // There is no integer compute type.
  static constexpr bool is_real = false;
  // Integers are no input.
  static constexpr bool refuses_integers = false;
  // Elements of up to 32 bits are combined in fp64, and those of fp64 as Endless.
  static constexpr bool computes_wider = false;
  // There are kernels for operators that do.
  static constexpr bool has_wider_kernels = false;
  // finish() takes a Count, and not the number of elements alone: a caller's correction is taken off that.
  static constexpr bool has_correction = false;
  // second() makes another result of what was combined, for operators of two.
  static constexpr bool has_second = false;
  // With a second result, the two are the parts() of one.
  static constexpr bool has_parts = false;
  // Both are results of order-free operators of one word, `First` and `Second`.
  static constexpr bool has_two_extremes = false;
  // Words of an accumulator are wider than a compute type of four bytes.
  static constexpr bool has_wide_words = false;
  // NaN counts as nothing, so that integers have the sum's kernels. What is combined is a NumberSum.
  static constexpr bool skips_nan = false;
  // The result depends on a count of elements among the words, which is right below 2^32 in words of fp32.
  static constexpr bool counts = false;
  // Floating elements may lose their signs as they are loaded; and they do.
  static constexpr bool may_take_magnitudes = false, takes_magnitudes = false;
  // The count that finish() takes has the order of a norm, which a caller names, in place of the degrees of freedom;
  // elements have it too (power.h).
  static constexpr bool has_order = false;
  // Integers with a floating result would soon leave int64.
  static constexpr bool outgrows_integers = false;
  // Rare: has the kernels for common types and loads alone, which keeps the library small.
  static constexpr bool has_few_kernels = false;
  // Mode "exact" is there for floating types.
  static constexpr bool has_exact = false;
  // Under autocast, as torch's operator of this name: on CUDA a result is float32, on the CPU the input becomes so.
  static constexpr bool widens_on_cuda = false, widens_on_cpu = false;
};

// Whether the CPU's vectors can hold what is combined, by the compute type. Their lanes do not know an element's index,
// or that it is missing.
template <class O, class Word>
constexpr bool fits_vectors = !O::needs_index && !O::masks_missing && !(O::has_wide_words && sizeof(Word) == 4);

}  // namespace torch_reduce
