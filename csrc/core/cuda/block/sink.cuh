// Where a CTA's results go: straight to the output, to scratch as partials, or into atomic accumulators.
#pragma once

#include "core/cuda/lane/element.cuh"
#include "core/cuda/lane/index.cuh"
#include "core/plan/gpu/plan.h"

namespace torch_reduce::cuda {

// Where results are written, and as what.
struct Target {
  void* to;
  Count count;  // of elements per output
  DType type;
  Ending ending;
  uint64_t mirror;        // as Source::mirror of elements of the compute type
  int64_t second;         // as Problem's
  const int64_t* counts;  // by place, of an output's elements that count; else null
  double correction;      // as Problem's
};

template <class O>
__device__ __forceinline__ Count count_at(const Target& t, int64_t place) {
  if constexpr (O::role == Role::Mask) {
    if (t.counts != nullptr) return counted(t.counts[place], t.correction);
  }
  return t.count;
}

// Results, or partials, which are of the compute type, at unit * unit_stride + output * output_stride where the kept
// dims are one.
template <class Acc>
struct Sink : Target {
  int64_t unit_stride, output_stride;
  bool results;    // `to` is the output, and its kept dims may be several; else scratch
  bool atomic;     // `to` is the output, of the compute type, and zero before the first addition
  bool cluster;    // an output's units are a cluster, of which the first CTA delivers the result
  uint32_t units;  // CTAs per output
};

// A result of elements that are integers of a mirrored order.
template <class O, class Word>
__device__ __forceinline__ Word mirrored_back(Word result, uint64_t mirror) {
  return std::is_integral<Word>::value ? mirrored<O>(result, mirror) : result;
}

// A result before it is rounded. What has several words is mirrored back by its own finish, if at all.
template <class O, class Acc>
__device__ __forceinline__ auto finish(Acc v, count_of<O> count, Ending ending, uint64_t mirror) {
  if constexpr (is_scalar<Acc>) {
    return O::finish(mirrored<O>(v, mirror), count);
  } else if constexpr (O::has_correction) {
    const auto result = O::finish(v, count);
    return ending == Ending::Root ? __builtin_sqrt(result) : result;
  } else if constexpr (O::skips_nan) {
    if (ending == Ending::IfAll) return sum_if_all(v);
    return ending == Ending::Quotient ? mean_of(v, count) : O::finish(v, count);
  } else if constexpr (O::has_two_extremes) {
    return mirrored_back<O>(ending == Ending::Largest ? v.largest : O::finish(v, count), mirror);
  } else {
    return O::finish(v, count);
  }
}

// The same of a floating sum, which may end as a mean or as a root.
template <class O, class Acc>
__device__ __forceinline__ auto finish_sum(Acc v, int64_t n, Ending ending) {
  if (ending == Ending::Quotient) return divide_by_count(v, n);
  if constexpr (O::has_wider_kernels && std::is_same<Acc, double>::value) {
    if (ending == Ending::Root) return __builtin_sqrt(v);
  }
  return O::finish(v, n);
}

// Results of other types than the likely one, and endings of integers that are not their own. A call: as a part of
// every write it would be most of a kernel's code.
template <class O, class Acc>
__device__ __noinline__ void write_unlikely(void* out, int64_t place, DType type, Ending ending, count_of<O> count,
                                            Acc v, uint64_t mirror) {
  if constexpr (O::adds && std::is_floating_point<Acc>::value) {
    return store<O>(out, place, type, finish_sum<O>(v, count, ending));
  } else if constexpr (O::adds && is_scalar<Acc>) {
    if (ending == Ending::Quotient) return store<O>(out, place, type, divide_by_count(v, count));
  }
  if constexpr (O::adds && std::is_same<Acc, int64_t>::value) {
    if (ending != Ending::Own) {
      return store<O>(out, place, type, ending == Ending::IsAny ? is_any(v) : is_all(v, count));
    }
  }
  store<O>(out, place, type, finish<O>(v, count, ending, mirror));
}

// A call, as most operators have no second result.
template <class O, class Acc>
__device__ __noinline__ void write_second(void* out, int64_t place, DType type, Count count, Acc v) {
  store<O>(out, place, type, O::second(v, count));
}
template <class O, class Acc>
__device__ __noinline__ void write_second(void* out, int64_t place, DType type, uint64_t mirror, Acc v) {
  store<O>(out, place, type, mirrored_back<O>(O::second(v, Count{}), mirror));
}

template <class O, class Acc>
__device__ __noinline__ void write_parts(void* out, int64_t place, int64_t second, Acc v) {
  const auto parts = O::parts(v);
  put<word_of<Acc>>(out, place, parts.first);
  put<word_of<Acc>>(out, place + second, parts.second);
}

// A result, rounded once; or a partial, of which finish() changes no more than the sign of a zero, and no result's bits
// by that. `Likely` is the type that is tested for first: code that is jumped over is not fetched.
template <class O, class Likely, class Acc>
__device__ __forceinline__ void write(const Target& t, int64_t place, Acc v) {
  if constexpr (O::has_parts && !is_scalar<Acc>) {
    if (t.second != 0) return write_parts<O>(t.to, place, t.second, v);
  } else if constexpr (O::has_second) {
    if constexpr (O::has_two_extremes) {
      if (t.second != 0) write_second<O>(t.to, place + t.second, t.type, t.mirror, v);
    } else {
      if (t.second != 0) write_second<O>(t.to, place + t.second, t.type, t.count, v);
    }
  }
  const bool likely = t.type == dtype_of<Likely>::value;
  const Count elements = count_at<O>(t, place);
  if constexpr (O::adds && std::is_floating_point<Acc>::value) {
    if (likely && t.ending == Ending::Quotient) return put<Likely>(t.to, place, divide_by_count(v, elements.n));
    if constexpr (O::has_wider_kernels && std::is_same<Acc, double>::value) {
      if (likely && t.ending == Ending::Root) return put<Likely>(t.to, place, __builtin_sqrt(v));
    }
  }
  const bool is_own = O::has_correction || O::skips_nan || O::has_two_extremes || t.ending == Ending::Own;
  const auto count = count_for<O>(elements);
  if constexpr (std::is_same<Acc, Int128>::value) {  // its other likely type
    if (is_own && t.type == DType::Float32) return put<float>(t.to, place, finish<O>(v, count, t.ending, t.mirror));
  }
  if (!likely || !is_own) return write_unlikely<O>(t.to, place, t.type, t.ending, count, v, t.mirror);
  put<Likely>(t.to, place, finish<O>(v, count, t.ending, t.mirror));
}

// Of `count` values side by side in shared memory or scratch: as far as one access of 16 bytes reaches.
template <class Acc, int count>
constexpr int alignment_of_values = count * sizeof(Acc) % 16 == 0  ? 16
                                    : count * sizeof(Acc) % 8 == 0 ? 8
                                                                   : 4;

template <class Acc>
__device__ __forceinline__ void add_atomically(Acc* target, Acc v) {
  if constexpr (std::is_integral<Acc>::value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(v));
  } else {
    atomicAdd(target, v);
  }
}

template <class O, class Likely, class Acc>
__device__ __forceinline__ void deliver(const Sink<Acc>& s, int64_t place, Acc v) {
  if constexpr (O::adds && std::is_arithmetic<Acc>::value) {
    if (s.atomic) return add_atomically(static_cast<Acc*>(s.to) + place, v);
  }
  if constexpr (!std::is_arithmetic<Acc>::value || O::has_order) {  // a partial keeps all of its words, and is no root
    if (!s.results) {
      static_cast<Acc*>(s.to)[place] = v;
      return;
    }
  }
  write<O, Likely>(s, place, v);
}

// Where the value of a unit of an output goes.
template <Access A, class Acc, class Kept>
__device__ __forceinline__ int64_t place_of(const Sink<Acc>& s, const Kept& kept, int64_t unit, int64_t output) {
  if constexpr (A != Access::Contiguous) {
    if (s.results) return kept.out(output);
  }
  return unit * s.unit_stride + output * s.output_stride;
}

}  // namespace torch_reduce::cuda
