#include "core/cuda/select/select.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

template <class In, class Number>
cudaError_t start_step(SelectArgs args, const SelectStep& step, cudaStream_t stream, bool dependent) {
  args.log_room = step.log_room;
  args.grid = step.grid;
  const int64_t shared = static_cast<int64_t>(sizeof(Indexed<Number>)) << step.log_room;
  return start(select<In, Number>, static_cast<const SelectArgs&>(args),
               Launch{step.grid, step.block, shared, stream, dependent});
}

template <class In, class Number>
cudaError_t select_as(const SelectPlan& plan, const Selection& s, const Buffers& b, cudaStream_t stream,
                      bool dependent) {
  const Problem& p = s.rows;
  const auto size = static_cast<int>(size_of(p.in));
  SelectArgs args{source_of<Selects>(p, b.in),
                  nullptr,
                  b.out,
                  p.layout.outputs,
                  p.layout.n,
                  scanned_stride(p) * size,
                  *p.scan_stride,
                  plan.segments,
                  plan.segment,
                  1,
                  static_cast<int>(s.count),
                  0,
                  s.largest,
                  plan.reads_vectors,
                  KeptIndex<Access::Strided>(p.layout, 0, size)};
  if (plan.segments == 1) return start_step<In, Number>(args, plan.first, stream, dependent);
  args.out = b.scratch;
  const cudaError_t status = start_step<In, Number>(args, plan.first, stream, dependent);
  if (status != cudaSuccess) return status;
  args.items = b.scratch;
  args.out = b.out;
  args.n = args.segment = plan.segments * s.count;
  args.segments = 1;
  return start_step<Left, Number>(args, plan.second, stream, dependent);
}

}  // namespace

cudaError_t launch_selection(const SelectPlan& plan, const Selection& s, const Buffers& b, cudaStream_t stream,
                             bool dependent) {
  if (is_empty(s.rows) || s.count == 0) return cudaSuccess;
  // Rows of 2^32 elements and more have indices of 64 bits, whatever their type.
  if (s.rows.compute == DType::Float64) return select_as<Any, double>(plan, s, b, stream, dependent);
  switch (s.rows.in) {
    case DType::Float32:
      return select_as<float, float>(plan, s, b, stream, dependent);
    case DType::Float16:
      return select_as<Half, float>(plan, s, b, stream, dependent);
    case DType::BFloat16:
      return select_as<BFloat16, float>(plan, s, b, stream, dependent);
    default:
      return select_as<Any, int64_t>(plan, s, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
