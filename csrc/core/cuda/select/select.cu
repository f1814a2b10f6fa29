#include "core/contract/integers.h"
#include "core/contract/order.h"
#include "core/cuda/select/select.cuh"
#include "core/cuda/start/start.cuh"

namespace torch_reduce::cuda {
namespace {

template <class In, class Number>
cudaError_t select_as(const Selection& s, const void* in, int64_t* out, cudaStream_t stream, bool dependent) {
  const Problem& p = s.rows;
  const Layout& l = p.layout;
  const auto size = static_cast<int>(size_of(p.in));
  const int64_t stride = scanned_stride(p);
  bool reads_vectors = p.in_alignment == 16 && stride == 1;
  for (int d = 0; d < l.kept_dims; ++d) reads_vectors &= l.kept[d].in_stride * size % 16 == 0;
  const int log_room = log2_above(std::min(kSelectedAtOnce, l.n));
  constexpr int64_t kOfThread = 2;
  const int64_t block = l.n > kSelectedAtOnce
                            ? kMostSelected
                            : std::min(kMostSelected, std::max<int64_t>(32, power_of_two_above(l.n) / kOfThread));
  constexpr int64_t kMostCtas = 0x7fffffff;
  const SelectArgs args{source_of<Selects>(p, in),
                        out,
                        l.outputs,
                        l.n,
                        stride * size,
                        *p.scan_stride,
                        static_cast<int>(s.count),
                        log_room,
                        s.largest,
                        reads_vectors,
                        KeptIndex<Access::Strided>(l, 0, size)};
  const Launch launch{std::min(l.outputs, kMostCtas), static_cast<int>(block),
                      static_cast<int64_t>(sizeof(Indexed<Number>)) << log_room, stream, dependent};
  return start(select<In, Number>, args, launch);
}

}  // namespace

cudaError_t launch_selection(const Selection& s, const void* in, int64_t* out, cudaStream_t stream, bool dependent) {
  if (is_empty(s.rows) || s.count == 0) return cudaSuccess;
  switch (s.rows.in) {
    case DType::Float32:
      return select_as<float, float>(s, in, out, stream, dependent);
    case DType::Float16:
      return select_as<Half, float>(s, in, out, stream, dependent);
    case DType::BFloat16:
      return select_as<BFloat16, float>(s, in, out, stream, dependent);
    default:
      return s.rows.compute == DType::Float64 ? select_as<Any, double>(s, in, out, stream, dependent)
                                              : select_as<Any, int64_t>(s, in, out, stream, dependent);
  }
}

}  // namespace torch_reduce::cuda
