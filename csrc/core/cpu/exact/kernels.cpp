// Exact sums, for one instruction set (dispatch/kernels.h). The order of elements is free: blocks are filled as memory
// lies.
#include "core/cpu/exact/kernels.h"

#include "core/contract/exact/round.h"
#include "core/contract/integers.h"
#include "core/cpu/exact/block.h"
#include "core/cpu/exact/few.h"
#include "core/cpu/simd/copy.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

// Fewer elements than this are not worth waking a thread for.
constexpr int64_t kExactGrain = 32768;

TR_HD int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// One reduction: a task is a piece of a group of adjacent outputs.
template <class T>
struct ExactJob {
  using F = exact::FormatOf<T>;
  const Problem& problem;
  const ExactPlan& plan;
  const T* in;
  void* out;
  Superaccumulator<F>* partials;  // [output][piece], where there is more than one piece

  // The input's and output's place of an output.
  struct Place {
    int64_t in, out;
  };
  Place place_of(int64_t output) const {
    Place place{0, 0};
    for (int d = problem.layout.kept_dims - 1; d >= 0; --d) {
      const KeptDim& k = problem.layout.kept[d];
      const int64_t i = d == 0 ? output : output % k.size;
      place.in += i * k.in_stride;
      place.out += i * k.out_stride;
      output /= k.size;
    }
    return place;
  }

  // `count` elements of the output at x, from element `first` on, copied next to one another.
  void gather(const T* x, int64_t first, int64_t count, T* block) const {
    const Layout& l = problem.layout;
    if (l.reduced_dims == 0) {
      *block = *x;
      return;
    }
    const ReducedDim& inner = l.reduced[l.reduced_dims - 1];
    while (count > 0) {
      int64_t rest = first, offset = 0;
      for (int d = l.reduced_dims - 1; d >= 0; --d) {
        const ReducedDim& r = l.reduced[d];
        const int64_t i = d == 0 ? rest : rest % r.size;
        offset += i * r.stride;
        rest /= r.size;
      }
      const int64_t run = least(inner.size - first % inner.size, count);
      copy_elements(reinterpret_cast<const char*>(x + offset), sizeof(T), inner.stride, run,
                    reinterpret_cast<char*>(block));
      first += run;
      block += run;
      count -= run;
    }
  }

  bool contiguous() const { return problem.layout.reduced_dims == 1 && problem.layout.reduced[0].stride == 1; }

  void add_elements(const T* x, int64_t first, int64_t end, Superaccumulator<F>& sum) const {
    const bool in_place = contiguous();
    const bool large = problem.layout.n * static_cast<int64_t>(sizeof(T)) > prefetch_above(kIsWide);
    const int64_t ahead = large ? fetch_distance(Reading::Rows, sizeof(T), kIsWide) : 0;
    for (; first < end; first += kBlock) {
      const int64_t count = least(end - first, kBlock);
      if (in_place && count == kBlock) {
        add_block(x + first, ahead, sum);
        continue;
      }
      T block[kBlock];
      gather(x, first, count, block);
      __builtin_memset(static_cast<void*>(block + count), 0, static_cast<size_t>(kBlock - count) * sizeof(T));
      add_block(block, 0, sum);
    }
  }

  void write(int64_t output, Superaccumulator<F>& sum) const {
    const int64_t place = place_of(output).out;
    if (plan.words) {
      exact::normalize<F>(sum.word);
      __builtin_memcpy(static_cast<int64_t*>(out) + place, sum.word, sizeof(sum.word));
      return;
    }
    const int64_t divisor = traits_of(problem.op).divides ? problem.layout.n : 1;
    exact::store_bits(
        out, place, problem.out,
        exact::round_words<F>([&](int w) { return sum.word[w]; }, divisor, exact::target_of(problem.out)));
  }

  // Neighbours along the innermost kept dim, of a few elements each.
  void run_few(int64_t task) const {
    const Layout& l = problem.layout;
    const KeptDim& inner = l.kept[l.kept_dims - 1];
    const int64_t groups = (inner.size + plan.group - 1) / plan.group, first = task % groups * plan.group;
    const int64_t output = task / groups * inner.size + first, count = least(plan.group, inner.size - first);
    const Place place = place_of(output);
    FewSums<T> sums;
    sums.start(count);
    T copies[kFewOutputs];
    for_elements([&](int64_t offset) {
      const T* x = in + place.in + offset;
      if (inner.in_stride != 1) {
        copy_elements(reinterpret_cast<const char*>(x), sizeof(T), inner.in_stride, count,
                      reinterpret_cast<char*>(copies));
        x = copies;
      }
      sums.add(x, count);
    });
    switch (problem.out) {
      case DType::Float16:
        return write_few<Half>(sums, output, count, place.out, inner);
      case DType::BFloat16:
        return write_few<BFloat16>(sums, output, count, place.out, inner);
      case DType::Float32:
        return write_few<float>(sums, output, count, place.out, inner);
      default:
        return write_few<double>(sums, output, count, place.out, inner);
    }
  }

  // each(place among the elements of an output), for each of them.
  template <class Each>
  void for_elements(Each each) const {
    const Layout& l = problem.layout;
    int64_t index[kMaxDims] = {}, offset = 0;
    for (int64_t i = 0; i < l.n; ++i) {
      each(offset);
      for (int d = l.reduced_dims - 1; d >= 0; --d) {
        offset += l.reduced[d].stride;
        if (++index[d] < l.reduced[d].size) break;
        offset -= index[d] * l.reduced[d].stride;
        index[d] = 0;
      }
    }
  }

  template <class Out>
  void write_few(const FewSums<T>& sums, int64_t output, int64_t count, int64_t place, const KeptDim& inner) const {
    const double divisor = traits_of(problem.op).divides ? static_cast<double>(problem.layout.n) : 1;
    double value[kFewOutputs];
    int64_t doubts[kFewOutputs];
    round_few<!std::is_same<Out, double>::value>(sums, count, log2_above(problem.layout.n), divisor, value, doubts);
    Out* const to = static_cast<Out*>(out) + place;
    if (inner.out_stride == 1) {
      for (int64_t j = 0; j < count; ++j) to[j] = Narrow<Out, double>::from(value[j]);
    } else {
      for (int64_t j = 0; j < count; ++j) to[j * inner.out_stride] = Narrow<Out, double>::from(value[j]);
    }
    for (int64_t j = 0; j < count; ++j) {
      if (doubts[j] == 0) continue;
      Superaccumulator<F> sum;
      add_elements(in + place_of(output + j).in, 0, problem.layout.n, sum);
      write(output + j, sum);
    }
  }

  void run(int64_t task) const {
    if (plan.few) return run_few(task);
    const Layout& l = problem.layout;
    const int64_t group = task / plan.split, piece = task % plan.split;
    const int64_t begin = piece * plan.piece, end = least(begin + plan.piece, l.n);
    const int64_t output0 = group * plan.group, outputs = least(plan.group, l.outputs - output0);
    if (outputs == 1) {
      Superaccumulator<F> sum;
      add_elements(in + place_of(output0).in, begin, end, sum);
      return deliver(output0, piece, sum);
    }
    Superaccumulator<F> sums[kMostInGroup];
    int64_t places[kMostInGroup];
    for (int64_t i = 0; i < outputs; ++i) places[i] = place_of(output0 + i).in;
    for (int64_t k = begin; k < end; k += kBlock) {
      for (int64_t i = 0; i < outputs; ++i) add_elements(in + places[i], k, least(k + kBlock, end), sums[i]);
    }
    for (int64_t i = 0; i < outputs; ++i) deliver(output0 + i, piece, sums[i]);
  }

  void deliver(int64_t output, int64_t piece, Superaccumulator<F>& sum) const {
    if (plan.split == 1) return write(output, sum);
    partials[output * plan.split + piece] = sum;
  }

  // Merging is adding word by word.
  void merge(int64_t output) const {
    Superaccumulator<F> sum;
    for (int64_t piece = 0; piece < plan.split; ++piece) {
      Superaccumulator<F>& part = partials[output * plan.split + piece];
      part.carry();
      for (int w = 0; w < F::kWords; ++w) sum.word[w] += part.word[w];
    }
    write(output, sum);
  }

  static constexpr int64_t kMostInGroup = 32;
};

template <class T>
void run_typed(const Problem& problem, const ExactPlan& plan, const void* in, void* out, const Threads& threads) {
  using Sum = Superaccumulator<exact::FormatOf<T>>;
  Sum* partials = plan.split > 1 ? new Sum[static_cast<size_t>(problem.layout.outputs * plan.split)] : nullptr;
  const ExactJob<T> job{problem, plan, static_cast<const T*>(in), out, partials};
  const Task task = [](void* context, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) static_cast<const ExactJob<T>*>(context)->run(i);
  };
  void* context = const_cast<ExactJob<T>*>(&job);
  const int64_t tasks = plan.groups * plan.split;
  const int64_t elements = least(plan.piece, problem.layout.n) * plan.group + 1;
  const int64_t grain = (kExactGrain + elements - 1) / elements;
  if (threads.count <= 1 || tasks <= grain) {
    task(context, 0, tasks);
  } else {
    threads.parallel_for(tasks, grain, context, task);
  }
  if (plan.split > 1) {
    for (int64_t output = 0; output < problem.layout.outputs; ++output) job.merge(output);
  }
  delete[] partials;
}

}  // namespace

void run_exactly(const Problem& problem, const ExactPlan& plan, const void* in, void* out, const Threads& threads) {
  switch (problem.in) {
    case DType::Float16:
      return run_typed<Half>(problem, plan, in, out, threads);
    case DType::BFloat16:
      return run_typed<BFloat16>(problem, plan, in, out, threads);
    case DType::Float32:
      return run_typed<float>(problem, plan, in, out, threads);
    default:
      return run_typed<double>(problem, plan, in, out, threads);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
