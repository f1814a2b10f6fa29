#include "describe.h"

#include <numeric>

#include "core/contract/scans.h"
#include "core/problem/build_problem.h"

namespace torch_reduce::core {
namespace {

// The two enumerations are one list.
static_assert(static_cast<int>(DType::boolean) == static_cast<int>(torch_reduce::DType::Bool) &&
              static_cast<int>(DType::uint64) == static_cast<int>(torch_reduce::DType::UInt64) &&
              static_cast<int>(DType::float16) == static_cast<int>(torch_reduce::DType::Float16) &&
              static_cast<int>(DType::float64) == static_cast<int>(torch_reduce::DType::Float64));
static_assert(static_cast<int>(Mode::exact) == static_cast<int>(torch_reduce::Mode::Exact));

static_assert(static_cast<int>(DType::float8_e5m2) == static_cast<int>(torch_reduce::DType::Float8E5M2));

bool is_one(DType t) { return t <= DType::float8_e5m2; }
bool is_float8(DType t) { return t >= DType::float8_e4m3fn; }

Status check_types(const Reduction& r) {
  if (static_cast<int>(r.op) >= kOps) return Status::bad_op;
  if (traits_of(static_cast<torch_reduce::Op>(r.op)).role != Role::None) return Status::bad_op;
  const TraitsOf traits = traits_of(static_cast<torch_reduce::Op>(r.op));
  const bool has_mode = takes_dtype(signature_of(static_cast<torch_reduce::Op>(r.op)));
  if (r.scan && !has_scan(static_cast<torch_reduce::Op>(r.op))) return Status::bad_op;
  if (r.scan && r.mode == Mode::exact) return Status::unsupported_mode;
  if (r.mode > Mode::exact || (has_mode && r.mode == Mode::exact && !traits.has_exact)) return Status::unsupported_mode;
  if (!is_one(r.in) || !is_one(r.out)) return Status::unsupported_dtype;
  const bool floats = traits.divides() || traits.gives == Gives::Floating;
  if (traits.skips_nan && r.in >= DType::float16 && r.out < DType::float16) return Status::unsupported_dtype;
  if (floats && r.out < DType::float16) return Status::unsupported_dtype;
  if (traits.gives == Gives::Int64 && r.out != DType::int64) return Status::unsupported_dtype;
  if (is_float8(r.in) && has_mode && r.mode == Mode::exact) return Status::unsupported_mode;
  const DType own = is_float8(r.in) && !traits.selects ? DType::float32 : r.in;
  if (traits.gives == Gives::Element && r.out != own) return Status::unsupported_dtype;
  if (is_float8(r.out) && !(traits.gives == Gives::Element && traits.selects)) return Status::unsupported_dtype;
  if (traits.refuses_integers && r.in < DType::float16) return Status::unsupported_dtype;
  const DType truth = r.in == DType::uint8 ? DType::uint8 : DType::boolean;
  if (traits.gives == Gives::Truth && r.out != truth) return Status::unsupported_dtype;
  return Status::success;
}

Status find_reduced(const Reduction& r, bool* reduced) {
  if (r.ndim < 0 || r.ndim > kMaxDims || r.num_dims < 0 || r.num_dims > r.ndim) return Status::bad_dims;
  if ((r.ndim > 0 && r.sizes == nullptr) || (r.num_dims > 0 && r.dims == nullptr)) return Status::null_pointer;
  for (int d = 0; d < r.ndim; ++d) reduced[d] = r.num_dims == 0;
  for (int i = 0; i < r.num_dims; ++i) {
    const int d = r.dims[i] < 0 ? r.dims[i] + r.ndim : r.dims[i];
    if (d < 0 || d >= r.ndim || reduced[d]) return Status::bad_dims;
    reduced[d] = true;
  }
  const int dims = r.num_dims == 0 ? r.ndim : r.num_dims;
  if (r.scan && dims > 1) return Status::bad_dims;
  return Status::success;
}

Status check_sizes(const Reduction& r) {
  int64_t elements = 1;
  bool empty = false, overflows = false;
  for (int d = 0; d < r.ndim; ++d) {
    if (r.sizes[d] < 0) return Status::bad_sizes;
    empty |= r.sizes[d] == 0;
    overflows |= __builtin_mul_overflow(elements, r.sizes[d], &elements);
  }
  return overflows && !empty ? Status::bad_sizes : Status::success;
}

// Of the one reduced dim; that of a scalar is no matter.
int64_t stride_of_scan(const Reduction& r, const bool* reduced, const int64_t* strides) {
  for (int d = 0; d < r.ndim; ++d) {
    if (reduced[d]) return strides[d];
  }
  return 1;
}

// Strides of the dims that are kept, or of all: those given, else contiguous ones. Those of an empty tensor do not
// matter.
void fill_strides(const Reduction& r, const int64_t* given, const bool* left_out, int64_t* strides) {
  int64_t next = 1;
  int place = 0;
  for (int d = 0; d < r.ndim; ++d) place += left_out == nullptr || !left_out[d];
  for (int d = r.ndim - 1; d >= 0; --d) {
    strides[d] = 0;
    if (left_out != nullptr && left_out[d]) continue;
    strides[d] = given != nullptr ? given[--place] : next;
    if (given == nullptr) next = static_cast<int64_t>(static_cast<uint64_t>(next) * static_cast<uint64_t>(r.sizes[d]));
  }
}

// How many there are, at least 1.
int64_t results(const Reduction& r, const bool* reduced) {
  int64_t count = 1;
  for (int d = 0; d < r.ndim; ++d) count *= reduced[d] || r.sizes[d] == 0 ? 1 : r.sizes[d];
  return count;
}

// Whether results that differ in one kept dim or in two meet in one place. (More dims would take solving an equation in
// as many unknowns.)
bool share_a_place(const Reduction& r, const bool* left_out, const int64_t* strides, int64_t second) {
  struct Kept {
    uint64_t size, stride;
  };
  Kept kept[kMaxDims + 1];
  int count = 0;
  if (second != 0) kept[count++] = {2, second < 0 ? -static_cast<uint64_t>(second) : static_cast<uint64_t>(second)};
  for (int d = 0; d < r.ndim; ++d) {
    if ((left_out != nullptr && left_out[d]) || r.sizes[d] == 1) continue;
    if (r.sizes[d] == 0) return false;  // no results
    const auto stride = static_cast<uint64_t>(strides[d]);
    kept[count++] = {static_cast<uint64_t>(r.sizes[d]), strides[d] < 0 ? -stride : stride};
  }
  for (int a = 0; a < count; ++a) {
    if (kept[a].stride == 0) return true;
    for (int b = 0; b < a; ++b) {
      // So many steps along one are so many along the other.
      const uint64_t common = std::gcd(kept[a].stride, kept[b].stride);
      if (kept[b].stride / common < kept[a].size && kept[a].stride / common < kept[b].size) return true;
    }
  }
  return false;
}

}  // namespace

Status describe(const Reduction& r, Problem& p) noexcept {
  bool reduced[kMaxDims];
  Status status = check_types(r);
  if (status == Status::success) status = find_reduced(r, reduced);
  if (status == Status::success) status = check_sizes(r);
  if (status != Status::success) return status;
  int64_t strides[kMaxDims], out_strides[kMaxDims];
  fill_strides(r, r.strides, nullptr, strides);
  const bool* left_out = r.scan ? nullptr : reduced;  // of the dims of the output
  fill_strides(r, r.out_strides, left_out, out_strides);
  const auto op = static_cast<torch_reduce::Op>(r.op);
  const int64_t second = !is_pair(op) ? 0 : r.out_second != 0 ? r.out_second : results(r, reduced);
  if (share_a_place(r, left_out, out_strides, second)) return Status::bad_strides;
  const bool has_mode = takes_dtype(signature_of(op));
  const auto scan = r.scan ? std::optional(stride_of_scan(r, reduced, out_strides)) : std::nullopt;
  p = build_problem({op, has_mode ? static_cast<torch_reduce::Mode>(r.mode) : torch_reduce::Mode::Deterministic,
                     static_cast<torch_reduce::DType>(r.in), static_cast<torch_reduce::DType>(r.out), 16, r.ndim,
                     r.sizes, strides, reduced, out_strides, traits_of(op).has_order ? r.order : r.correction, second,
                     scan});
  const bool is_inverse = traits_of(p.op).has_order && p.correction < 0;
  const bool needs_element = (traits_of(p.op).selects && !p.scan_stride) || is_inverse;
  return needs_element && p.layout.n == 0 ? Status::no_elements : Status::success;
}

Status check_pointers(const void* in, const void* out, Problem& p) noexcept {
  if (is_empty(p)) return Status::success;
  if (out == nullptr || (in == nullptr && p.layout.n > 0)) return Status::null_pointer;
  const auto from = reinterpret_cast<uintptr_t>(in), to = reinterpret_cast<uintptr_t>(out);
  if (from % size_of(p.in) != 0 || to % size_of(p.out) != 0) return Status::misaligned_pointer;
  p.in_alignment = alignment_of(from);
  return Status::success;
}

}  // namespace torch_reduce::core
