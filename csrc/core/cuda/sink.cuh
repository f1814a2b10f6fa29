// Where a CTA's results go: straight to the output, to scratch as partials, or into atomic accumulators.
#pragma once

#include "../plan.h"
#include "element.cuh"

namespace torch_reduce::cuda {

template <class Acc>
struct Sink {
  void* out;
  DType type;
  bool mean;
  Finish finish;
  int64_t n;  // elements per output
  int64_t outputs;
  uint32_t units;                      // CTAs per output
  Acc* partials;                       // Partials: in scratch
  int64_t unit_stride, output_stride;  //   and how they lie there
  Acc* accumulators;                   // Atomic: [output], zero at launch
  uint32_t* tickets;                   // Atomic: [tile], zero at launch; null where the output itself accumulates
};

template <class O, class Acc>
__device__ __forceinline__ void write(const Sink<Acc>& s, int64_t place, Acc v) {
  if constexpr (std::is_same<O, Sum>::value) {
    if (s.mean) return store<O>(s.out, place, s.type, Mean::finish(v, s.n));
  }
  store<O>(s.out, place, s.type, O::finish(v, s.n));
}

template <class Acc>
__device__ __forceinline__ void add_atomically(Acc* target, Acc v) {
  if constexpr (std::is_integral<Acc>::value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(target), static_cast<unsigned long long>(v));
  } else {
    atomicAdd(target, v);
  }
}

// A value that is not an output's last: `output` numbers the outputs, `place` is its place in the output's memory.
template <class O, class Acc>
__device__ __forceinline__ void deliver_part(const Sink<Acc>& s, int64_t unit, int64_t output, int64_t place, Acc v) {
  if constexpr (std::is_same<O, Sum>::value) {
    if (s.finish == Finish::Atomic) {
      wait_for_previous_kernel();  // which zeroes the target
      return add_atomically(s.tickets ? s.accumulators + output : static_cast<Acc*>(s.out) + place, v);
    }
  }
  s.partials[unit * s.unit_stride + output * s.output_stride] = v;
}

template <class O, class Acc>
__device__ __forceinline__ void deliver(const Sink<Acc>& s, int64_t unit, int64_t output, int64_t place, Acc v) {
  if (s.finish == Finish::Direct) return write<O>(s, place, v);
  deliver_part<O>(s, unit, output, place, v);
}

// Atomic with accumulators in scratch: whether the calling thread is the last of its tile's units to come here. What
// it added before, the last one sees.
template <class Acc>
__device__ __forceinline__ bool takes_last_ticket(const Sink<Acc>& s, int64_t tile) {
  uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(s.tickets + tile) : "memory");
  return before + 1 == s.units;
}

template <class Acc>
__device__ __forceinline__ bool has_tickets(const Sink<Acc>& s) {
  return s.finish == Finish::Atomic && s.tickets != nullptr;
}

}  // namespace torch_reduce::cuda
