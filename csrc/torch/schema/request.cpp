#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>

#include "core/problem/build_problem.h"
#include "result_type.h"

namespace torch_reduce {
namespace {

Mode parse_mode(c10::string_view mode) {
  if (mode == "deterministic") return Mode::Deterministic;
  if (mode == "atomic") return Mode::Atomic;
  if (mode == "exact") return Mode::Exact;
  TORCH_CHECK_VALUE(false, "reduce: unknown mode \"", mode,
                    "\"; the modes are \"atomic\", \"deterministic\" and \"exact\"");
}

bool has_exact(Op op) { return traits_of(op).has_exact; }

bool is_zero(const c10::SymInt& size) {
  const auto known = size.maybe_as_int();
  return known ? *known == 0 : TORCH_GUARD_OR_FALSE(size.sym_eq(0));
}

// A maximum of nothing has no value.
void check_not_empty(const Request& r, at::SymIntArrayRef sizes, const DimMask& mask) {
  const bool all = !r.dim.has_value() || r.dim->empty();
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!mask.reduced[d] || !is_zero(sizes[d])) continue;
    constexpr const char *kNothing = ": an empty tensor has no ", *kAdvice = "; name dims of non-zero size with dim=";
    TORCH_CHECK_INDEX(!all || !traits_of(r.op).needs_index, "reduce::", name(r), kNothing, name(r), kAdvice);
    TORCH_CHECK(!all, "reduce::", name(r), kNothing, name(r), kAdvice);
    constexpr const char* kWhy = " has size 0, but a reduced dim needs at least one element";
    TORCH_CHECK(!traits_of(r.op).refuses_integers, "reduce::", name(r), ": dim ", d, kWhy);  // of norms, as torch's
    TORCH_CHECK_INDEX(false, "reduce::", name(r), ": dim ", d, kWhy);
  }
}

// Whether an end of `other` lies within `dense`, which has no gaps: then the two share memory.
bool reaches_into(const at::Tensor& other, const at::Tensor& dense) {
  if (!dense.is_non_overlapping_and_dense()) return false;
  const auto address = [](const at::Tensor& t) { return reinterpret_cast<uintptr_t>(t.const_data_ptr()); };
  const uintptr_t begin = address(dense), end = begin + dense.nbytes();
  const uintptr_t first = address(other);
  uintptr_t last = first;
  for (int64_t d = 0; d < other.dim(); ++d) {
    last += static_cast<uintptr_t>((other.size(d) - 1) * other.stride(d)) * other.element_size();
  }
  return (begin <= first && first < end) || (begin <= last && last < end);
}

// at::get_overlap_status does not decide where a side has gaps. Where both have, neither does this: that would take
// solving a linear equation in as many unknowns as there are dims.
bool share_memory(const at::Tensor& a, const at::Tensor& b) {
  switch (at::get_overlap_status(a, b)) {
    case at::MemOverlapStatus::Full:
    case at::MemOverlapStatus::Partial:
      return true;
    case at::MemOverlapStatus::No:
      return false;
    default:
      return reaches_into(a, b) || reaches_into(b, a);
  }
}

// Whether `out` is the input itself, of a scan: it reads an element once, before that place is written to. Of indices
// it is not, as values are scanned after them (call_pair).
bool scans_in_place(const Request& r, const at::Tensor& self, const at::Tensor& out) {
  return r.scan && !traits_of(r.op).needs_index && out.const_data_ptr() == self.const_data_ptr() &&
         out.scalar_type() == self.scalar_type() && out.sizes() == self.sizes() && out.strides() == self.strides();
}

}  // namespace

Op parse_op(c10::string_view op) {
  std::string known;
  for (int i = 0; i < kOps; ++i) {
    const char* each = name(static_cast<Op>(i));
    if (op == each) return static_cast<Op>(i);
    known += (i == 0 ? "" : i + 1 < kOps ? ", " : " and ") + std::string(each);
  }
  TORCH_CHECK_VALUE(false, "reduce: unknown operator \"", op, "\"; there are ", known);
}

std::optional<Scan> find_scan(c10::string_view scan) {
  for (int i = 0; i < kScans; ++i) {
    if (scan == name(static_cast<Scan>(i))) return static_cast<Scan>(i);
  }
  return std::nullopt;
}

bool reduces_none(const Request& r) {
  return traits_of(r.op).gives == Gives::Truth && r.dim.has_value() && r.dim->empty();
}

DimMask reduced_dims(const Request& r, int64_t ndim) {
  TORCH_CHECK(ndim <= kMaxDims, "reduce::", name(r), ": a tensor has at most ", kMaxDims, " dims, got ", ndim);
  DimMask mask;
  const bool all = !r.dim.has_value() || (r.dim->empty() && !reduces_none(r));
  for (int64_t d = 0; d < ndim; ++d) mask.reduced[d] = all;
  if (all) return mask;
  bool seen[kMaxDims] = {};  // beside the mask, as a 0-d tensor has a dim 0 too
  for (const int64_t dim : *r.dim) {
    const int64_t d = at::maybe_wrap_dim(dim, ndim);  // raises torch's own IndexError
    TORCH_CHECK(!seen[d], "reduce::", name(r), ": dim ", d, " appears multiple times in the list of dims");
    seen[d] = mask.reduced[d] = true;
  }
  return mask;
}

Checked check(const Request& r, const at::Tensor& self, std::optional<at::ScalarType> out) {
  const Checked checked{parse_mode(r.mode), reduced_dims(r, self.dim()), result_type(r, self.scalar_type(), out)};
  TORCH_CHECK_NOT_IMPLEMENTED(!is_float8(self.scalar_type()) || r.role == Role::None, "reduce::", name(r),
                              ": beside a second tensor or a mask float8 is converted first");
  TORCH_CHECK_NOT_IMPLEMENTED(checked.mode != Mode::Exact || traits_of(r.op).has_exact, "reduce::", name(r),
                              ": mode \"exact\" is for ", names_with(has_exact),
                              "; use \"deterministic\" or \"atomic\"");
  TORCH_CHECK_NOT_IMPLEMENTED(checked.mode != Mode::Exact || r.role != Role::Mask, "reduce::", name(r),
                              ": mode \"exact\" takes no mask; use \"deterministic\" or \"atomic\"");
  TORCH_CHECK_VALUE(r.role == Role::Factor || traits_of(r.op).role != Role::Factor, "reduce::", name(r),
                    " takes two tensors");
  const bool is_inverse = traits_of(r.op).has_order && r.correction < 0;
  if ((traits_of(r.op).selects && !r.scan) || is_inverse) check_not_empty(r, self.sym_sizes(), checked.mask);
  return checked;
}

bool check_out(const Request& r, const Checked& checked, const at::Tensor& self, at::SymIntArrayRef sizes,
               const at::Tensor& out) {
  TORCH_CHECK(out.device() == self.device(), "reduce::", name(r), ": out is on ", out.device(), " but the input is on ",
              self.device());
  TORCH_CHECK(out.scalar_type() == checked.type, "reduce::", name(r), ": out has dtype ", out.scalar_type(),
              " but the result has ", checked.type);
  TORCH_CHECK(out.layout() == at::kStrided, "reduce::", name(r), ": out must be a strided tensor");
  if (is_zero(out.sym_numel())) return true;
  bool same = out.dim() == static_cast<int64_t>(sizes.size());
  for (size_t d = 0; same && d < sizes.size(); ++d) {
    same = TORCH_GUARD_OR_TRUE(out.sym_size(static_cast<int64_t>(d)).sym_eq(sizes[d]));
  }
  TORCH_CHECK(same, "reduce::", name(r), ": out has shape ", out.sym_sizes(), " but the result has ", sizes);
  return false;
}

void check_no_overlap(const Request& r, const at::Tensor& self, const at::Tensor& out, bool resizes) {
  if (resizes) {  // where it will lie is not known yet, but in which storage
    TORCH_CHECK(scans_in_place(r, self, out) || !out.is_alias_of(self), "reduce::", name(r),
                ": out is to be resized and shares memory with the input");
    return;
  }
  TORCH_CHECK(at::has_internal_overlap(out) != at::MemOverlap::Yes, "reduce::", name(r),
              ": several elements of out share one place in memory");
  TORCH_CHECK(scans_in_place(r, self, out) || !share_memory(out, self), "reduce::", name(r),
              ": out shares memory with the input");
}

namespace {

// Memory that is not there begins at a multiple of everything.
int alignment_of(const at::Tensor& t) {
  return torch_reduce::alignment_of(t.is_meta() ? static_cast<uintptr_t>(t.storage_offset()) * t.element_size()
                                                : reinterpret_cast<uintptr_t>(t.const_data_ptr()));
}

}  // namespace

at::Tensor as_read(const Checked& checked, const at::Tensor& self) {
  return checked.mode == Mode::Exact && is_float8(self.scalar_type()) ? self.to(at::kHalf) : self;
}

Problem make_problem(const Request& r, const Checked& checked, const at::Tensor& self, at::IntArrayRef out_strides,
                     const at::Tensor* other) {
  const int64_t ndim = self.dim();
  int64_t strides[kMaxDims];  // of the output, by dim of the input
  size_t kept = 0;
  int64_t second = 0;
  std::optional<int64_t> scan_stride;
  if (r.scan) scan_stride = 1;
  if (is_pair(r.op)) {
    second = out_strides.back();
    out_strides = out_strides.slice(0, out_strides.size() - 1);
  }
  const bool keeps = static_cast<int64_t>(out_strides.size()) == ndim;
  for (int64_t d = 0; d < ndim; ++d) {
    const bool reduced = checked.mask.reduced[d];
    strides[d] = reduced ? 0 : out_strides[keeps ? static_cast<size_t>(d) : kept++];
    if (r.scan && reduced) scan_stride = out_strides[static_cast<size_t>(d)];
  }
  Description description{r.op,
                          checked.mode,
                          to_dtype(self.scalar_type()),
                          to_dtype(checked.type),
                          alignment_of(self),
                          static_cast<int>(ndim),
                          self.sizes().data(),
                          self.strides().data(),
                          checked.mask.reduced,
                          strides,
                          r.correction,
                          second,
                          scan_stride};
  if (other != nullptr) {
    description.role = r.role;
    description.other_type = to_dtype(other->scalar_type());
    description.other_alignment = alignment_of(*other);
    description.other_strides = other->strides().data();
  }
  return build_problem(description);
}

}  // namespace torch_reduce
