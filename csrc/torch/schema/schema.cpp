// The schema, once for every device.
#include <torch/library.h>

#include "request.h"

namespace torch_reduce {
namespace {

const std::vector<at::Tag> kTags{at::Tag::pt2_compliant_tag};

const std::string kDims = "(Tensor self, int[1]? dim=None, bool keepdim=False";
const std::string kSymbolicDim = ".dim(Tensor self, SymInt dim, bool keepdim=False";
const std::string kTyped = ", *, ScalarType? dtype=None, str mode=\"deterministic\"";
const std::string kCorrection = ", *, Scalar? correction=None";

// The operator, its overload with out=, and that with one symbolic dim.
void define(torch::Library& m, const std::string& name, const std::string& options) {
  m.def((name + kDims + options + ") -> Tensor").c_str(), kTags);
  m.def((name + ".out" + kDims + (options.empty() ? ", *" : options) + ", Tensor(a!) out) -> Tensor(a!)").c_str(),
        kTags);
  m.def((name + kSymbolicDim + options + ") -> Tensor").c_str(), kTags);
}

void define_typed(torch::Library& m, const char* name) { define(m, name, kTyped); }
void define_of_order(torch::Library& m, const char* name) {
  define(m, name, ", *, Scalar ord=2, ScalarType? dtype=None, str mode=\"deterministic\"");
}
void define_plain(torch::Library& m, const char* name) { define(m, name, ""); }
void define_spread(torch::Library& m, const char* name) { define(m, name, kCorrection); }

// Of one with two results: kernels give one tensor, whose last dim holds both (dispatch/pair.cpp).
void define_pair(torch::Library& m, const char* name, const std::string& options) {
  define(m, name_of_kernels(name), options);
  m.def((name + kDims + options + ") -> (Tensor, Tensor)").c_str(), kTags);
  m.def((name + kSymbolicDim + options + ") -> (Tensor, Tensor)").c_str(), kTags);
  m.def((std::string(name) + ".out" + kDims + (options.empty() ? ", *" : options) +
         ", Tensor(a!) out0, Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))")
            .c_str(),
        kTags);
}
void define_spread_pair(torch::Library& m, const char* name) { define_pair(m, name, kCorrection); }
void define_plain_pair(torch::Library& m, const char* name) { define_pair(m, name, ""); }

// Of two tensors, and the same of one and a mask.
void define_two(torch::Library& m, const std::string& name, const std::string& out, const std::string& arguments) {
  m.def((name + arguments + ") -> Tensor").c_str(), kTags);
  m.def((out + arguments + ", Tensor(a!) out) -> Tensor(a!)").c_str(), kTags);
}
void define_paired(torch::Library& m, const std::string& name) {
  define_two(m, name, name + ".out", "(Tensor self, Tensor other, int[1]? dim=None, bool keepdim=False" + kTyped);
}
void define_masked(torch::Library& m, const std::string& name, Signature signature) {
  const std::string options = signature == Signature::typed    ? kTyped
                              : signature == Signature::spread ? kCorrection
                                                               : ", *";
  define_two(m, name + ".where", name + ".where_out", kDims + options + ", Tensor where");
}

// Of a scan.
void define_scan(torch::Library& m, const std::string& name, const std::string& options) {
  const std::string arguments = "(Tensor self, int dim";
  m.def((name + arguments + options + ") -> Tensor").c_str(), kTags);
  m.def((name + ".out" + arguments + (options.empty() ? ", *" : options) + ", Tensor(a!) out) -> Tensor(a!)").c_str(),
        kTags);
}
void define_typed_scan(torch::Library& m, const char* name) { define_scan(m, name, ", *, ScalarType? dtype=None"); }
void define_plain_scan(torch::Library& m, const char* name) { define_scan(m, name, ""); }
void define_plain_pair_scan(torch::Library& m, const char* name) {
  define_scan(m, name_of_kernels(name), "");
  const std::string full = name;
  m.def((full + "(Tensor self, int dim) -> (Tensor values, Tensor indices)").c_str(), kTags);
  m.def(
      (full + ".out(Tensor self, int dim, *, Tensor(a!) values, Tensor(b!) indices) -> (Tensor(a!) values, Tensor(b!) "
              "indices)")
          .c_str(),
      kTags);
}

}  // namespace
}  // namespace torch_reduce

TORCH_LIBRARY(reduce, m) {
  using namespace torch_reduce;
#define TORCH_REDUCE_OPERATOR(Struct, name, signature, Kernels) define_##signature(m, #name);
#include <torch_reduce/operators.def>
#define TORCH_REDUCE_SCAN(Struct, name, signature) define_##signature##_scan(m, #name);
#include <torch_reduce/scans.def>
#define TORCH_REDUCE_MASKED(Struct) define_masked(m, name(Op::Struct), signature_of(Op::Struct));
#include <torch_reduce/masked.def>
  m.def("topk(Tensor self, SymInt k, int dim=-1, bool largest=True) -> (Tensor values, Tensor indices)", kTags);
  m.def(
      "topk.out(Tensor self, SymInt k, int dim=-1, bool largest=True, *, Tensor(a!) values, Tensor(b!) indices) -> "
      "(Tensor(a!) values, Tensor(b!) indices)",
      kTags);
  m.def("_topk_indices(Tensor self, SymInt k, int dim, bool largest) -> Tensor", kTags);
  // All operators of two tensors, which have the same sizes. No dtype: "".
  m.def(
      "_of_two(Tensor self, Tensor other, str op, int[] dim, bool keepdim, str dtype, str mode, float correction=1.) "
      "-> Tensor",
      kTags);
  m.def("exact_accumulate(Tensor self, int[1]? dim=None, bool keepdim=False) -> Tensor", kTags);
  m.def("exact_accumulate.dim(Tensor self, SymInt dim, bool keepdim=False) -> Tensor", kTags);
  m.def("exact_round(Tensor acc, *, ScalarType dtype, SymInt divisor=1) -> Tensor", kTags);
  m.def("exact_normalize(Tensor acc) -> Tensor", kTags);
  // All of these as graphs of torch.compile have them (dispatch/by_name.h). No dtype: "".
  m.def(
      "_by_name(Tensor self, str op, int[] dim, bool keepdim, str dtype, str mode, float "
      "correction=1.) -> Tensor",
      kTags);
  m.def("_exact_accumulate_by_name(Tensor self, int[] dim, bool keepdim) -> Tensor", kTags);
  m.def("_exact_round_by_name(Tensor acc, str dtype, SymInt divisor) -> Tensor", kTags);
  m.def("_ties(Tensor self, Tensor result) -> Tensor", kTags);
  m.def("_linear_recurrence(Tensor a, Tensor b) -> Tensor", kTags);
  m.def("_product_of_others(Tensor self) -> Tensor", kTags);
  m.def(
      "_explain(Tensor self, int[1]? dim=None, *, str op=\"sum\", ScalarType? dtype=None, str mode=\"deterministic\", "
      "str family=\"\", int vector=-1, str device=\"\", Tensor? other=None) -> str");
  m.def("_constrain(str family=\"\", int vector=-1, int split=0) -> ()");
  m.def("_tune(str[] names, int[] values) -> ()");
  m.def("_tuning() -> str");
  m.def("_typical_gpu(int sms=132, int major=9, int minor=0) -> ()");
  m.def("_cpu_capability(str name=\"\") -> str");
  m.def("_build_info() -> str");
}
