// The operators as the binding sees them: a request, and the checks that every device shares.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include "core/contract/scans.h"
#include "core/problem/problem.h"

namespace torch_reduce {

// One reduction as asked for, before any tensor is looked at. A scan is that of each prefix along one dim, which the
// result keeps.
struct Request {
  Op op;
  at::OptionalIntArrayRef dim;
  bool keepdim = false;
  std::optional<at::ScalarType> dtype;
  c10::string_view mode = "deterministic";
  double correction = 1;
  std::optional<Scan> scan = std::nullopt;
  Role role = Role::None;  // of a second tensor
};
inline Request scan_request(Scan scan, at::IntArrayRef dim, std::optional<at::ScalarType> dtype) {
  return {op_of(scan), dim, false, dtype, "deterministic", 1, scan};
}
inline const char* name(const Request& r) { return r.scan ? name(*r.scan) : name(r.op); }
inline Signature signature_of(const Request& r) { return r.scan ? signature_of(*r.scan) : signature_of(r.op); }

// The name of an operator under which its kernels are registered. Results of two, they give as one tensor; a scan's
// give the first one.
inline std::string name_of_kernels(const std::string& pair) { return "_" + pair; }
inline std::string name_of_kernels(Scan scan) { return is_pair(scan) ? name_of_kernels(name(scan)) : name(scan); }
inline std::string name_of_kernels(Op op) { return is_pair(op) ? name_of_kernels(name(op)) : name(op); }

// Which dims are reduced; set for as many as the tensor has.
struct DimMask {
  bool reduced[kMaxDims];
};

// Whether no dim is reduced: [] means so to those that give a truth, as to torch.any and torch.all.
bool reduces_none(const Request& request);

// None means all dims, and so does [] elsewhere, as for torch.sum. IndexError, or RuntimeError for a repeated dim.
DimMask reduced_dims(const Request& request, int64_t ndim);

// The operator of this name, else ValueError; the scan, if there is one.
TR_SHARED Op parse_op(c10::string_view name);
TR_SHARED std::optional<Scan> find_scan(c10::string_view name);

// The core's name of a type that check() has let through.
DType to_dtype(at::ScalarType type);

// What becomes of the two parts of complex elements (complex.def); most operators refuse these.
enum class Parts { Refused, Apart, Together, Magnitude };
Parts parts_of(const Request& request);

// A request that fits its tensor.
struct Checked {
  Mode mode;
  DimMask mask;
  at::ScalarType type;  // of the result
};

// `out` is the dtype of out=, if it was given. The result's type is dtype, else that of out, else what torch's operator
// of this name gives. ValueError for an unknown mode, NotImplementedError for "exact" where there is none and for a
// dtype without a kernel, IndexError for a dim out of range and for a maximum over no element, RuntimeError for the
// rest.
Checked check(const Request& request, const at::Tensor& self, std::optional<at::ScalarType> out = std::nullopt);

// Sizes of the result, from sizes (int64_t or SymInt) of the input. Of two, the last dim holds both.
template <class Int>
c10::SmallVector<Int, 5> result_sizes(const Request& request, const Checked& checked, c10::ArrayRef<Int> sizes) {
  c10::SmallVector<Int, 5> out;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (!checked.mask.reduced[d] || request.scan) {
      out.push_back(sizes[d]);
    } else if (request.keepdim) {
      out.push_back(1);
    }
  }
  if (is_pair(request.op)) out.push_back(2);
  return out;
}

// Strides of a new result of these sizes. Of two, all second ones follow all first ones.
template <class Int>
c10::SmallVector<Int, 5> result_strides(const Request& request, c10::ArrayRef<Int> sizes) {
  c10::SmallVector<Int, 5> strides(sizes.size());
  Int next = 1;
  for (size_t d = sizes.size() - (is_pair(request.op) ? 1 : 0); d-- > 0;) {
    strides[d] = next;
    if constexpr (std::is_same_v<Int, c10::SymInt>) {
      next = next * sizes[d].max(1);
    } else {
      next *= std::max<Int>(sizes[d], 1);
    }
  }
  if (is_pair(request.op)) strides.back() = next;
  return strides;
}

// RuntimeError unless `out` has the device, type, layout and shape of the result. An `out` without elements is to be
// resized, as torch does it: then the result is true.
bool check_out(const Request& request, const Checked& checked, const at::Tensor& self, at::SymIntArrayRef sizes,
               const at::Tensor& out);

// RuntimeError if `out` shares memory with `self`, as far as that can be told cheaply, or with itself; where it is to
// be resized, if the two share a storage. That of a scan may be `self`.
void check_no_overlap(const Request& request, const at::Tensor& self, const at::Tensor& out, bool resizes);

// A checked tensor as kernels read it: mode "exact" has none for float8, of which fp16 has all values.
at::Tensor as_read(const Checked& checked, const at::Tensor& self);

// The core's description of reducing `self` into a tensor with these strides. Modes "atomic" and "exact", and
// order-free operators, read memory as it lies.
// `other` is the second tensor, if there is one, whose sizes are self's.
Problem make_problem(const Request& request, const Checked& checked, const at::Tensor& self,
                     at::IntArrayRef out_strides, const at::Tensor* other = nullptr);

}  // namespace torch_reduce
