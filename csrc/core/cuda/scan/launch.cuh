// From a plan to the arguments of scan.
#pragma once

#include "core/contract/scans.h"
#include "core/cuda/scan/scan.cuh"
#include "core/cuda/start/buffers.h"
#include "core/cuda/start/zero.cuh"

namespace torch_reduce::cuda {

template <class O, class Acc>
cudaError_t start_scan(const ScanPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream, bool dependent) {
  const auto in_size = static_cast<int>(size_of(p.in)), out_size = static_cast<int>(size_of(p.out));
  auto* const ticket = static_cast<uint32_t*>(b.scratch);
  const ScanArgs<O, Acc> args{
      source_of<O>(p, b.in),
      p.out,
      mirror_of_result(p),
      {reinterpret_cast<int64_t>(b.in), scanned_stride(p) * in_size, in_size, plan.reads_across, plan.reads_packed,
       plan.reads_vectors},
      {reinterpret_cast<int64_t>(b.out), *p.scan_stride * out_size, out_size, plan.writes_across, plan.writes_packed,
       plan.writes_vectors},
      {p.layout.n, p.layout.outputs, plan.log_width, plan.log_warps, plan.log_chunks, plan.slot_bytes},
      static_cast<uint32_t>(plan.chunks),
      static_cast<uint32_t>(plan.tiles),
      static_cast<uint32_t>(plan.log_parts),
      ticket,
      {reinterpret_cast<uint64_t*>(ticket) + 1, p.layout.outputs, static_cast<uint32_t>(plan.parts)},
      KeptIndex<Access::Strided>(p.layout, 0, in_size)};
  if (plan.scratch_bytes > 0) {
    const cudaError_t status = start_zero<Acc>(ticket, plan.scratch_bytes / 4, stream, dependent);
    if (status != cudaSuccess) return status;
  }
  const Launch l{plan.grid, plan.block, plan.shared_bytes, stream, dependent};
  return start(scan<O, Acc>, args, l);
}

template <class O, class Word>
cudaError_t launch_scan_typed(const ScanPlan& plan, const Problem& p, const Buffers& b, cudaStream_t stream,
                              bool dependent) {
  if constexpr (!computes_in<O, Word>) {
    return cudaErrorInvalidValue;
  } else {
    return start_scan<O, accumulator_of<O, Word>>(plan, p, b, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
