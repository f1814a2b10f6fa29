// From a tensor and what is asked of it to a problem: the one builder, for torch and for programs without it.
#pragma once

#include "core/problem/problem.h"

namespace torch_reduce {

struct Description {
  Op op;
  Mode mode;
  DType in, out;
  int in_alignment;  // as Problem's
  int ndim;
  const int64_t *sizes, *strides;
  const bool* reduced;                                // by dim
  const int64_t* out_strides;                         // by dim of the input; not read for reduced ones
  double correction = 1;                              // as Problem's
  int64_t second = 0;                                 // as Problem's
  std::optional<int64_t> scan_stride = std::nullopt;  // as Problem's
  Role role = Role::None;                             // of a second tensor, of the same sizes; the rest describes that
  DType other_type = DType::Bool;
  int other_alignment = 1, row_words = 0;
  const int64_t* other_strides = nullptr;
};

// The largest power of two up to 16 that divides an address.
TR_SHARED int alignment_of(uintptr_t address);

// Logical keeps the reduced dims in the order in which they stand in the tensor, as the canonical order needs.
// Any lets them be sorted by stride, so that memory is read as it lies.
enum class Order { Logical, Any };

// Strides of a second tensor, by dim, and where they go, by dim of the loop nest.
struct Beside {
  const int64_t* strides;
  Partner* partner;
};

// The smallest loop nest that is equivalent, for a second tensor beside the first too, if there is one. `reduced[d]`
// says whether dim d is reduced; `out_strides[d]` is the output's stride of a kept dim d and is not read for a reduced
// one. Any sizes (zero included) and strides are accepted.
Layout make_layout(int ndim, const int64_t* sizes, const int64_t* strides, const bool* reduced,
                   const int64_t* out_strides, Order order, const Beside* beside = nullptr);

// Modes "atomic" and "exact", and operators and types that are order-free, read memory as it lies.
TR_SHARED Problem build_problem(const Description& description);

}  // namespace torch_reduce
