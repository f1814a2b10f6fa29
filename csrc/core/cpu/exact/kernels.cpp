// Exact sums, for one instruction set (dispatch/kernels.h).
#include "core/cpu/exact/kernels.h"

#include <vector>

#include "core/contract/exact/round.h"
#include "core/contract/integers.h"
#include "core/cpu/exact/products.h"
#include "core/cpu/exact/reader.h"
#include "core/cpu/exact/slices.h"
#include "core/cpu/exact/wide_products.h"
#include "core/plan/tuning/cpu.h"

namespace torch_reduce::cpu::TR_CPU_NAMESPACE {
namespace {

// Fewer elements than this are not worth waking a thread for.
constexpr int64_t kExactGrain = 32768;

// One reduction: a task is a piece of a group of neighbouring outputs. `Reader` sums their numbers.
template <class Reader>
struct ExactJob {
  using T = typename Reader::Number;
  using F = typename Reader::Format;
  static constexpr bool kAddsByReader = std::is_same<F, exact::Products>::value;
  const Problem& problem;
  const Layout& factors;  // of second factors, if there are any
  const ExactPlan& plan;
  const Buffers& buffers;
  Superaccumulator<F>* partials;  // [output][piece], where there is more than one piece

  // The first of a task's outputs, and where it and its elements are.
  struct Group {
    int64_t output, count;
    ExactPlace in;
    int64_t out;
  };
  KeptDim inner() const {
    return problem.layout.kept_dims ? problem.layout.kept[problem.layout.kept_dims - 1] : KeptDim{1, 0, 0};
  }
  Group group_of(int64_t task) const {
    const int64_t size = inner().size, groups = (size + plan.group - 1) / plan.group;
    const int64_t line = task / groups, first = task % groups * plan.group;
    Group group{line * size + first, smaller(plan.group, size - first), {}, first * inner().out_stride};
    group.in = neighbour(group.in, first);
    int64_t rest = line;
    for (int d = problem.layout.kept_dims - 2; d >= 0; --d) {
      const KeptDim& k = problem.layout.kept[d];
      const int64_t i = d == 0 ? rest : rest % k.size;
      group.in.own += i * k.in_stride;
      group.in.other += i * factors.kept[d].in_stride;
      group.out += i * k.out_stride;
      rest /= k.size;
    }
    return group;
  }

  // Where the elements of the output are that is so many behind one of a group.
  ExactPlace neighbour(const ExactPlace& place, int64_t outputs) const {
    const int d = problem.layout.kept_dims - 1;
    if (d < 0) return place;
    return {place.own + outputs * inner().in_stride, place.other + outputs * factors.kept[d].in_stride};
  }

  // At most a block of one output's elements, in any range.
  static void add_any(Reader& reader, int64_t first, int64_t end, Superaccumulator<F>& sum) {
    if constexpr (kAddsByReader) {
      reader.add(first, end, sum);
    } else {
      T block[kExactBlock];
      double wide[kExactBlock] = {};
      reader.copy(first, end, block);
      for (int64_t i = 0; i < end - first; ++i) wide[i] = widen<double>(block[i]);
      add_in_slices(wide, sum);
    }
  }

  // Adds elements first .. end of each output of a group, at most a block, to its total.
  void add_block(const Group& group, int64_t first, int64_t end, Reader& reader, Superaccumulator<F>* totals) const {
    if constexpr (kAddsByReader) {
      for (int64_t j = 0; j < group.count; ++j) {
        reader.start(neighbour(group.in, j), 1);
        add_any(reader, first, end, totals[j]);
      }
    } else {
      Sums<T> sums;
      reader.start(group.in, group.count);
      reader.sum(first, end, sums);
      for (int64_t j = 0; j < group.count; ++j) {
        if (sums.is_exact(j, kLogExactBlock)) {
          const Nearest sum = sums.nearest(j);
          totals[j].add(sum.value);
          totals[j].add(sum.rest);
        } else {
          reader.start(neighbour(group.in, j), 1);
          add_any(reader, first, end, totals[j]);
        }
      }
    }
  }

  void run(int64_t task, Reader& reader) const {
    const Group group = group_of(task / plan.split);
    const int64_t piece = task % plan.split;
    const int64_t begin = piece * plan.piece, end = smaller(begin + plan.piece, problem.layout.n);
    if (0 < end && problem.layout.n <= kExactBlock && !plan.words && reader.has_side_by_side()) {
      typename Reader::SideBySide sums;
      reader.start(group.in, group.count);
      reader.sum(begin, end, sums);
      return round(group, sums);
    }
    std::vector<Superaccumulator<F>> totals(static_cast<size_t>(group.count));
    for (int64_t k = begin; k < end; k += kExactBlock) {
      add_block(group, k, smaller(k + kExactBlock, end), reader, totals.data());
    }
    for (int64_t j = 0; j < group.count; ++j) {
      if (plan.split > 1) {
        partials[(group.output + j) * plan.split + piece] = totals[j];
      } else {
        write(group.out + j * inner().out_stride, totals[j]);
      }
    }
  }

  void round(const Group& group, const typename Reader::SideBySide& sums) const {
    switch (problem.out) {
      case DType::Float16:
        return round_to<Half>(group, sums);
      case DType::BFloat16:
        return round_to<BFloat16>(group, sums);
      case DType::Float32:
        return round_to<float>(group, sums);
      default:
        return round_to<double>(group, sums);
    }
  }

  template <class Out>
  void round_to(const Group& group, const typename Reader::SideBySide& sums) const {
    const int64_t stride = inner().out_stride;
    double value[kMostSums];
    int64_t doubts[kMostSums];
    round_sums<!std::is_same<Out, double>::value>(sums, group.count, log2_above(problem.layout.n),
                                                  static_cast<double>(divisor()), value, doubts);
    Out* const to = static_cast<Out*>(buffers.out) + group.out;
    if (stride == 1) {
      for (int64_t j = 0; j < group.count; ++j) to[j] = Narrow<Out, double>::from(value[j]);
    } else {
      for (int64_t j = 0; j < group.count; ++j) to[j * stride] = Narrow<Out, double>::from(value[j]);
    }
    for (int64_t j = 0; j < group.count; ++j) {
      if (doubts[j] == 0) continue;
      Superaccumulator<F> sum;
      Reader reader(problem, plan, buffers);
      reader.start(neighbour(group.in, j), 1);
      add_any(reader, 0, problem.layout.n, sum);
      write(group.out + j * stride, sum);
    }
  }

  int64_t divisor() const { return traits_of(problem.op).divides() ? problem.layout.n : 1; }

  __attribute__((noinline)) void write(int64_t place, Superaccumulator<F>& sum) const {
    if (plan.words) {
      exact::normalize<F>(sum.word);
      __builtin_memcpy(static_cast<int64_t*>(buffers.out) + place, sum.word, sizeof(sum.word));
      return;
    }
    exact::store_bits(
        buffers.out, place, problem.out,
        exact::round_words<F>([&](int w) { return sum.word[w]; }, divisor(), exact::target_of(problem.out)));
  }

  // Merging is adding word by word.
  void merge(int64_t task) const {
    const Group group = group_of(task);
    for (int64_t j = 0; j < group.count; ++j) {
      Superaccumulator<F> sum;
      for (int64_t piece = 0; piece < plan.split; ++piece) {
        Superaccumulator<F>& part = partials[(group.output + j) * plan.split + piece];
        part.carry();
        for (int w = 0; w < F::kWords; ++w) sum.word[w] += part.word[w];
      }
      write(group.out + j * inner().out_stride, sum);
    }
  }
};

template <class Reader>
void run_read_by(const Problem& problem, const Layout& factors, const ExactPlan& plan, const Buffers& buffers,
                 const Threads& threads) {
  using Job = ExactJob<Reader>;
  const int64_t parts = plan.split > 1 ? problem.layout.outputs * plan.split : 0;
  std::vector<Superaccumulator<typename Job::F>> partials(static_cast<size_t>(parts));
  const Job job{problem, factors, plan, buffers, partials.data()};
  const Task task = [](void* context, int64_t begin, int64_t end) {
    const Job& shared = *static_cast<const Job*>(context);
    Reader reader(shared.problem, shared.plan, shared.buffers);
    for (int64_t i = begin; i < end; ++i) shared.run(i, reader);
  };
  void* context = const_cast<Job*>(&job);
  const int64_t tasks = plan.groups * plan.split;
  const int64_t elements = smaller(plan.piece, problem.layout.n) * plan.group + 1;
  const int64_t grain = (kExactGrain + elements - 1) / elements;
  if (threads.count <= 1 || tasks <= grain) {
    task(context, 0, tasks);
  } else {
    threads.parallel_for(tasks, grain, context, task);
  }
  if (plan.split > 1) {
    for (int64_t group = 0; group < plan.groups; ++group) job.merge(group);
  }
}

template <class T>
void run_typed(const Problem& problem, const ExactPlan& plan, const Buffers& buffers, const Threads& threads) {
  run_read_by<Reader<T>>(problem, problem.layout, plan, buffers, threads);
}

}  // namespace

void run_exactly(const Problem& problem, const ExactPlan& plan, const Buffers& buffers, const Threads& threads) {
  if (multiplies(problem)) {
    const Layout factors = layout_of_factors(problem);
    if (has_wide_products(problem)) {
      return run_read_by<WideProductReader>(problem, factors, plan, buffers, threads);
    }
    return run_read_by<ProductReader>(problem, factors, plan, buffers, threads);
  }
  switch (problem.in) {
    case DType::Float16:
      return run_typed<Half>(problem, plan, buffers, threads);
    case DType::BFloat16:
      return run_typed<BFloat16>(problem, plan, buffers, threads);
    case DType::Float32:
      return run_typed<float>(problem, plan, buffers, threads);
    default:
      return run_typed<double>(problem, plan, buffers, threads);
  }
}

}  // namespace torch_reduce::cpu::TR_CPU_NAMESPACE
